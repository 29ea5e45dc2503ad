"""The values that a definition lists for its parameters, and what it says of them otherwise."""

from __future__ import annotations

import ast
import enum
import re
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Optional, Set, Tuple

from .definition_nodes import nodes_of, once_for_each

Texts = Tuple[str, ...]

_IDENTITY = "lambda x, *_: x"
_MAX_VALUES = 16
# Of a tuple of sizes of which only the length is asked.
_USUAL_RANK = 2


def choices_of(
    function: ast.AST, namespace: Optional[Mapping[str, Any]] = None
) -> Dict[str, Texts]:
    """The values of names that `function` lists.

    It does by ``assert reduce in ("sum", "max")`` or ``not in``, with a tuple, list or set of
    constants, by ``Literal["a", "b"]`` and enumerations, by the keys of a dict in which it looks
    the name up, by ``match``, and by comparisons of a name with texts. The value of a name that it
    calls is the identity. `namespace` has the values of the module's names.
    """
    found: Dict[str, List[str]] = {}
    compared: Dict[str, List[str]] = {}
    for node in nodes_of(function):
        if isinstance(node, ast.arg):
            found.setdefault(node.arg, []).extend(_values_of_type(node.annotation, namespace))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found[node.func.id] = [_IDENTITY]
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
            compared.setdefault(node.slice.id, []).extend(_keys(node.value, namespace))
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
            (operator, *_), (other, *_) = node.ops, node.comparators
            if isinstance(operator, (ast.In, ast.NotIn)):
                found.setdefault(node.left.id, []).extend(_constants(other, namespace))
            elif isinstance(operator, (ast.Eq, ast.NotEq)):
                texts = [text for text in _constants(other) if text[:1] in "'\""]
                compared.setdefault(node.left.id, []).extend(texts)
        else:
            for name, text in _cases(node):
                compared.setdefault(name, []).append(text)
    return {
        name: tuple(dict.fromkeys((*found.get(name, ()), *compared.get(name, ()))))[:_MAX_VALUES]
        for name in {**found, **compared}
        if found.get(name) or compared.get(name)
    }


@once_for_each
def codes_of(function: ast.AST) -> Dict[str, Texts]:
    """The numbers with which `function` compares a name, where there are several.

    Such a name has a code for its values, unless it is known as a size.
    """
    found: Dict[str, Set[int]] = {}
    for node in nodes_of(function):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
            value = getattr(node.comparators[0], "value", None)
            if isinstance(node.ops[0], ast.Eq) and type(value) is int:
                found.setdefault(node.left.id, set()).add(value)
    return {name: tuple(map(str, sorted(codes))) for name, codes in found.items() if len(codes) > 1}


def _values_of_type(
    annotation: Optional[ast.AST], namespace: Optional[Mapping[str, Any]]
) -> List[str]:
    """The values of ``Literal["a", "b"]``, and the members of an enumeration."""
    for node in ast.walk(annotation) if annotation is not None else ():
        if isinstance(node, ast.Subscript):
            name = getattr(node.value, "id", getattr(node.value, "attr", ""))
            if name == "Literal":
                return _constants(node.slice)
        elif isinstance(node, ast.Name) and namespace is not None:
            value = namespace.get(node.id)
            if isinstance(value, type) and issubclass(value, enum.Enum):
                return ["{}.{}".format(node.id, member.name) for member in value]
    return []


def _keys(node: ast.AST, namespace: Optional[Mapping[str, Any]]) -> List[str]:
    """The keys of a dict of constants, written or named."""
    if isinstance(node, ast.Dict):
        return _constants(ast.Tuple([key for key in node.keys if key is not None], ast.Load()))
    value = namespace.get(node.id) if namespace is not None and isinstance(node, ast.Name) else None
    return _texts(value, namespace) if isinstance(value, dict) else []


def _constants(node: ast.AST, namespace: Optional[Mapping[str, Any]] = None) -> List[str]:
    """The constants of a tuple, list or set of nothing else, or the one constant, as text."""
    if isinstance(node, ast.Name) and namespace is not None:
        value = namespace.get(node.id)
        is_listed = isinstance(value, (tuple, list, set, frozenset, dict))
        return _texts(value, namespace) if is_listed else []
    items = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    if not items or not all(isinstance(item, ast.Constant) for item in items):
        return []
    return _texts([item.value for item in items if isinstance(item, ast.Constant)])


