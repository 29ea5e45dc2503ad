"""What nvcc makes of generated CUDA source, without a GPU: resources of each kernel, and SASS.

What a source becomes is stored by content: source, architecture, options, versions of the tools.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import subprocess
import tempfile
from dataclasses import replace
from typing import Dict, Iterator, List, Mapping, Optional, Sequence

from ...protocol import (
    COMPILED_FILE,
    CUDA,
    SASS,
    CompiledKernel,
    Compiler,
    GeneratedCode,
    GeneratedText,
)
from .lower import exact_architecture

MISSING = "no {}: set CUDA_HOME, or run tirlens toolchain install"
_TIME_LIMIT_S = 120
# Of the store; an older one is left out for each further one.
_MOST_FILES = 512
_FLAGS = ("-cubin", "-lineinfo", "-std=c++17", "-Xptxas=-v", "-w")
_FUNCTION = re.compile(r"Compiling entry function '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


class CompilationError(Exception):
    """A tool is missing, fails or takes too long; the message is its own."""


def add_machine_code(
    code: GeneratedCode, framework: str, compiler: Compiler, with_sass: bool
) -> GeneratedCode:
    """`code` with the resources of its kernels, and with SASS if asked for, or why not.

    Without a disassembler it has the resources alone.
    """
    source = next((one.text for one in code.texts if one.language == CUDA), None)
    if source is None:
        return code
    is_read = with_sass and bool(compiler.nvdisasm)
    try:
        made = _make(source, exact_architecture(code.arch), framework, compiler, is_read)
    except (CompilationError, OSError) as error:
        return replace(code, resources_error=str(error))
    code = replace(code, compiled=tuple(kernels_of(made["ptxas"])))
    if is_read:
        return replace(code, texts=(*code.texts, GeneratedText(SASS, made[SASS], ())))
    return replace(code, resources_error=MISSING.format("nvdisasm")) if with_sass else code


def kernels_of(messages: str) -> Iterator[CompiledKernel]:
    """The kernels in the messages of ``ptxas -v``."""
    for part in re.split(r"(?=Compiling entry function ')", messages):
        name, stack, registers = (
            _FUNCTION.search(part),
            _STACK.search(part),
            _REGISTERS.search(part),
        )
        if name is None or registers is None:
            continue
        shared = _SHARED.search(part[: part.find("\n", registers.end())])
        frame, stores, loads = map(int, stack.groups()) if stack else (None, None, None)
        yield CompiledKernel(
            name=name[1],
            registers_per_thread=int(registers[1]),
            stack_bytes=frame,
            spill_store_bytes=stores,
            spill_load_bytes=loads,
            static_shared_bytes=int(shared[1]) if shared else 0,
        )


def _make(
    source: str, arch: str, framework: str, compiler: Compiler, with_sass: bool
) -> Mapping[str, str]:
    """The messages of ptxas (``ptxas``) and, if asked for, the listing (``sass``)."""
    if not compiler.nvcc:
        raise CompilationError(MISSING.format("nvcc"))
    options = [*_FLAGS, "-arch=" + arch, *_include_options(framework)]
    tools = [compiler.nvcc, compiler.nvdisasm] if with_sass else [compiler.nvcc]
    key = "\0".join([source, *options, framework, _version_of(framework), *map(_identity, tools)])
    stored = _Store(compiler.store, hashlib.sha256(key.encode("utf-8", "replace")).hexdigest())
    found = stored.read()
    if found is not None:
        return found
    with tempfile.TemporaryDirectory(prefix="tirlens-") as folder:
        file, cubin = os.path.join(folder, COMPILED_FILE), os.path.join(folder, "kernel.cubin")
        with open(file, "w", encoding="utf-8") as out:
            out.write(source)
        made = {"ptxas": _run([compiler.nvcc, *options, "-o", cubin, file]).stderr}
        if with_sass:
            # With the lines of callers, of which the kernel's own is the last.
            made[SASS] = _run([compiler.nvdisasm, "-c", "-gi", "-hex", cubin]).stdout
    stored.write(made)
    return made


def _run(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    name = os.path.basename(command[0])
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIME_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompilationError("{}: {}".format(name, error)) from error
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        first = next((line for line in lines if "error" in line or "fatal" in line), "failed")
        raise CompilationError("{}: {}".format(name, first[:200]))
    return done


def _identity(tool: str) -> str:
    """What changes with another installation of a tool."""
    status = os.stat(tool)
    return "{} {} {}".format(os.path.realpath(tool), status.st_size, status.st_mtime_ns)


def _version_of(framework: str) -> str:
    return str(getattr(importlib.import_module(framework), "__version__", ""))


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


class _Store:
    """One result among those of a folder; without a folder nothing is stored."""

    def __init__(self, folder: str, key: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, key + ".json")

    def read(self) -> Optional[Dict[str, str]]:
        if not self._folder:
            return None
        try:
            with open(self._path, encoding="utf-8") as file:
                found = json.load(file)
            return {str(name): str(text) for name, text in found.items()}
        except (OSError, ValueError, AttributeError):
            return None

    def write(self, made: Mapping[str, str]) -> None:
        if not self._folder:
            return
        try:
            os.makedirs(self._folder, exist_ok=True)
            self._make_room()
            descriptor, name = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(made, file)
            os.replace(name, self._path)
        except OSError:
            # A full or read-only disk costs time and no result.
            pass

    def _make_room(self) -> None:
        with os.scandir(self._folder) as entries:
            files = sorted(entries, key=lambda entry: entry.stat().st_mtime)
        for entry in files[: max(len(files) + 1 - _MOST_FILES, 0)]:
            os.unlink(entry.path)
