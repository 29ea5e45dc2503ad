"""The messages between the server and its workers, and how they are framed.

Each message is a JSON object in UTF-8 behind a ``Content-Length: N`` header and an empty line, as
in the language server protocol.  The worker speaks first, with a `Hello` that every version can
read; then the server sends one `Analyze` at a time and gets any number of `Progress` messages and
one `Result` with the same id.  The server ends a worker by closing the pipe.

This module runs on Python 3.8 and imports nothing but the standard library and `facts`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

from .facts import KernelFacts, LoweredLaunch, Span, no_entries

PROTOCOL_VERSION = 1

#: What is in the memory that server and worker share: the line of the text that is executed, or 0.
MARK = struct.Struct("<I")


@dataclass(frozen=True)
class FrameworkInfo:
    """A framework that the worker's interpreter has: ``tvm`` or ``tilelang``.

    `version` is None and `error` says why where it is installed and cannot be imported.
    """

    name: str
    version: Optional[str]
    error: Optional[str] = None


@dataclass(frozen=True)
class Hello:
    """A worker's first words; `pid` is its process id as the server sees it.

    One that `isolates` runs each analysis in a process of its own, and is the same after it.
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
    function or an IRModule.  `required` candidates (directives, options) fail loudly; the others
    are tried in order and the first that traces wins.
    """

    expression: str
    source: str
    span: Optional[Span] = None
    required: bool = False


@dataclass(frozen=True)
class KernelRequest:
    """A kernel found in the text.

    `name` is the top-level name to look up in the module (``matmul``, or ``Module`` for a class
    of PrimFuncs, or ``Class.method``); `prim_func` the inner `def` if it differs.  `style` is
    ``prim_func``, ``ir_module``, ``factory`` (a plain or jitted function that returns a
    PrimFunc), ``eager`` (a jitted function that is the kernel).  All required candidates are
    analysed; of the others the first that traces.  `bindings` are values that a directive or
    option gives to parameters and shape variables by name: what is assumed must agree with them.
    `hints` are expressions to assume first, by name.

    A kernel that a function defines and does not return has `local_to`, that function's dotted
    name (``test_add``, ``TestAdd.test_basic``), and `name` is dotted too (``test_add.main``).  To
    get at it: in a copy of the module's namespace bind the keyword arguments of a candidate (which
    is a call of `local_to` with keywords only, ``test_add(dtype='float32')``), execute the
    statements of the text that start at the `prelude` spans, in their order, then the `def` or
    `class` at `definition`.

    With `lower_to`, a target (``{"kind": "cuda", "arch": "sm_90"}``), what the candidates yield is
    lowered for it and a `Lowering` comes back in place of facts.
    """

    name: str
    style: str
    span: Span
    prim_func: Optional[str] = None
    candidates: Tuple[CallCandidate, ...] = ()
    allow_assumed: bool = True
    bindings: Mapping[str, int] = field(default_factory=no_entries)
    hints: Mapping[str, Tuple[str, ...]] = field(default_factory=no_entries)
    local_to: Optional[str] = None
    prelude: Tuple[Span, ...] = ()
    definition: Optional[Span] = None
    lower_to: Mapping[str, Any] = field(default_factory=no_entries)


@dataclass(frozen=True)
class Analyze:
    """A text, and those of its kernels whose facts are wanted.

    The top-level statements that start at the lines `leave_out` bind nothing that these kernels
    need and are not executed.
    """

    id: int
    path: str
    text: str
    kernels: Tuple[KernelRequest, ...]
    sys_path: Tuple[str, ...] = ()
    target: Mapping[str, Any] = field(default_factory=no_entries)
    time_limit_s: float = 20.0
    leave_out: Tuple[int, ...] = ()


@dataclass(frozen=True)
class Cancel:
    """Give up the analysis `id`; its `Result` comes at once, with a problem ``cancelled``."""

    id: int


@dataclass(frozen=True)
class Progress:
    """How far the analysis `id` is: `done` of `total` kernels, and what it does now."""

    id: int
    message: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class Problem:
    """Something that could not be analysed.

    `kind`: ``syntax``, ``import``, ``trace``, ``directive``, ``unsupported``, ``timeout``,
    ``crash``, ``memory``, ``interpreter``, ``untrusted``, ``cancelled``.
    `kernel` is the request's name, or None for the whole file.  `detail` is the traceback, for
    the log.
    """

    kind: str
    message: str
    span: Optional[Span] = None
    kernel: Optional[str] = None
    detail: str = ""


@dataclass(frozen=True)
class NeedsArguments:
    """A kernel that was found and whose parameters `names` no candidate could give."""

    kernel: str
    names: Tuple[str, ...]
    span: Span
    reason: str = ""


@dataclass(frozen=True)
class Lowering:
    """The outcome of lowering one kernel: its launch, or the `error` with which it was refused.

    `kernel`, `name` and `call` are the `definition`, `name` and `call` of the kernel's facts.
    `unfinished` says why there is neither (time, a crash); then `name` is empty for all functions
    of the call.
    """

    kernel: str
    name: str
    call: str
    arch: str
    launch: Optional[LoweredLaunch] = None
    error: str = ""
    unfinished: str = ""


@dataclass(frozen=True)
class Result:
    """The answer to an `Analyze`.

    `files` are the paths of the user's own modules that the text has imported, or has failed to:
    of those that were not found, the places where they would have been.
    """

    id: int
    kernels: Tuple[KernelFacts, ...] = ()
    lowered: Tuple[Lowering, ...] = ()
    needs: Tuple[NeedsArguments, ...] = ()
    problems: Tuple[Problem, ...] = ()
    files: Tuple[str, ...] = ()
    duration_s: float = 0.0
    output: str = ""


#: The first run loads the code, the last is the one to look at.
RUNS_FOR_COUNTERS = 3


@dataclass(frozen=True)
class Measure:
    """A text of which kernels are to be compiled and timed on the machine's own device.

    `sizes` are those of the dynamic dimensions.  With `for_counters` each kernel is run
    `RUNS_FOR_COUNTERS` times and not timed, for a profiler that watches.  A `KernelRequest` follows
    for each kernel.  It is answered by a `Measured` for each function that it yields, by `Problem`
    and `NeedsArguments` where it could not be traced, and by `Answered` at the end.
    """

    path: str
    text: str
    sys_path: Tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=no_entries)
    for_counters: bool = False


@dataclass(frozen=True)
class Answered:
    """All has been said of a kernel that was to be measured; the next may be asked for.

    After the last one the process ends, since the kernel has left the device unusable to it.
    """

    is_last: bool = False


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: the median of `samples` and the 10th and 90th percentile.

    `method` says who timed it and what was in the caches.  `device` is the name of what it ran on
    and `target` the framework's word for it (``{"kind": "cuda", "arch": "sm_90"}``).
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
    """A kernel and its time, or the `error` for which there is none."""

    facts: KernelFacts
    timing: Optional[Timing] = None
    error: str = ""
