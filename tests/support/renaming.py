"""Facts with other names: what a kernel, its arrays, variables and statements are called.

Names decide nothing, so that a kernel and its renamed copy have the same report.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from tirlens_worker.facts import KernelFacts

#: Words that mean something in labels of real kernels.
WORDS = (
    "maxnreg", "no_set_max_nreg", "T.setmaxnreg()", "acc.nc", "ld.global.nc", "T.wgmma_gemm(",
    "tcgen05", "mfma", "T.copy(", "sync", "fence", "arrive", "wait", "commit", "init", "mbarrier",
    "grid 4 x 8", "load", "min", "opaque", "gemm", "threadIdx.x", "i", "Z",
)  # fmt: skip

# What the fields of each class hold; those that are not here are objects, numbers and words.
_EXPRESSION = {
    "Access": {"guard"},
    "Useful": {"count", "guard"},
    "Arith": {"count", "guard"},
    "Signal": {"index", "slots", "count", "guard"},
    "Store": {"kept"},
    "Loop": {"start", "extent", "step"},
    "Branch": {"condition"},
    "While": {"condition"},
    "Let": {"value"},
    "Buffer": {"element_offset"},
}
_EXPRESSIONS = {
    "Access": {"indices", "extents"},
    "Arith": {"shape"},
    "Gemm": {"m_n_k"},
    "Buffer": {"shape", "strides"},
    "Launch": {"grid", "threads", "cluster"},
}
_VARIABLES = {
    "Arith": {"over"},
    "Loop": {"var"},
    "While": {"var"},
    "Let": {"var"},
    "Variable": {"name"},
    "KernelFacts": {"sizes", "assumed"},
}
_ARRAYS = {"Access": {"buffer"}, "Signal": {"barrier"}, "Buffer": {"id", "alias_of"}}
_TEXTS = {
    "Buffer": {"name"},
    "Move": {"buffer"},
    "TileLoad": {"buffer", "shared"},
    "MatrixProduct": {"accumulator"},
    "SharedArray": {"name"},
    "KernelFacts": {"name", "definition", "call"},
    "Loop": {"label"},
    "Branch": {"label"},
    "While": {"label"},
}


class Renaming:
    """One choice of names: equal names become equal ones, others become others."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names: dict[tuple[str, str], str] = {}

    def facts(self, facts: KernelFacts) -> KernelFacts:
        """`facts` under other names."""
        return self._renamed(facts)

    def bindings(self, bindings: Mapping[str, int]) -> dict[str, int]:
        """Sizes by new names; those of the model's own variables, as of loops by data, stay."""
        return {self._names.get(("variable", name), name): n for name, n in bindings.items()}

    def _name(self, kind: str, name: str) -> str:
        if not name:
            return name
        if (kind, name) not in self._names:
            word = self._random.choice(WORDS)
            # Their order is another one too.
            self._names[kind, name] = f"{word}{self._random.randrange(10**6)}_{len(self._names)}"
        return self._names[kind, name]

    def _renamed(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self._renamed, cast("tuple[Any, ...]", value)))
        if not is_dataclass(value) or isinstance(value, type):
            return value
        changed = {item.name: self._field(value, item.name) for item in fields(value)}
        return replace(value, **changed)

    def _field(self, owner: Any, name: str) -> Any:
        value, kind = getattr(owner, name), type(owner).__name__
        if name in _EXPRESSION.get(kind, ()):
            return self._expr(value)
        if name in _EXPRESSIONS.get(kind, ()):
            return value and tuple(map(self._expr, value))
        if name in _VARIABLES.get(kind, ()):
            return self._words("variable", value)
        if name in _ARRAYS.get(kind, ()):
            return self._words("array", value)
        is_label = name == "label"
        if is_label or name in _TEXTS.get(kind, ()):
            return self._words("text", value)
        if (kind, name) == ("Useful", "loops"):
            return tuple((self._name("variable", var), self._expr(size)) for var, size in value)
        return self._renamed(value)

    def _words(self, kind: str, value: Any) -> Any:
        if isinstance(value, str):
            return self._name(kind, value)
        if isinstance(value, tuple):
            return tuple(self._name(kind, one) for one in cast("tuple[str, ...]", value))
        if isinstance(value, Mapping):
            sizes = cast("Mapping[str, int]", value)
            return {self._name(kind, one): size for one, size in sizes.items()}
        return value

    def _expr(self, expr: Any) -> Any:
        if isinstance(expr, str):
            return self._name("variable", expr)
        if not isinstance(expr, tuple):
            return expr
        operator, *operands = cast("tuple[Any, ...]", expr)
        if operator == "opaque":
            return (operator, self._name("text", operands[0]))
        if operator == "load":
            return (operator, self._name("array", operands[0]), *map(self._expr, operands[1:]))
        head = operands[:1] if operator == "cast" else []
        return (operator, *head, *map(self._expr, operands[len(head) :]))
