"""What all tests share: where environments of real frameworks are, and how `slow` is told."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

import tirlens.model
from support import environments
from support.invariants import with_invariants
from tirlens import collector

#: Folders whose files take minutes each.
LONGEST = ("vscode", "docs", "measured", "editors")
#: Fixtures of environments that have a framework or a compiler.
ENVIRONMENTS = frozenset({"tvm_python", "tilelang_python", "cuda_home", "each_tvm_python"})
EXAMPLES = Path(__file__).parent / "examples"

settings.register_profile("quick", max_examples=50)


def pytest_configure(config: pytest.Config) -> None:
    """In the quick loop a property is tried on half as many examples as in the whole run.

    Every analysis of a test asserts the invariants of its report: test modules, which are imported
    later, import the function that does.
    """
    # What tests and their processes import is compiled once, whatever the machine's default.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # Only tests that ask for a compiler have one.
    for name in ("CUDA_HOME", "CUDA_PATH"):
        os.environ.pop(name, None)
    if not hasattr(tirlens.model.analyze, "__wrapped__"):
        tirlens.model.analyze = with_invariants(tirlens.model.analyze)
    gc.disable()  # Until all tests are collected.
    if config.option.markexpr == "not slow":
        settings.load_profile("quick")
        # Quick tests share no worker of a framework, for which files are kept together.
        if config.getoption("dist", "no") == "loadfile":
            config.option.dist = "worksteal"


def pytest_collection_finish() -> None:
    """The ten thousand tests are never garbage: they are not looked at again."""
    gc.enable()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """The process ends: what tests have made is not searched for cycles, which takes seconds."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take minutes come first, quick ones last, so that no core waits at the end.

    What asks for an environment of a framework is slow.
    """
    for item in items:
        if not ENVIRONMENTS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    slow = {item.path for item in items if item.get_closest_marker("slow")}

    def place(item: pytest.Item) -> tuple[bool, bool]:
        return item.path not in slow, item.path.parent.name not in LONGEST

    items.sort(key=place)


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: many tests wait for an editor, a worker or a limit."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="module", autouse=True)
def exempt_objects_of_other_files() -> None:
    """What the tests of other files keep is not searched for garbage again and again."""
    collector.exempt_present_objects()


@pytest.fixture(scope="session")
def examples() -> Path:
    """The folder of example kernels."""
    return EXAMPLES


@pytest.fixture(scope="session")
def tvm_python() -> Path:
    """A Python that has the newest supported apache-tvm."""
    return environments.environment("tvm-0.27.0.post1")


@pytest.fixture(scope="session")
def tilelang_python() -> Path:
    """A Python that has the newest supported tilelang."""
    return environments.environment("tilelang-0.1.15")


@pytest.fixture(scope="session")
def cuda_home() -> Path:
    """A folder with nvcc and nvdisasm, as CUDA_HOME is."""
    python = environments.environment("nvidia_cuda_nvcc-13.5.37")
    (folder,) = python.parent.parent.glob("lib/python*/site-packages/nvidia/cu13")
    return folder


@pytest.fixture(scope="session", params=["tvm-0.26.0", "tvm-0.27.0.post1"])
def each_tvm_python(request: pytest.FixtureRequest) -> Path:
    """Each supported apache-tvm in turn."""
    return environments.environment(request.param)
