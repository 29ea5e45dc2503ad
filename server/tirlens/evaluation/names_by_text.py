"""Modules and attributes that a program looks up by a text: ``importlib``, ``getattr``."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from tirlens.evaluation.machine import Machine
from tirlens.evaluation.values import UNKNOWN, Class, Instance, ModuleScope, Value

_OWNERS = (ModuleScope, Class, Instance)


def call(
    machine: Machine, path: str, positional: list[Value], named: dict[str, Value]
) -> Value | None:
    """The value of a call of the library's function `path`; None if it looks nothing up here."""
    if machine.site is None:
        return None
    here = machine.site.frame.module
    if path == "builtins.globals":
        return here
    if not positional:
        return None
    if path == "importlib.import_module":
        package = positional[1] if len(positional) > 1 else named.get("package")
        return _module(machine, here, positional[0], package)
    if path == "builtins.__import__":
        return _module(machine, here, positional[0], None) if "fromlist" in named else None
    if path not in ("builtins.getattr", "builtins.hasattr") or len(positional) < 2:
        return None
    owner, name = positional[:2]
    if not isinstance(owner, _OWNERS) or not isinstance(name, str):
        return None
    if path == "builtins.hasattr":
        return _has(owner, name)
    if len(positional) > 2 and not _has(owner, name):
        return positional[2]
    return machine.attribute(owner, name)


def _module(machine: Machine, here: ModuleScope, name: Value, package: Value) -> Value:
    """``import_module(name, package)`` in the module `here`."""
    if not isinstance(name, str):
        return UNKNOWN
    plain = name.lstrip(".")
    level = len(name) - len(plain)
    of_package = machine.import_module(here, package) if _is_name(package) and level else here
    scope = of_package if isinstance(of_package, ModuleScope) else here
    return machine.import_module(scope, plain, level)


def _is_name(package: Value) -> bool:
    """Whether a text names a package: ``__name__`` has that of the program."""
    return isinstance(package, str) and package not in ("", "__main__")


def _has(owner: ModuleScope | Class | Instance, name: str) -> bool:
    """Whether an owner has an attribute, also one whose value is not known."""
    if isinstance(owner, ModuleScope):
        return name in owner.bindings or "*" in owner.bindings
    if isinstance(owner, Instance) and name in owner.attributes:
        return True
    of = owner.of if isinstance(owner, Instance) else owner
    return any(name in item.names for item in of.lineage())
