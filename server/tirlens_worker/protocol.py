"""The messages between the server and its workers, and how they are framed.

Each message is a JSON object in UTF-8 behind a ``Content-Length: N`` header and an empty line, as
in the language server protocol.  The worker speaks first, with a `Hello` that every version can
read; then the server sends one `Analyze` at a time and gets any number of `Progress` messages and
one `Result` with the same id.  The server ends a worker by closing the pipe.

This module runs on Python 3.8 and imports nothing but the standard library and `facts`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple, Union

from .facts import KernelFacts, Span, no_entries

PROTOCOL_VERSION = 1


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
    protocol: int
    python: str
    executable: str
    pid: int
    frameworks: Tuple[FrameworkInfo, ...]


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

    A kernel that a function defines and does not return has `local_to`, that function's dotted
    name (``test_add``, ``TestAdd.test_basic``), and `name` is dotted too (``test_add.main``).  To
    get at it: in a copy of the module's namespace bind the keyword arguments of a candidate (which
    is a call of `local_to` with keywords only, ``test_add(dtype='float32')``), execute the
    statements of the text that start at the `prelude` spans, in their order, then the `def` or
    `class` at `definition`.
    """

    name: str
    style: str
    span: Span
    prim_func: Optional[str] = None
    candidates: Tuple[CallCandidate, ...] = ()
    allow_assumed: bool = True
    bindings: Mapping[str, int] = field(default_factory=no_entries)
    local_to: Optional[str] = None
    prelude: Tuple[Span, ...] = ()
    definition: Optional[Span] = None


@dataclass(frozen=True)
class Analyze:
    id: int
    path: str
    text: str
    kernels: Tuple[KernelRequest, ...]
    sys_path: Tuple[str, ...] = ()
    target: Mapping[str, Any] = field(default_factory=no_entries)
    time_limit_s: float = 20.0


@dataclass(frozen=True)
class Cancel:
    """Give up the analysis `id`; its `Result` comes at once, with a problem ``cancelled``."""

    id: int


@dataclass(frozen=True)
class Progress:
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
class Result:
    id: int
    kernels: Tuple[KernelFacts, ...] = ()
    needs: Tuple[NeedsArguments, ...] = ()
    problems: Tuple[Problem, ...] = ()
    duration_s: float = 0.0
    output: str = ""


Message = Union[Hello, Analyze, Cancel, Progress, Result]
