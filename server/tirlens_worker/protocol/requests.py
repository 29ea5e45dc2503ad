"""The requests of an analysis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

from ..facts import ModelSizes, Span, no_entries


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
