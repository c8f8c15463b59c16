"""The kinds of numpy arrays that stand in signatures."""

import numpy as np
import numpy.typing as npt

ArrayLike = npt.ArrayLike
Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Complex = npt.NDArray[np.complex128]
Index = npt.NDArray[np.intp]
Whole = npt.NDArray[np.int64]
