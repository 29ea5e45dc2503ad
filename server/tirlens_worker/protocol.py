"""The messages between the server and its workers, and their framing.

Each message is a JSON object in UTF-8 after a ``Content-Length: N`` header and an empty line, as
in the Language Server Protocol.  The worker sends a `Hello` first, which every version can read.
The server then sends one `Analyze` at a time and receives any number of `Progress` messages and
one `Result` with the same id.  The server ends a worker by closing the pipe.

This module runs on Python 3.8 and imports only the standard library and `facts`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

from .facts import (
    Assembly,
    CompiledLaunch,
    KernelFacts,
    LoweredLaunch,
    ModelSizes,
    Span,
    no_entries,
)

PROTOCOL_VERSION = 1

#: The format of the memory that server and worker share: the line that is executed, or 0.
MARK = struct.Struct("<I")

#: What the server reads of a worker for one analysis: its progress and its result.
MOST_RESULT_BYTES = 32 << 20

#: The exit status of a process in which analysed code has closed the pipe for its results.
CLOSED_STATUS = 76


@dataclass(frozen=True)
class FrameworkInfo:
    """A framework installed in the worker's interpreter, one of `framework_names.MODULES`.

    If it cannot be imported, `version` is None and `error` is the reason.
    """

    name: str
    version: Optional[str]
    error: Optional[str] = None


@dataclass(frozen=True)
class Hello:
    """The first message of a worker; `pid` is its process id in the server's namespace.

    A worker that `isolates` runs each analysis in a separate process.
    """

    protocol: int
    python: str
    executable: str
    pid: int
    frameworks: Tuple[FrameworkInfo, ...]
    isolates: bool = True


@dataclass(frozen=True)
class CallCandidate:
    """A Python expression, evaluated in the analysed module, that yields a kernel.

    `expression` is for example ``matmul(1024, 1024, 1024)``; it may return a PrimFunc, a JIT
    function or an IRModule.  A failure of a `required` candidate (directives, options) is reported.
    The others are tried in order, and the first that yields a kernel is used.  `bindings` are the
    sizes of dynamic dimensions where the call is.  `assumed` are the arguments that are assumed, as
    expressions by parameter name, `model` those that a language model gives.  `launches` is how
    often a captured call was launched, `kind` the kind of the program that a call of another file
    is in: ``benchmark``, ``program``, ``test`` or ``code``.
    """

    expression: str
    source: str
    span: Optional[Span] = None
    required: bool = False
    bindings: Mapping[str, int] = field(default_factory=no_entries)
    assumed: Mapping[str, str] = field(default_factory=no_entries)
    model: Optional[ModelSizes] = None
    launches: Optional[int] = None
    kind: str = ""


@dataclass(frozen=True)
class KernelRequest:
    """A kernel found in the text.

    `name` is the top-level name to look up in the module (``matmul``, or ``Module`` for a class
    of PrimFuncs, or ``Class.method``); `prim_func` the inner `def` if it differs.  `style` is
    ``prim_func``, ``ir_module``, ``factory`` (a plain or jitted function that returns a
    PrimFunc), ``eager`` (a jitted function that is the kernel), ``built`` (a statement that builds
    kernels).  All required candidates are
    analysed, and of the others the first that yields a kernel.  `bindings` are values of parameters
    and shape variables by name, from a directive or option; assumed arguments agree with them.
    `hints` are preferred expressions for assumed arguments, by name, and `relations` conditions on
    them in Python (``topk % block == 0``).  What is not given so has the
    values of the first of `models` with which the kernel can be traced, if it has some.

    A kernel that a function defines and does not return has `local_to`, the dotted name of the
    function (``test_add``, ``TestAdd.test_basic``); `name` is dotted too (``test_add.main``).  It
    is evaluated in a copy of the module's namespace: the keyword arguments of a candidate are bound
    (a call of `local_to` with keywords only, ``test_add(dtype='float32')``), then the statements at
    the `prelude` spans are executed in order, then the `def` or `class` at `definition`.

    For ``built`` kernels `definition` is the text of the statements, `name` the variable that they
    bind or ``schedule.primitive``.  They are executed with the module, or by a candidate call of
    the function `local_to`.  One that is not `is_certain` may build none.

    With `lower_to`, a target (``{"kind": "cuda", "arch": "sm_90"}``), the kernels are lowered for
    it, and the answer has a `Lowering` instead of facts; with `emit` as well, languages of
    generated code (``cuda``, ``tir``, ``sass``), it has a `GeneratedCode`.

    With `with_configurations`, the answer has the `Configurations` of an autotuned kernel, too.
    """

    name: str
    style: str
    span: Span
    prim_func: Optional[str] = None
    candidates: Tuple[CallCandidate, ...] = ()
    allow_assumed: bool = True
    bindings: Mapping[str, int] = field(default_factory=no_entries)
    hints: Mapping[str, Tuple[str, ...]] = field(default_factory=no_entries)
    relations: Tuple[str, ...] = ()
    models: Tuple[ModelSizes, ...] = ()
    local_to: Optional[str] = None
    prelude: Tuple[Span, ...] = ()
    definition: Optional[Span] = None
    lower_to: Mapping[str, Any] = field(default_factory=no_entries)
    emit: Tuple[str, ...] = ()
    is_certain: bool = True
    with_configurations: bool = False


@dataclass(frozen=True)
class Compiler:
    """The paths of nvcc and nvdisasm, empty if missing, and the folder in which what they make of
    a source is stored."""

    nvcc: str = ""
    nvdisasm: str = ""
    store: str = ""


@dataclass(frozen=True)
class Analyze:
    """A request for the facts of kernels of a text.

    `leave_out` are the first and last lines of top-level statements that bind no names that these
    kernels use; they are neither parsed nor executed.  `compile_targets` are the targets of the
    compilations in the whole text, as its literals; an empty one is not known.  `handed_on` are the
    dotted paths of the names of a framework that the text imports from modules of its project.
    Generated source is compiled by `compiler`, or not at all.
    """

    id: int
    path: str
    text: str
    kernels: Tuple[KernelRequest, ...]
    sys_path: Tuple[str, ...] = ()
    target: Mapping[str, Any] = field(default_factory=no_entries)
    time_limit_s: float = 20.0
    leave_out: Tuple[Tuple[int, int], ...] = ()
    compile_targets: Tuple[Mapping[str, Any], ...] = ()
    handed_on: Mapping[str, str] = field(default_factory=no_entries)
    compiler: Optional[Compiler] = None


@dataclass(frozen=True)
class Cancel:
    """Cancels the analysis `id`; its `Result` is sent at once, with a problem ``cancelled``."""

    id: int


@dataclass(frozen=True)
class Progress:
    """The progress of the analysis `id`: `done` of `total` kernels, and the current step."""

    id: int
    message: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class Problem:
    """A failure of an analysis or of one of its kernels.

    `kind`: ``syntax``, ``import``, ``trace``, ``directive``, ``unsupported``, ``timeout``,
    ``crash``, ``memory``, ``interpreter``, ``untrusted``, ``cancelled``.
    `kernel` is the request's name, or None for the whole file, and `call` the expression of a
    required candidate that failed.  `detail` is the traceback, for the log.
    """

    kind: str
    message: str
    span: Optional[Span] = None
    kernel: Optional[str] = None
    detail: str = ""
    call: Optional[str] = None


@dataclass(frozen=True)
class NeedsArguments:
    """A kernel without a candidate that gives values to its parameters `names`."""

    kernel: str
    names: Tuple[str, ...]
    span: Span
    reason: str = ""


@dataclass(frozen=True)
class Configurations:
    """The configurations among which the framework's tuner chooses for one call of a kernel.

    `kernel` and `call` are the `definition` and `call` of the kernel's facts.  Each of `arguments`
    has Python expressions by the name of the parameter, in the order of the kernel's own list.
    Those with a value that no expression yields are left out: `left_out` of them, for the `reason`.
    """

    kernel: str
    call: str
    arguments: Tuple[Mapping[str, str], ...] = ()
    left_out: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Lowering:
    """The outcome of lowering one kernel: its launch, or the `error` of the framework.

    `kernel`, `name` and `call` are the `definition`, `name` and `call` of the kernel's facts.
    `unfinished` is the reason if there is neither (time limit, crash); an empty `name` then means
    all functions of the call.
    """

    kernel: str
    name: str
    call: str
    arch: str
    launch: Optional[LoweredLaunch] = None
    error: str = ""
    unfinished: str = ""


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


@dataclass(frozen=True)
class Result:
    """The answer to an `Analyze`.

    `files` are the paths of the user's modules that the text imports; for missing modules, the
    paths at which they would be found.  `compiled` is what the server made of `generated`.
    """

    id: int
    kernels: Tuple[KernelFacts, ...] = ()
    lowered: Tuple[Lowering, ...] = ()
    needs: Tuple[NeedsArguments, ...] = ()
    problems: Tuple[Problem, ...] = ()
    files: Tuple[str, ...] = ()
    duration_s: float = 0.0
    output: str = ""
    generated: Tuple[GeneratedCode, ...] = ()
    compiled: Tuple[Compilation, ...] = ()
    configurations: Tuple[Configurations, ...] = ()


#: Runs of a kernel for a profiler: the first loads the code, the last is evaluated.
RUNS_FOR_COUNTERS = 3


@dataclass(frozen=True)
class Measure:
    """A request to compile and time kernels of a text on the device of this machine.

    `sizes` are those of the dynamic dimensions.  With `for_counters` each kernel is run
    `RUNS_FOR_COUNTERS` times under a profiler and not timed.  A `KernelRequest` follows for each
    kernel.  The answers are a `Measured` for each function that it yields, `Problem` and
    `NeedsArguments` where it could not be traced, and `Answered` at the end.
    """

    path: str
    text: str
    sys_path: Tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=no_entries)
    for_counters: bool = False


@dataclass(frozen=True)
class Answered:
    """The end of the answers about a kernel; the next request may follow.

    With `is_last` the process ends, because the kernel left the device unusable.
    """

    is_last: bool = False


@dataclass(frozen=True)
class Timing:
    """The time of one call in seconds: the median of `samples`, the 10th and 90th percentile.

    `method` is the profiler and the state of the caches.  `device` is the name of the device and
    `target` the target of the framework (``{"kind": "cuda", "arch": "sm_90"}``).
    """

    median_s: float
    low_s: float
    high_s: float
    samples: int
    method: str
    device: str
    target: Mapping[str, Any] = field(default_factory=no_entries)


@dataclass(frozen=True)
class Measured:
    """A kernel with its time, or with the `error` that prevented the measurement."""

    facts: KernelFacts
    timing: Optional[Timing] = None
    error: str = ""
