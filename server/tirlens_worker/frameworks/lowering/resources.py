"""Registers and spills of generated CUDA source, as ptxas reports them, where nvcc is at hand."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from typing import Iterator, List, Optional

from ...protocol import GeneratedCode
from .lower import exact_architecture

_TIME_LIMIT_S = 120
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores")


def add_resources(code: GeneratedCode, framework: str) -> GeneratedCode:
    """`code` with the most registers and spilled bytes of its kernels, or the reason for none."""
    source = next((one.text for one in code.texts if one.language == "cuda"), None)
    if source is None:
        return code
    nvcc = find_nvcc()
    if nvcc is None:
        return replace(code, resources_error="no nvcc: set CUDA_HOME, or install nvidia-cuda-nvcc")
    with tempfile.TemporaryDirectory(prefix="tirlens-") as folder:
        file = os.path.join(folder, "kernel.cu")
        with open(file, "w", encoding="utf-8") as out:
            out.write(source)
        arch = exact_architecture(code.arch)
        command = [nvcc, "-cubin", "-std=c++17", "-arch=" + arch, "-Xptxas=-v", "-w"]
        command += [*_include_options(framework), "-o", file + ".cubin", file]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            return replace(code, resources_error="nvcc: {}".format(error))
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "failed")
        return replace(code, resources_error="nvcc: {}".format(first.strip()[:200]))
    registers = [int(found) for found in _REGISTERS.findall(done.stderr)]
    spills = [int(found) for found in _SPILLS.findall(done.stderr)]
    return replace(
        code,
        registers_per_thread=max(registers, default=None),
        spill_bytes=max(spills, default=None),
    )


def find_nvcc() -> Optional[str]:
    """The nvcc of ``CUDA_HOME``, of the path, or of the package nvidia-cuda-nvcc."""
    for candidate in _candidates():
        if os.access(candidate, os.X_OK):
            return candidate
    return shutil.which("nvcc")


def _candidates() -> Iterator[str]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield os.path.join(os.environ[variable], "bin", "nvcc")
    for folder in sys.path:
        for package in ("cu13", "cuda_nvcc"):
            yield os.path.join(folder, "nvidia", package, "bin", "nvcc")


def _include_options(framework: str) -> List[str]:
    """The folders of the headers that generated source includes."""
    if framework != "tilelang":
        return []
    environment = importlib.import_module("tilelang.env")
    folders = (
        getattr(environment, name, None)
        for name in ("TILELANG_TEMPLATE_PATH", "CUTLASS_INCLUDE_DIR")
    )
    return ["-I" + str(folder) for folder in folders if folder]
