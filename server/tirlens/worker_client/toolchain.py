"""NVIDIA's compiler and disassembler: which ones are used, and a folder of one's own for them.

Each tool is taken from the first place that has it: ``CUDA_HOME``, the PATH, the packages
nvidia-cuda-nvcc and nvidia-cuda-nvdisasm in the environment of the kernels, the folder that
``tirlens toolchain install`` fills. Neither needs a GPU or a driver; nvcc needs a C++ compiler.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tirlens.environment_variables import allowed_variables
from tirlens_worker.protocol import Compiler

TOOLS = _NVCC, _NVDISASM = "nvcc", "nvdisasm"
_VERSION = re.compile(r"V(\d+\.\d+[.\d]*)")
_VERSION_TIME_LIMIT_S = 20.0
_SUFFIX = ".exe" if sys.platform == "win32" else ""


@dataclass(frozen=True)
class Tool:
    """A program, and where it was found: ``CUDA_HOME``, ``PATH``, a package, or TIRLens's cache."""

    path: Path
    source: str


@dataclass(frozen=True)
class Toolchain:
    """The tools that would be used; None for one that is not found."""

    nvcc: Tool | None
    nvdisasm: Tool | None

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the tools that are not found."""
        tools = ((_NVCC, self.nvcc), (_NVDISASM, self.nvdisasm))
        return tuple(name for name, tool in tools if tool is None)

    @property
    def identity(self) -> tuple[str, ...]:
        """What changes with another installation of a tool; empty without the tools."""
        found: list[str] = []
        for tool in (self.nvcc, self.nvdisasm):
            if tool is not None:
                status = tool.path.stat()
                found.append(f"{tool.path} {status.st_size} {status.st_mtime_ns}")
        return tuple(found)

    @property
    def compiler(self) -> Compiler:
        """What a worker is given."""
        return Compiler(
            nvcc=str(self.nvcc.path) if self.nvcc is not None else "",
            nvdisasm=str(self.nvdisasm.path) if self.nvdisasm is not None else "",
            store=str(platformdirs.user_cache_path("tirlens") / "machine-code"),
        )


NO_TOOLCHAIN = Toolchain(None, None)


def find_toolchain(
    python: Path | None = None, environ: Mapping[str, str] | None = None
) -> Toolchain:
    """The tools for kernels that `python` analyses; without one no environment is searched."""
    environ = os.environ if environ is None else environ
    return Toolchain(
        *(
            next((tool for tool in _tools(name, python, environ) if _is_program(tool.path)), None)
            for name in TOOLS
        )
    )


def _tools(name: str, python: Path | None, environ: Mapping[str, str]) -> Iterator[Tool]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if environ.get(variable):
            yield Tool(Path(environ[variable], "bin", name + _SUFFIX), variable)
    found = shutil.which(name, path=environ.get("PATH", ""))
    if found is not None:
        yield Tool(Path(found), "PATH")
    if python is not None:
        package = f"package nvidia-cuda-{name}"
        for folder in _package_folders(python):
            yield from (Tool(path, package) for path in find_in_packages(folder, name))
    yield from (
        Tool(path, "TIRLens's cache") for path in find_in_packages(toolchain_folder(), name)
    )


def _package_folders(python: Path) -> Iterator[Path]:
    """The folders of packages of an interpreter: its environment's, then the user's."""
    prefix = python.parent.parent if python.parent.name in ("bin", "Scripts") else python.parent
    yield prefix / "Lib" / "site-packages"
    for base in (prefix, Path.home() / ".local"):
        yield from sorted(base.glob("lib/python3*/*-packages"))


def find_in_packages(folder: Path, name: str) -> Iterator[Path]:
    """The paths of a tool below a folder of packages, the newest first."""
    # The packages of CUDA 13 share a folder, those of CUDA 12 have one each.
    for pattern in ("cu[0-9]*", f"cuda_{name}"):
        yield from sorted(folder.glob(f"nvidia/{pattern}/bin/{name}{_SUFFIX}"), reverse=True)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def toolchain_folder() -> Path:
    """The folder that `toolchain_installation.install_toolchain` fills."""
    return platformdirs.user_cache_path("tirlens") / "toolchain"


def version_of(tool: Tool) -> str | None:
    """The version that a tool prints; None if it prints none."""
    try:
        done = subprocess.run(
            [str(tool.path), "--version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_VERSION_TIME_LIMIT_S,
            env=allowed_variables(os.environ),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(done.stdout)
    return match[1] if match else None
