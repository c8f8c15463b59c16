"""One torch thread: the machine is shared, and small tensors gain nothing from more."""

import torch

torch.set_num_threads(1)
