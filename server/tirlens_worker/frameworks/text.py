"""Expressions as short text, for labels."""

from __future__ import annotations

from ..facts import Expr


def text(value: Expr) -> str:
    """`value` on one short line."""
    if not isinstance(value, tuple):
        return str(value)
    if value[0] == "load":
        return "{}[{}]".format(value[1], ", ".join(text(one) for one in value[2:]))
    if value[0] == "opaque":
        return str(value[1])
    if value[0] in ("min", "max", "select", "cast", "not", "~"):
        return "{}({})".format(value[0], ", ".join(text(one) for one in value[1:]))
    return "({})".format(" {} ".format(value[0]).join(text(one) for one in value[1:]))
