"""Virtual environments with real frameworks, built once in the user's cache folder.

    python tests/support/environments.py [NAME...]

builds those that are named, or all, and prints their interpreters.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

# What `tirlens.Analyzer` needs in the environment of the kernels.
_API = "cattrs"
# What each environment holds.  tilelang needs torch, of which the CPU build is enough.
REQUIREMENTS = {
    "tvm-0.27.0.post1": ["apache-tvm==0.27.0.post1", "apache-tvm-ffi==0.1.14.post1", "numpy", _API],
    "tvm-0.25.0.post1": ["apache-tvm==0.25.0.post1", "apache-tvm-ffi==0.1.12", "numpy", _API],
    "tvm-0.26.0": ["apache-tvm==0.26.0", "apache-tvm-ffi==0.1.14.post1", "numpy", _API],
    "tilelang-0.1.15": [
        "tilelang==0.1.15",
        "apache-tvm-ffi==0.1.12",
        "torch==2.13.0",
        "numpy",
        _API,
    ],
    # The versions between which attention backward became slower (TileOPs issue 1427).
    **{
        f"tilelang-{version}": [
            f"tilelang=={version}",
            "apache-tvm-ffi==0.1.8",
            "torch==2.13.0",
            "numpy",
            _API,
        ]
        for version in ("0.1.8", "0.1.9")
    },
    "tirx-0.1.0a4": [
        "apache-tvm-tirx==0.1.0a4",
        "apache-tvm-ffi==0.1.15.post2",
        "apache-tvm-ffi-orcjit==0.1.3",
        "numpy",
        _API,
    ],
    # NVIDIA's compiler and disassembler, which need neither a GPU nor a driver.
    "nvidia_cuda_nvcc-13.5.37": [
        "nvidia-cuda-nvcc==13.5.37",
        "nvidia-cuda-nvdisasm==13.5.37",
        "nvidia-cuda-runtime==13.5.37",
        "nvidia-cuda-cccl==13.3.5.0.6",
    ],
    # An oracle for counts; under the GPL, and used in a process of its own alone.
    "barvinok-2026.2.2": ["islpy-barvinok==2026.2.2"],
    # The report of measured operations of Tenstorrent's devices.
    "tt_perf_report-1.4.1": ["tt-perf-report==1.4.1"],
    # Its operators make the mutants of `tests/mutation`.
    "cosmic_ray-8.7.0": ["cosmic-ray==8.7.0"],
}
_DISTRIBUTIONS = {
    "tvm": "apache-tvm",
    "tirx": "apache-tvm-tirx",
    "nvidia_cuda_nvcc": "nvidia-cuda-nvcc",
    "barvinok": "islpy-barvinok",
    "tt_perf_report": "tt-perf-report",
    "cosmic_ray": "cosmic-ray",
}
_ROOT = user_cache_path("tirlens-test") / "envs"
_INSTALL_LIMIT_S = 1500.0
_LOCK_WAIT_S = 1800.0


def environment(name: str) -> Path:
    """The interpreter of the environment `name`, which is built if it is not there.

    Raises:
        KeyError: no such environment is defined.
        subprocess.CalledProcessError: its packages cannot be installed.
        subprocess.TimeoutExpired: nor within 25 minutes.
    """
    requirements = REQUIREMENTS[name]
    folder = _ROOT / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    complete = folder / "requirements.txt"
    wanted = "\n".join(requirements) + "\n"
    if _holds(python, complete, wanted, name):
        return python
    _ROOT.mkdir(parents=True, exist_ok=True)
    with _locked(_ROOT / f"{name}.lock"):
        if not _holds(python, complete, wanted, name):
            if not _can_be_extended(python, complete, requirements):
                shutil.rmtree(folder, ignore_errors=True)
                venv.create(folder, with_pip=True)
            _install(python, requirements)
            # Written last: an interrupted build is no environment.
            complete.write_text(wanted)
    return python


def _holds(python: Path, complete: Path, wanted: str, name: str) -> bool:
    if not python.exists():
        return False
    if complete.exists():
        return complete.read_text() == wanted
    package, _, version = name.partition("-")
    distribution = _DISTRIBUTIONS.get(package, package)
    probe = f"from importlib.metadata import version; print(version({distribution!r}))"
    found = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=False)
    if found.stdout.strip() != version:
        return False
    complete.write_text(wanted)
    return True


def _can_be_extended(python: Path, complete: Path, requirements: list[str]) -> bool:
    """Whether the environment is whole and only lacks packages that have been added to its list."""
    if not python.exists() or not complete.exists():
        return False
    return set(complete.read_text().splitlines()) <= set(requirements)


def _install(python: Path, requirements: list[str]) -> None:
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*map(str, command), *requirements], check=True, timeout=_INSTALL_LIMIT_S)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file; one that is older than any build is left over and is taken."""
    while True:
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:
            try:
                if time.time() - path.stat().st_mtime > _LOCK_WAIT_S:
                    path.unlink(missing_ok=True)
            except FileNotFoundError:
                continue
            time.sleep(1)
        else:
            os.close(descriptor)
            break
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    for requested in sys.argv[1:] or REQUIREMENTS:
        print(environment(requested))
