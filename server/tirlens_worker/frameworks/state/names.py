"""The names of a kernel's variables, and the values of the IR's variables."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Set

from ...facts import Expr, Variable
from ..ir import dialect

_INTEGERS = ("int", "uint", "bool")


class Names:
    """Unique names in one kernel, and the value of each variable of the IR.

    A variable that nothing binds is a shape variable of the kernel.
    """

    def __init__(self) -> None:
        #: Expressions by the keys of the IR's variables.
        self.values: Dict[int, Expr] = {}
        #: The shape variables, in the order of their first use.
        self.variables: List[Variable] = []
        self._taken: Set[str] = set()
        self._alive: List[Any] = []

    def keep_alive(self, node: Any) -> None:
        """Keep a reference to an IR object: its hash is its identity only as long as it lives."""
        self._alive.append(node)

    def unique(self, name: str) -> str:
        """`name`, with a number as its suffix if the name is taken."""
        name = name or "_"
        candidate, number = name, 1
        while candidate in self._taken:
            candidate, number = "{}_{}".format(name, number), number + 1
        self._taken.add(candidate)
        return candidate

    def define(self, var: Any, value: Optional[Expr] = None) -> str:
        """Name a loop variable, or make `var` a name for `value`; returns the name."""
        self.keep_alive(var)
        if value is not None:
            self.values[dialect.key(var)] = value
            return str(var.name)
        name = self._name_before_binding(var) or self.unique(str(var.name))
        self.values[dialect.key(var)] = name
        return name

    def define_unbound(self, var: Any, value: Expr) -> None:
        """Make `var` a name for `value` unless it has a value."""
        if dialect.key(var) not in self.values:
            self.define(var, value)

    def value(self, var: Any) -> Expr:
        """The value of `var`; an unbound one becomes a shape variable."""
        found = self.values.get(dialect.key(var))
        if found is not None:
            return found
        dtype = dialect.dtype_of(var)
        if not dtype.startswith(_INTEGERS):
            return ("opaque", str(var.name))
        name = self.unique(str(var.name))
        self.values[dialect.key(var)] = name
        self.keep_alive(var)
        self.variables.append(Variable(name, dtype))
        return name

    def _name_before_binding(self, var: Any) -> Optional[str]:
        """The name of a variable that is used before its binding: it is no shape variable then.

        tilelang's T.Persistent binds a name to an index of its loop in front of the loop.
        """
        name = self.values.get(dialect.key(var))
        for variable in self.variables:
            if variable.name == name:
                self.variables.remove(variable)
                return variable.name
        return None
