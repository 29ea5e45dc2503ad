"""Array arguments of functions that build a kernel for the shapes of their arguments.

Such a function (mlc-llm's operators of ``tvm.relax.frontend.nn``) unpacks the shapes of its arrays
into names and asserts its preconditions.  Sizes are assumed by these names, derived values are
computed, and assertions override both.
"""

from __future__ import annotations

import ast
import re
from types import ModuleType, SimpleNamespace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple, cast

from . import assumed_values
from .asserted_values import conjuncts
from .documented_shapes import documented_shapes

_NEW = "{}.placeholder([{}], {})"
_MAX_RANK = 8
# Arrays of positions in other arrays.
_INDICES = re.compile(r".*(indptr|indices|index|idx|ids|offsets?|positions?|lens?|lengths?)")


def is_array(annotation: Any) -> bool:
    """Whether a parameter of this type is an array of relax's frontend."""
    module = str(getattr(annotation, "__module__", ""))
    name = getattr(annotation, "__name__", "")
    return name == "Tensor" and module.startswith("tvm.relax.frontend")


def array_class(namespace: Mapping[str, Any]) -> Optional[str]:
    """The name under which a module knows the class of relax's arrays; None if it does not."""
    for name, value in namespace.items():
        if isinstance(value, type) and is_array(value):
            return name
    for name, value in namespace.items():
        if isinstance(value, ModuleType) and is_array(getattr(value, "Tensor", None)):
            return name + ".Tensor"
    return None


def new_arrays(
    definition: ast.FunctionDef,
    arrays: Mapping[str, str],
    values: Mapping[str, str],
    namespace: Mapping[str, Any],
) -> Dict[str, str]:
    """A new array for each parameter in `arrays`, as text; the values are their types as written.

    `values` are the texts of the other arguments, on which sizes may depend.
    """
    reader = _Reader(definition, arrays, namespace)
    for name, text in values.items():
        try:
            reader.known[name] = eval(text, dict(namespace))
        except Exception:
            continue
    # The second pass recomputes values from sizes that later assertions set.
    for _ in range(2):
        reader.read(definition.body)
    return {
        name: _NEW.format(
            kind, ", ".join(str(size) for size in reader.sizes(name)), reader.element(name)
        )
        for name, kind in arrays.items()
    }