def _texts(values: Any, namespace: Optional[Mapping[str, Any]] = None) -> List[str]:
    """The texts, numbers and dtypes of torch in a collection of nothing else, as source text.

    Dtypes are written as in a module with `namespace`.
    """
    items = list(values)
    if isinstance(values, (set, frozenset)):
        items.sort(key=str)
    found = [_text(value, namespace or {}) for value in items]
    return [text for text in found if text is not None] if None not in found else []


def _text(value: Any, namespace: Mapping[str, Any]) -> Optional[str]:
    if isinstance(value, str):
        return '"{}"'.format(value)
    if value is None or isinstance(value, (int, float)):
        return repr(value)
    module, _, name = repr(value).rpartition(".")
    owner = namespace.get(module)
    return repr(value) if module == "torch" and getattr(owner, name, None) is value else None


def _cases(node: ast.AST) -> Iterator[Tuple[str, str]]:
    """The name and each text of a ``match`` statement."""
    if type(node).__name__ != "Match" or not isinstance(getattr(node, "subject", None), ast.Name):
        return
    name: str = getattr(node, "subject").id  # noqa: B009
    for case in getattr(node, "cases", ()):
        for part in ast.walk(case.pattern):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield name, '"{}"'.format(part.value)


@once_for_each
def flags_of(function: ast.AST) -> FrozenSet[str]:
    """The names that `function` tests for truth: ``if reduce:``, ``a if reduce else b``.

    A parameter of such a name is a flag (the annotation ``flag``), unless the name has another
    known meaning: ``if window_size:`` tests for a size other than 0.
    """
    found: Set[str] = set()
    for node in nodes_of(function):
        if isinstance(node, (ast.If, ast.IfExp)):
            parts: List[ast.expr] = [node.test]
            while parts:
                part = parts.pop()
                if isinstance(part, ast.Name):
                    found.add(part.id)
                elif isinstance(part, ast.BoolOp):
                    parts += part.values
                elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
                    parts.append(part.operand)
    return frozenset(found)


@once_for_each
def constants_of(function: ast.AST) -> Texts:
    """The names that an eager kernel declares by ``T.const("M, N")``."""
    names: List[str] = []
    for node in nodes_of(function):
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) == "const"
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            names += [name for name in re.split(r"[\s,]+", node.args[0].value) if name]
    return tuple(dict.fromkeys(names))


@once_for_each
def arrays_of(function: ast.AST) -> FrozenSet[str]:
    """The names whose shape `function` reads."""
    return frozenset(
        node.value.id
        for node in nodes_of(function)
        if isinstance(node, ast.Attribute)
        and node.attr in ("shape", "ndim")
        and isinstance(node.value, ast.Name)
    )


@once_for_each
def lengths_of(function: ast.AST) -> Dict[str, int]:
    """The least lengths of the parameters that `function` uses as tuples of sizes.

    It subscripts them with integers, takes their length, or unpacks them.  A parameter of which it
    also uses an attribute is an array.
    """
    found: Dict[str, int] = {}
    arrays: Set[str] = set()
    for node in nodes_of(function):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            index: Any = getattr(node.slice, "value", node.slice)
            index = getattr(index, "value", index)
            if type(index) is int and isinstance(node.ctx, ast.Load):
                found[node.value.id] = max(found.get(node.value.id, 0), index + 1, -index)
            else:
                arrays.add(node.value.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            arrays.add(node.value.id)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len":
            if node.args and isinstance(node.args[0], ast.Name):
                found.setdefault(node.args[0].id, _USUAL_RANK)
        elif isinstance(node, (ast.Assign, ast.Starred)) and isinstance(node.value, ast.Name):
            if isinstance(node, ast.Starred):
                found.setdefault(node.value.id, _USUAL_RANK)
            elif isinstance(node.targets[0], ast.Tuple):
                found[node.value.id] = len(node.targets[0].elts)
    return {name: length for name, length in found.items() if name not in arrays}


@once_for_each
def dtype_objects_of(function: ast.AST) -> FrozenSet[str]:
    """The names of which `function` uses attributes of a dtype: ``dtype.bits``."""
    return frozenset(
        node.value.id
        for node in nodes_of(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.attr in ("bits", "itemsize", "lanes", "is_float")
    )
