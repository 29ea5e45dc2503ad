"""Functions that are always there in Python."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from tirlens.evaluation.data_files import FileText
from tirlens.evaluation.libraries.library_function import (
    LibraryFunction,
    attributes_of,
    first,
    of_constants,
)
from tirlens.evaluation.libraries.names import attribute_of, path_of
from tirlens.evaluation.libraries.torch import shapes
from tirlens.evaluation.libraries.torch.shapes import Tensor
from tirlens.evaluation.operations import power, range_of
from tirlens.evaluation.values import (
    UNKNOWN,
    Class,
    External,
    Instance,
    Options,
    Unknown,
    Value,
    items_of,
    truth,
)

_PLAIN_TYPES = {
    "int": int, "float": float, "str": str, "bool": bool, "list": list, "tuple": tuple,
    "dict": dict,
}  # fmt: skip
_TEXT_OF_CONSTANT = of_constants(str)
_LENGTH_OF_CONSTANT = of_constants(len)


def _isinstance(positional: list[Value], named: dict[str, Value]) -> Value:
    value, kinds = positional
    if isinstance(value, (Unknown, FileText)):
        return UNKNOWN
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        plain = _PLAIN_TYPES.get(path_of(kind).removeprefix("builtins."))
        if plain is not None and isinstance(value, plain):
            return True
        if isinstance(kind, Class) and isinstance(value, Instance) and kind in value.of.lineage():
            return True
        if path_of(kind).endswith("torch.Tensor") and isinstance(value, Tensor):
            return True
        if path_of(kind) == "torch.dtype" and shapes.itemsize(value) is not None:
            return True
    is_object = isinstance(value, External) and shapes.itemsize(value) is None
    return UNKNOWN if is_object else False


def _getattr(positional: list[Value], named: dict[str, Value]) -> Value:
    """An attribute of a library's name or of options (others: `names_by_text`)."""
    owner, name = positional[:2]
    if isinstance(name, External) and name.is_dtype:
        # tilelang's dtypes are texts.
        name = name.path.rpartition(".")[2]
    if not isinstance(name, str):
        return UNKNOWN
    if isinstance(owner, Options) and name in owner.values:
        return owner.values[name]
    return attribute_of(owner, name) if isinstance(owner, External) else UNKNOWN


def _setattr(positional: list[Value], named: dict[str, Value]) -> Value:
    owner, name, value = positional[:3]
    if isinstance(owner, Instance):
        owner.attributes[str(name)] = value
    elif isinstance(owner, Class):
        owner.names[str(name)] = value
    return None


def _zip(positional: list[Value], named: dict[str, Value]) -> Value:
    if not all(isinstance(item, (list, tuple)) for item in positional):
        return UNKNOWN
    return [tuple(items) for items in zip(*positional, strict=False)]


def _enumerate(positional: list[Value], named: dict[str, Value]) -> Value:
    items = positional[0]
    return list(enumerate(items)) if isinstance(items, (list, tuple)) else UNKNOWN


def _sort(positional: list[Value], named: dict[str, Value]) -> Value:
    """The items in order, or as they are where the order depends on a function."""
    items = positional[0]
    if named or not isinstance(items, (list, tuple)):
        return items
    return sorted(items) if all(isinstance(item, (int, float, str)) for item in items) else items


def _dict(positional: list[Value], named: dict[str, Value]) -> Value:
    return {**(dict(positional[0]) if positional else {}), **named}


def _next(positional: list[Value], named: dict[str, Value]) -> Value:
    items = positional[0] if positional else UNKNOWN
    if isinstance(items, list):
        return items.pop(0) if items else UNKNOWN
    return UNKNOWN


def _type(positional: list[Value], named: dict[str, Value]) -> Value:
    value = positional[0] if positional else UNKNOWN
    return value.of if isinstance(value, Instance) else UNKNOWN


def _any(positional: list[Value], named: dict[str, Value]) -> Value:
    items = items_of(positional[0])
    found = [None] if items is None else [truth(item) for item in items]
    return True if True in found else UNKNOWN if None in found else False


def _all(positional: list[Value], named: dict[str, Value]) -> Value:
    items = items_of(positional[0])
    found = [None] if items is None else [truth(item) for item in items]
    return False if False in found else UNKNOWN if None in found else True


def _items(positional: list[Value], named: dict[str, Value]) -> Value:
    if not positional:
        return []
    items = positional[0]
    return list(items) if isinstance(items, (list, tuple, set, dict)) else UNKNOWN


def _text(positional: list[Value], named: dict[str, Value]) -> Value:
    """``str(value)``; the path of a library's name, as torch's dtypes have it."""
    if len(positional) == 1 and isinstance(positional[0], External):
        return positional[0].path
    return _TEXT_OF_CONSTANT(positional, named)


def _length(positional: list[Value], named: dict[str, Value]) -> Value:
    if len(positional) == 1 and isinstance(positional[0], Tensor):
        return positional[0].shape[0] if positional[0].shape else UNKNOWN
    return _LENGTH_OF_CONSTANT(positional, named)


FUNCTIONS: dict[str, LibraryFunction] = {
    "builtins.isinstance": _isinstance,
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "builtins.object.__setattr__": _setattr,
    "builtins.vars": attributes_of,
    "builtins.type": _type,
    "builtins.any": _any,
    "builtins.all": _all,
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.sorted": _sort,
    "builtins.reversed": lambda positional, named: positional[0][::-1],
    "builtins.iter": first,
    "builtins.next": _next,
    "builtins.set": _items,
    "builtins.frozenset": _items,
    "builtins.dict": _dict,
    "builtins.str": _text,
    "builtins.len": _length,
    "builtins.int": of_constants(int),
    "builtins.float": of_constants(float),
    "builtins.bool": of_constants(bool),
    "builtins.min": of_constants(min),
    "builtins.max": of_constants(max),
    "builtins.abs": of_constants(abs),
    "builtins.sum": of_constants(sum),
    "builtins.round": of_constants(round),
    "builtins.tuple": of_constants(tuple),
    "builtins.list": of_constants(list),
    "builtins.range": of_constants(range_of),
    "builtins.divmod": of_constants(divmod),
    "builtins.pow": of_constants(power),
}
