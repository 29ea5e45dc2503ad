"""The code that the framework and the compiler make of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

from ..facts import Assembly, CompiledLaunch

#: The languages of generated texts: CUDA source, lowered IR, and NVIDIA's machine code.
CUDA, TIR, SASS, ASSEMBLY = "cuda", "tir", "sass", "assembly"

#: The name of the file from which CUDA source is compiled, as listings of its machine code have it.
COMPILED_FILE = "kernel.cu"

#: The source lines of generated lines without one, and of those from a library's macro.
NO_LINE, LIBRARY_LINE = 0, -1


@dataclass(frozen=True)
class GeneratedText:
    """A text that the framework makes of a kernel.

    `language` is `CUDA`, `TIR` or `SASS`.  `lines` has the line of the analysed document for
    each line of the text, or `NO_LINE` or `LIBRARY_LINE`; a worker leaves it empty for `SASS`.
    """

    language: str
    text: str
    lines: Tuple[int, ...]


@dataclass(frozen=True)
class CompiledKernel:
    """What ptxas reports of a kernel; bytes of the stack and of spills are those of a thread.

    `name` is that of the generated source.  Spills are those of the code, not of what is executed.
    What ptxas does not report is None.
    """

    name: str
    registers_per_thread: int
    stack_bytes: Optional[int] = None
    spill_store_bytes: Optional[int] = None
    spill_load_bytes: Optional[int] = None
    static_shared_bytes: int = 0


@dataclass(frozen=True)
class GeneratedCode:
    """The code that the framework makes of one kernel, or the `error` of the framework.

    `kernel`, `name` and `call` are those of the kernel's facts.  `compiled` are the kernels of its
    CUDA source; there are none where it is not compiled, for the reason `resources_error`.
    """

    kernel: str
    name: str
    call: str
    arch: str
    texts: Tuple[GeneratedText, ...] = ()
    error: str = ""
    compiled: Tuple[CompiledKernel, ...] = ()
    resources_error: str = ""


@dataclass(frozen=True)
class Compilation:
    """The outcome of compiling one kernel, which the server reads from a `GeneratedCode`.

    `kernel`, `name` and `call` are those of the kernel's facts.  A GPU's kernel has a `launch`,
    a CPU's an `assembly`.  `error` is the reason of the framework or of the compiler if there is
    neither, and `unfinished` that of an analysis that did not come to its end; an empty `name` then
    means all functions of the call.
    """

    kernel: str
    name: str
    call: str
    arch: str
    launch: Optional[CompiledLaunch] = None
    error: str = ""
    unfinished: str = ""
    assembly: Optional[Assembly] = None
