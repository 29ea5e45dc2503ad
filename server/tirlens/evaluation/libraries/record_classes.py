"""Functions of libraries that make classes of fields: dataclasses, attrs, pydantic."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from tirlens.evaluation.libraries.library_function import LibraryFunction, attributes_of
from tirlens.evaluation.values import UNKNOWN, FieldFactory, Instance, Value


def _replace(positional: list[Value], named: dict[str, Value]) -> Value:
    owner = positional[0]
    if not isinstance(owner, Instance):
        return UNKNOWN
    return Instance(owner.of, {**owner.attributes, **named})


def _field(positional: list[Value], named: dict[str, Value]) -> Value:
    """The default of a field: `dataclasses.field` takes no positional ones, pydantic's does."""
    factory = named.get("default_factory", named.get("factory"))
    if factory is not None:
        return FieldFactory(factory)
    return named.get("default", positional[0] if positional else UNKNOWN)


FUNCTIONS: dict[str, LibraryFunction] = {
    "attr.ib": _field,
    "attrs.field": _field,
    "dataclasses.asdict": attributes_of,
    "dataclasses.field": _field,
    "dataclasses.replace": _replace,
    "pydantic.Field": _field,
}
