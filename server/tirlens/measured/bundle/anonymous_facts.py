"""The facts of a kernel without what identifies its source, its author or the machine.

All text is left out unless a rule below keeps it.  Names of kernels, arrays and variables become
others, equal ones equal ones; words of the facts' own vocabulary stay.  What remains is the tree of
loops and accesses with its sizes, which the model evaluates to the same report.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, Literal, cast

from tirlens.hardware.gpu_features import is_feature
from tirlens.language_models import model_ids
from tirlens_worker import framework_names
from tirlens_worker.facts import KernelFacts

_TYPE = re.compile(
    r"(bool|handle|void|u?int\d{1,3}|b?float\d{1,2}|tfloat32|float\d{1,2}_e\d{1,2}m\d{1,2}[a-z0-9]{0,8})?"
    r"(x\d{1,4})?"
)
_SCOPE = re.compile(
    r"(global|shared|local|wmma|m?tmem|metal|texture|warp)"
    r"(\.(dyn|tmem|barrier|cluster_barrier|fragment|var|descriptor|simdgroup|"
    r"matrix_a|matrix_b|accumulator|workspace|vtcm))?"
)
_TAG = re.compile(r"(blockIdx|threadIdx|clusterIdx|clusterCtaIdx|vthread|cthread)(\.[xyz])?")
_ARCHITECTURE = re.compile(r"(sm_\d{2,3}[af]?|gfx\d{3,4}[a-f]?|metal|avx2|avx512|neon|sse2)")
_VERSION = re.compile(r"\d{1,4}(\.\d{1,6}){0,3}((a|b|rc|\.post|\.dev)\d{1,8})?")
_KINDS_OF_TARGETS = ("cuda", "rocm", "hip", "metal", "llvm", "c", "trn", "webgpu", "vulkan")
#: Where the arguments of a call come from (`KernelFacts.call_source`).
_CALL_SOURCES = (
    "directive", "option", "settings", "typecheck", "call-site", "defaults", "autotune",
    "module-level", "assumed", "captured",
)  # fmt: skip
#: Annotations of loops that the model reads, and attributes of a kernel.
_ANNOTATIONS = ("num_stages", "pragma_unroll", "disable_unroll")
_ATTRIBUTES = ("tma", "warp_specialized")
#: Operations of `tirlens_worker.facts.Arith`; the name of another function is not kept.
_OPERATIONS = frozenset(
    {
        "add", "sub", "mul", "div", "fma", "neg", "abs", "min", "max", "floor", "ceil", "round",
        "trunc", "nearbyint", "mod", "compare", "select", "logic", "shift", "bitwise", "cast",
        "load", "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "rcp",
        "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "erf",
        "pow", "pow_of_constant", "sigmoid", "hypot", "popcount", "clz", "mma", "shuffle", "place",
        "random", "fast_tanh", "fast_div", "fast_exp", "fast_log", "isnan", "isinf",
    }
)  # fmt: skip
#: Operators of expressions (`tirlens_worker.facts`).
_OPERATORS = frozenset(
    {
        "+", "-", "*", "//", "%", "/", "min", "max", "truncdiv", "truncmod", "<", "<=", "==", "!=",
        ">", ">=", "and", "or", "not", "select", "&", "|", "^", "<<", ">>", "~",
    }
)  # fmt: skip


class Anonymiser:
    """One choice of names; `keeps_names`, those of kernels and arrays stay where they are words."""

    def __init__(self, keeps_names: bool = False) -> None:
        self._keeps_names = keeps_names
        self._names: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    def facts(self, facts: KernelFacts) -> KernelFacts:
        """`facts` without text of its source."""
        # The names that the report has are those of the parameters, in their order.
        for buffer in facts.buffers:
            self._name("array", buffer.name)
        return self._object(facts)

    def bindings(self, bindings: Mapping[str, int]) -> dict[str, int]:
        """Sizes by the new names of their variables; of a kernel whose facts were converted."""
        return {self._name("variable", name): int(size) for name, size in bindings.items()}

    def kernel(self, name: str) -> str:
        """The new name of a kernel."""
        return self._name("kernel", name)

    def _name(self, kind: str, name: str) -> str:
        if not name:
            return name
        known = self._names.get((kind, name))
        if known is None:
            number = self._counts[kind] = self._counts.get(kind, 0) + 1
            is_kept = self._keeps_names and kind in ("kernel", "array") and _is_word(name)
            known = self._names[kind, name] = name if is_kept else f"{kind}{number}"
        return known

    def _object(self, value: Any) -> Any:
        kind = type(value).__name__
        changed = {item.name: self._field(value, kind, item.name) for item in fields(value)}
        return replace(value, **changed)

    def _field(self, owner: Any, kind: str, name: str) -> Any:
        value = getattr(owner, name)
        rule = _RULES.get((kind, name))
        if rule is not None:
            return None if value is None else rule(self, value)
        allowed = _words_of(cast("type[object]", type(owner))).get(name)
        if allowed is not None:
            return value if value in allowed else (None if value is None else allowed[0])
        if isinstance(value, Mapping):
            return {}
        return self._without_text(value)

    def _without_text(self, value: Any) -> Any:
        """Numbers, objects and tuples of them; a text becomes the empty one."""
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, tuple):
            return tuple(map(self._without_text, cast("tuple[Any, ...]", value)))
        return self._object(value) if is_dataclass(value) else ""

    def convert_expression(self, expr: Any) -> Any:
        """An expression with the new names."""
        if isinstance(expr, str):
            return self._name("variable", expr)
        if not isinstance(expr, tuple):
            return expr if isinstance(expr, (bool, int, float)) else 0
        operator, *operands = cast("tuple[Any, ...]", expr)
        if operator == "load":
            return (
                operator,
                self._name("buffer", str(operands[0])),
                *map(self.convert_expression, operands[1:]),
            )
        if operator == "cast":
            return (operator, _type(operands[0]), *map(self.convert_expression, operands[1:]))
        if operator == "opaque" or operator not in _OPERATORS:
            text = self._name("value", f"{operator} {operands[:1]}")
            return ("opaque", text, *map(self.convert_expression, operands[1:]))
        return (operator, *map(self.convert_expression, operands))

    def convert_expressions(self, value: Any) -> Any:
        """Expressions with the new names."""
        return tuple(map(self.convert_expression, value))

    def convert_variables(self, value: Any) -> Any:
        """A variable, several, or sizes by variable."""
        if isinstance(value, str):
            return self._name("variable", value)
        if isinstance(value, Mapping):
            sizes = cast("Mapping[str, int]", value)
            return {self._name("variable", one): int(size) for one, size in sizes.items()}
        return tuple(self._name("variable", one) for one in value)

    def convert_loops(self, value: Any) -> Any:
        """Variables with their extents."""
        return tuple(
            (self._name("variable", name), self.convert_expression(extent))
            for name, extent in value
        )

    def convert_buffer(self, value: str) -> str:
        """The id of an array."""
        return self._name("buffer", value)

    def convert_array(self, value: str) -> str:
        """The name of an array."""
        return self._name("array", value)

    def convert_operations(self, value: Any) -> Any:
        """Operations by their words."""
        return tuple(map(self.convert_operation, value))

    def convert_operation(self, value: str) -> str:
        """An operation by its word."""
        return value if value in _OPERATIONS else "unknown:function"

    def convert_definition(self, value: str) -> str:
        """The name of a definition, part by part."""
        # Of the function that makes the kernel; with kept names as the text has it.
        return ".".join(self._name("kernel", part) for part in value.split("."))

    def convert_call(self, value: str) -> str:
        """The call of a kernel without its arguments."""
        name = re.match(r"\w+", value)
        return f"{self._name('kernel', name[0] if name else value)}(...)"

    def convert_entry(self, value: str) -> str:
        """The function of a graph."""
        return self._name("graph", value)

    def convert_shapes(self, value: Any) -> Any:
        """Types with shapes."""
        return tuple(text if _SHAPE.fullmatch(text) else "" for text in value)

    def convert_refusals(self, value: Mapping[str, str]) -> dict[str, str]:
        """The architectures for which a kernel cannot be lowered."""
        return {_architecture(arch): "refused" for arch in value}


def _is_word(name: str) -> bool:
    return name.replace(".", "_").isidentifier() and len(name) <= 80


_SHAPE = re.compile(r"[a-z]{3,6}\d{1,2}[a-z0-9_]{0,12}\[[\d, ]*\]")
_Rule = Callable[[Anonymiser, Any], Any]


def _type(value: str) -> str:
    """A type of the frameworks; another one as an integer of as many bits."""
    if _TYPE.fullmatch(value):
        return value
    bits = re.search(r"(\d{1,3})$", value)
    return f"uint{bits[1]}" if bits else "uint8"


def _architecture(value: str) -> str:
    return value if _ARCHITECTURE.fullmatch(value) else ""


def _matching(pattern: re.Pattern[str], other: Any = "") -> _Rule:
    return lambda names, value: value if pattern.fullmatch(value) else other


def _among(words: tuple[str, ...], other: str = "") -> _Rule:
    return lambda names, value: value if value in words else other


def _numbers_of(keys: tuple[str, ...]) -> _Rule:
    """The numbers of a mapping with these keys."""
    return lambda names, value: {
        key: value[key] for key in keys if isinstance(value.get(key), (bool, int, float))
    }


def _target(names: Anonymiser, value: Mapping[str, Any]) -> dict[str, str]:
    kept = {"kind": str(value.get("kind")), "arch": _architecture(str(value.get("arch")))}
    return {key: word for key, word in kept.items() if word and (
        key != "kind" or word in _KINDS_OF_TARGETS
    )}  # fmt: skip


def _dtype(names: Anonymiser, value: str) -> str:
    return _type(value)


_EXPR: _Rule = Anonymiser.convert_expression
_EXPRS: _Rule = Anonymiser.convert_expressions
_VARIABLES: _Rule = Anonymiser.convert_variables
_BUFFER: _Rule = Anonymiser.convert_buffer
_ARRAY: _Rule = Anonymiser.convert_array
_RULES: Mapping[tuple[str, str], _Rule] = {
    ("Span", "file"): lambda names, value: "another file",
    ("Buffer", "id"): _BUFFER,
    ("Buffer", "name"): _ARRAY,
    ("Buffer", "dtype"): _dtype,
    ("Buffer", "shape"): _EXPRS,
    ("Buffer", "scope"): _matching(_SCOPE, "global"),
    ("Buffer", "strides"): _EXPRS,
    ("Buffer", "element_offset"): _EXPR,
    ("Buffer", "alias_of"): _BUFFER,
    ("Access", "buffer"): _BUFFER,
    ("Access", "indices"): _EXPRS,
    ("Access", "extents"): _EXPRS,
    ("Access", "guard"): _EXPR,
    ("Access", "path"): Anonymiser.convert_operations,
    ("Useful", "count"): _EXPR,
    ("Useful", "guard"): _EXPR,
    ("Useful", "loops"): Anonymiser.convert_loops,
    ("Arith", "op"): Anonymiser.convert_operation,
    ("Arith", "dtype"): _dtype,
    ("Arith", "count"): _EXPR,
    ("Arith", "guard"): _EXPR,
    ("Arith", "accumulator"): _dtype,
    ("Arith", "shape"): _EXPRS,
    ("Arith", "over"): _VARIABLES,
    ("Signal", "barrier"): _BUFFER,
    ("Signal", "index"): _EXPR,
    ("Signal", "slots"): _EXPR,
    ("Signal", "count"): _EXPR,
    ("Signal", "guard"): _EXPR,
    ("Store", "kept"): _EXPR,
    ("Gemm", "m_n_k"): _EXPRS,
    ("Loop", "var"): _VARIABLES,
    ("Loop", "start"): _EXPR,
    ("Loop", "extent"): _EXPR,
    ("Loop", "step"): _EXPR,
    ("Loop", "tag"): _matching(_TAG, None),
    ("Loop", "annotations"): _numbers_of(_ANNOTATIONS),
    ("Branch", "condition"): _EXPR,
    ("While", "condition"): _EXPR,
    ("While", "var"): _VARIABLES,
    ("Let", "var"): _VARIABLES,
    ("Let", "value"): _EXPR,
    ("Let", "dtype"): _dtype,
    ("Variable", "name"): _VARIABLES,
    ("Variable", "dtype"): _dtype,
    ("Launch", "grid"): _EXPRS,
    ("Launch", "threads"): _EXPRS,
    ("Launch", "cluster"): _EXPRS,
    ("Launch", "panel_order"): _among(("row", "column", "col"), "row"),
    ("Move", "buffer"): _ARRAY,
    ("TileLoad", "buffer"): _ARRAY,
    ("TileLoad", "shared"): _ARRAY,
    ("MatrixProduct", "accumulator"): _ARRAY,
    ("SharedArray", "name"): _ARRAY,
    ("LoweredLaunch", "arch"): lambda names, value: _architecture(value),
    ("CompiledLaunch", "arch"): lambda names, value: _architecture(value),
    ("Caveat", "message"): lambda names, value: "a caveat, whose text is left out",
    ("Caveat", "function"): lambda names, value: "function",
    ("Built", "step"): lambda names, value: "built",
    ("Built", "entry"): Anonymiser.convert_entry,
    ("Built", "arrays"): Anonymiser.convert_shapes,
    ("Requirement", "feature"): lambda names, value: value if is_feature(value) else "",
    ("KernelFacts", "name"): Anonymiser.kernel,
    ("KernelFacts", "definition"): Anonymiser.convert_definition,
    ("KernelFacts", "framework"): _among(framework_names.MODULES),
    ("KernelFacts", "framework_version"): lambda names, value: _version(value),
    ("KernelFacts", "call"): Anonymiser.convert_call,
    ("KernelFacts", "call_source"): _among(_CALL_SOURCES),
    ("KernelFacts", "target"): _target,
    ("KernelFacts", "attributes"): _numbers_of(_ATTRIBUTES),
    ("KernelFacts", "sizes"): _VARIABLES,
    ("KernelFacts", "assumed"): _VARIABLES,
    ("ModelSizes", "model"): _among(model_ids()),
    ("ModelSizes", "values"): _VARIABLES,
    ("KernelFacts", "refused"): Anonymiser.convert_refusals,
}


def _version(value: str) -> str:
    """A version without its local part, which builds of one's own have (``+g123.mine``)."""
    public = value.partition("+")[0]
    return public if _VERSION.fullmatch(public) else ""


@cache
def _words_of(owner: type[object]) -> Mapping[str, tuple[str, ...]]:
    """The words that fields of literals may have, by the names of these fields."""
    hints = typing.get_type_hints(owner)
    found: dict[str, tuple[str, ...]] = {}
    for name, hint in hints.items():
        options = typing.get_args(hint) if typing.get_origin(hint) is typing.Union else (hint,)
        words = [word for one in options if typing.get_origin(one) is Literal
                 for word in typing.get_args(one)]  # fmt: skip
        if words:
            found[name] = tuple(words)
    return found