class _Reader:
    """Infers the shapes and types of the arrays of a function from its statements."""

    def __init__(
        self, definition: ast.FunctionDef, arrays: Mapping[str, str], namespace: Mapping[str, Any]
    ) -> None:
        self.known: Dict[str, Any] = {}
        self._namespace = namespace
        self._arrays = arrays
        self._unpacked: Dict[str, List[str]] = {}
        self._asserted: Dict[str, List[int]] = {}
        self._last: Dict[str, List[int]] = {}
        self._single: Dict[str, Dict[int, int]] = {}
        self._types: Dict[str, str] = {}
        self._type_names: Dict[str, str] = {}
        self._fixed: Set[str] = set()
        self._ranks = _ranks(definition)
        self._documented = documented_shapes(definition)

    def sizes(self, array: str) -> List[int]:
        if array in self._asserted:
            return self._asserted[array]
        last = self._last.get(array, [])
        rank = self._ranks.get(array, 1 if _INDICES.fullmatch(array) else 2)
        names = self._names(array) or ["_"] * rank
        first = names[: max(0, len(names) - len(last))]
        sizes = [self._assumed_size(name) for name in first] + last
        for index, size in self._single.get(array, {}).items():
            if index < len(sizes):
                sizes[index] = size
        return sizes

    def _names(self, array: str) -> Sequence[str]:
        """What the sizes of an array are called; empty if nothing says it."""
        names = self._unpacked.get(array, [])
        documented = self._documented.get(array, ())
        if not names:
            return documented
        if len(names) != len(documented):
            return names
        return [word if name == "_" else name for name, word in zip(names, documented)]

    def element(self, array: str) -> str:
        name = self._type_names.get(array, array + "_dtype")
        dtype = self._types.get(array) or self._assumed_type(name)
        return '"{}"'.format(dtype)

    def read(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    self._assign(target, statement.value)
            elif isinstance(statement, ast.Assert):
                for test in conjuncts(statement.test):
                    self._assert(test)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for part, given in zip(target.elts, value.elts):
                self._assign(part, given)
            return
        array, what = self._part(value)
        if array and what == "shape" and isinstance(target, ast.Tuple):
            names = [getattr(part, "id", "_") for part in target.elts]
            self._unpacked[array] = names
            for name in names:
                if name != "_" and name not in self._fixed:
                    self.known[name] = self._assumed_size(name)
        elif array and what == "dtype" and isinstance(target, ast.Name):
            self._type_names[array] = target.id
            self.known[target.id] = self._types.get(array) or self._assumed_type(target.id)
        elif isinstance(target, ast.Name) and target.id not in self._fixed:
            found = self._value(value)
            if found is not None:
                self.known[target.id] = found

    def _assert(self, test: ast.expr) -> None:
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return
        left, operator, other = test.left, test.ops[0], test.comparators[0]
        if isinstance(operator, ast.Eq) and (
            isinstance(left, ast.Constant) or (_dimension(other)[0] and not _dimension(left)[0])
        ):
            left, other = other, left
        right = self._value(other)
        if right is None:
            return
        if isinstance(operator, ast.In) and isinstance(left, ast.Name):
            if left.id in self.known and self.known[left.id] not in right:
                self.known[left.id] = next(iter(right))
                self._fixed.add(left.id)
        elif isinstance(operator, ast.Eq):
            array, what = self._part(left)
            tail_array, beginning = self._tail(left)
            single, index = _dimension(left)
            if array and what == "shape" and _are_sizes(right):
                self._asserted[array] = list(right)
            elif array and what == "dtype" and isinstance(right, str):
                self._types[array] = right
            elif array and what == "ndim" and isinstance(right, int):
                self._ranks[array] = min(right, _MAX_RANK)
            elif tail_array and _are_sizes(right):
                self._last[tail_array] = list(right)
                self._ranks[tail_array] = beginning + len(right)
            elif single in self._arrays and isinstance(right, int):
                self._single.setdefault(single, {})[index] = right

    def _part(self, node: ast.expr) -> Tuple[str, str]:
        """The array and the attribute of ``x.shape``; empty for other expressions."""
        array = getattr(getattr(node, "value", None), "id", "")
        return (
            (array, node.attr)
            if isinstance(node, ast.Attribute) and array in self._arrays
            else ("", "")
        )

    def _tail(self, node: ast.expr) -> Tuple[str, int]:
        """The array and the first dimension of ``x.shape[1:]``; empty for other expressions."""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            array, what = self._part(node.value)
            first = getattr(node.slice.lower, "value", None)
            if what == "shape" and isinstance(first, int):
                return array, first
        return "", 0

    def _value(self, node: ast.expr) -> Any:
        if any(isinstance(part, (ast.Lambda, ast.Yield, ast.Await)) for part in ast.walk(node)):
            return None
        try:
            code = compile(ast.Expression(node), "<size>", "eval", dont_inherit=True)
            arrays = {name: self._array(name) for name in self._arrays}
            return eval(code, dict(self._namespace), {**self.known, **arrays})
        except Exception:
            return None

    def _array(self, name: str) -> Any:
        """The attributes of an array as far as they have been read."""
        sizes = self.sizes(name)
        dtype = self.element(name).strip('"')
        return SimpleNamespace(shape=tuple(sizes), ndim=len(sizes), dtype=dtype)

    def _assumed_size(self, name: str) -> int:
        if isinstance(self.known.get(name), int):
            return int(self.known[name])
        if name.isdigit():
            return max(int(name), 1)
        return assumed_values.size("num_tokens" if name == "_" else name, {}) or 128

    def _assumed_type(self, name: str) -> str:
        if _INDICES.fullmatch(name.partition("_dtype")[0]):
            return "int32"
        texts = assumed_values.by_name(name)
        return next((text.strip('"') for text in texts if text.startswith('"')), "float16")


def _ranks(definition: ast.FunctionDef) -> Dict[str, int]:
    """The least rank of each array, by subscripts like ``x.shape[2]``."""
    out: Dict[str, int] = {}
    for node in ast.walk(definition):
        array, index = _dimension(node)
        if array and index < _MAX_RANK:
            out[array] = max(out.get(array, 0), index + 1)
    return out


def _dimension(node: ast.AST) -> Tuple[str, int]:
    """The array and the dimension in ``x.shape[2]``; empty for other expressions."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        array, index = node.value.value, getattr(node.slice, "value", None)
        if node.value.attr == "shape" and isinstance(array, ast.Name) and isinstance(index, int):
            return (array.id, index) if index >= 0 else ("", 0)
    return "", 0


def _are_sizes(value: Any) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    return all(isinstance(size, int) and size > 0 for size in cast("Sequence[object]", value))
