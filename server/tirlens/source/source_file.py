"""The kernels, directives and statements of one text, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tirlens.budget import NO_BUDGET, Budget
from tirlens.evaluation.search_result import KnownValue
from tirlens_worker.facts import Span
from tirlens_worker.protocol import CallCandidate


@dataclass(frozen=True)
class Directive:
    """A ``# tirlens: ...`` comment: calls, bindings, a device, a model, a math fidelity, a budget.

    Or ``on`` or ``off``.

    A directive with an `error` has no effect.
    """

    span: Span
    calls: tuple[str, ...] = ()
    bindings: Mapping[str, int] = field(default_factory=dict[str, int])
    device: str | None = None
    off: bool = False
    budget: Budget = NO_BUDGET
    error: str | None = None
    on: bool = False
    math_fidelity: str | None = None
    model: str | None = None


@dataclass(frozen=True)
class Alternative:
    """One of several functions that a factory has: its name, its `def`, and its whole text."""

    name: str
    span: Span
    extent: Span


@dataclass(frozen=True)
class KernelSource:
    """A kernel in the text.

    `name` is the name to look up in the module (``matmul``, ``Module``, ``Module.main``),
    `prim_func` the inner `def` of a factory.  `style` is as in `KernelRequest`.  `span` is the
    `def` below a lens (the inner one for a factory), `extent` all the text whose
    change makes an analysis stale, `insertion_line` where a directive would be inserted.
    `required` are the parameters that a call must give, `sizes` those on which the shapes of the
    arrays depend, with their defaults, and `dimensions` the names of the dimensions of arrays.
    `hints` are values that incomplete calls in the file and its repository give to parameters, as
    expressions, and `relations` conditions on parameters, in Python, that one of these calls
    satisfies.  `known` are the values that such a call gives together, with its place.
    `local_to`, `prelude` and `definition` are as in `KernelRequest`.  `alternatives` are the inner
    functions of a factory
    that has several: each call returns some of them.  Only the execution shows whether a statement
    yields a kernel that is not `is_certain`.  One that `is_autotuned` has a decorator with a list
    of configurations.
    """

    name: str
    style: str
    span: Span
    extent: Span
    insertion_line: int
    prim_func: str | None = None
    parameters: tuple[str, ...] = ()
    sizes: Mapping[str, int | None] = field(default_factory=dict[str, "int | None"])
    dimensions: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    required: tuple[str, ...] = ()
    candidates: tuple[CallCandidate, ...] = ()
    directives: tuple[Directive, ...] = ()
    local_to: str | None = None
    prelude: tuple[Span, ...] = ()
    definition: Span | None = None
    hints: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    relations: tuple[str, ...] = ()
    known: tuple[KnownValue, ...] = ()
    is_certain: bool = True
    is_autotuned: bool = False
    alternatives: tuple[Alternative, ...] = ()

    @property
    def device(self) -> Directive | None:
        """The nearest directive that names a device."""
        return next((item for item in reversed(self.directives) if item.device), None)

    @property
    def math_fidelity(self) -> str | None:
        """The math fidelity that the nearest directive names."""
        found = (item.math_fidelity for item in reversed(self.directives))
        return next((name for name in found if name), None)

    @property
    def model(self) -> str | None:
        """The id of the language model that the nearest directive names."""
        return next((item.model for item in reversed(self.directives) if item.model), None)

    @property
    def off(self) -> bool:
        """Whether a directive takes this kernel out of the analysis."""
        return any(item.off for item in self.directives)

    @property
    def is_marked(self) -> bool:
        """Whether a directive marks this kernel as one to display."""
        return any(item.on for item in self.directives)

    @property
    def bindings(self) -> dict[str, int]:
        """The directives' bindings; a nearer directive overrides the others."""
        merged: dict[str, int] = {}
        for directive in self.directives:
            merged.update(directive.bindings)
        return merged

    @property
    def budget(self) -> Budget:
        """The budget in the directives; a nearer directive overrides the others."""
        merged = NO_BUDGET
        for directive in self.directives:
            merged = merged.merge(directive.budget)
        return merged


@dataclass(frozen=True)
class SyntaxProblem:
    """A syntax error, or a wrong directive."""

    message: str
    span: Span
    kind: str = "syntax"


@dataclass(frozen=True)
class Statement:
    """A top-level statement, with its decorators, or several that share a line.

    An `inert` statement does nothing but bind its names `binds` and change the objects of the
    module named `changes`: where none of them is wanted it need not be executed.  Of one that is
    not inert, `definition` is the part of its text that is executed where nothing names it; None
    for all of it.
    """

    line: int
    end_line: int
    binds: frozenset[str]
    words: frozenset[str]
    inert: bool
    text: str
    changes: frozenset[str] = frozenset()
    definition: str | None = None


@dataclass(frozen=True)
class SourceFile:
    """A text with its kernels in order, and its problems.

    `framework_hint` is ``tvm``, ``tilelang`` or None, from its imports, and `framework_import` the
    first import of it.  `statements` are those of
    the top level, none where a part of the text does not parse.  `hints` are the values that the
    text gives to names, see `tirlens.source.literal_values`.  `compile_targets` are the targets of
    its compilations, see `tirlens.source.compile_targets`.  `has_tensor_expressions`: it describes
    tensors with ``te.compute``, of which functions may be made.  `looked_for` is what a file that
    uses a framework has not, where it has no kernel.  `handed_on` is as in `Analyze`.
    """

    kernels: tuple[KernelSource, ...] = ()
    problems: tuple[SyntaxProblem, ...] = ()
    directives: tuple[Directive, ...] = ()
    framework_hint: str | None = None
    framework_import: Span | None = None
    statements: tuple[Statement, ...] = ()
    literal_values: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    compile_targets: tuple[Mapping[str, Any], ...] = ()
    has_tensor_expressions: bool = False
    looked_for: str = ""
    handed_on: Mapping[str, str] = field(default_factory=dict[str, str])
    text: str = field(default="", repr=False)
