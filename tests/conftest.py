"""What holds for all tests: one thread each, the same random examples each time, ``gpu`` tests only where there is one.

Tests in a browser are skipped where it is missing, and fail where ``CI`` is set: no change gets in unseen by one.

``DPVIZ_EXPLORE=1`` lets property tests look at new examples at every run. No test looks at its user's own runs: who
needs a store of one's own sets DPVIZ_HOME again.
"""

import atexit
import gc
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

# Before anything loads a BLAS: workers share the cores, and more threads than cores slow every test down.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["DPVIZ_HOME"] = tempfile.mkdtemp(prefix="dpviz-tests-")
    atexit.register(shutil.rmtree, os.environ["DPVIZ_HOME"], ignore_errors=True)

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from dpviz._remember import MEMORY  # noqa: E402

MEMORY.most = 2**30  # what one test computed, another asks for after hundreds that asked for something else

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("DPVIZ_EXPLORE") else "steady")


@pytest.fixture(scope="session", autouse=True)
def _no_cluster_stays() -> Iterator[None]:
    """Local clusters outlive the engine that started them, not the tests."""
    from dpviz.runs.cluster import local

    stores, start = set[Path](), local.start

    def noted(store: Path, *rest: Any) -> Any:
        stores.add(store)
        return start(store, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "start", noted)
        yield
        for store in stores:
            local.stop(store)


@pytest.hookimpl(tryfirst=True)  # before marks decide what is run
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    cases: Counter[str] = Counter()
    for item in items:
        if one_of := item.get_closest_marker("one_of"):
            function = item.nodeid.partition("[")[0]
            if cases[function] % one_of.args[0]:
                item.add_marker(pytest.mark.sweep)
            cases[function] += 1
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def pytest_collection_finish() -> None:
    """Modules and collected tests stay: to look through them takes half a second of each full collection of garbage."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    in_browser = item.get_closest_marker("browser") or item.get_closest_marker("engines")
    may_skip = item.get_closest_marker("skipif")  # for this system or account, whatever browser there is
    if in_browser and not may_skip and report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but CI is set: {report.longrepr[-1]}"
    return report
