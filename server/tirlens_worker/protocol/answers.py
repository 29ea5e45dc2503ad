"""The answers to an analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional, Tuple

from ..facts import KernelFacts, LoweredLaunch, Span
from .generated_code import Compilation, GeneratedCode


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
