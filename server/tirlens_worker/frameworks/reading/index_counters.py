"""Variables in a thread's registers that hold numbers made of indices and sizes alone.

``n = n + 1`` in a scheduler's loop is arithmetic on an address, as an index is, and not on data,
even if its value is not known.
"""

from __future__ import annotations

from typing import Any, Dict, List, Set

from ... import ops
from ..ir import dialect
from ..ir.stores import results
from ..ir.subexpressions import subexpressions
from .expressions import is_integer


def index_counters(body: Any) -> Set[int]:
    """The keys of local arrays of integers, and of names, that no array's contents take part in."""
    stores: Dict[int, List[Any]] = {}
    names: Dict[int, Any] = {}
    outputs: Set[int] = set()
    for statement in dialect.statements(body):
        kind = dialect.kind(statement)
        if kind == "BufferStore" and _may_count(dialect.buffer_of(statement)):
            stores.setdefault(dialect.key(dialect.buffer_of(statement)), []).append(statement.value)
        elif kind in ("LetStmt", "Bind"):
            names[dialect.key(statement.var)] = statement.value
        elif kind == "Evaluate":
            outputs.update(map(dialect.key, results(statement.value)))
    found = set(stores) - outputs
    before = None
    while found and before != len(found):
        before = len(found)
        found = {
            key
            for key in found
            if not any(_depends_on_data(one, found, names) for one in stores[key])
        }
    if found:
        found.update(
            key for key, value in names.items() if not _depends_on_data(value, found, names)
        )
    return found


def _may_count(buffer: Any) -> bool:
    is_register = dialect.scope_of(buffer) in ("local", "local.var")
    return is_register and is_integer(str(buffer.dtype))


def _depends_on_data(node: Any, numbers: Set[int], names: Dict[int, Any]) -> bool:
    """Whether the contents of an array take part in a value, or what is not known here."""
    for part in subexpressions(node):
        kind = dialect.kind(part)
        if kind in dialect.LOADS and dialect.key(dialect.buffer_of(part)) not in numbers:
            return True
        if kind == "Call" and ops.lookup(dialect.op_name(part)) is not None:
            return True
        if kind == "FloatImm" or (kind == "Cast" and not _integer(part.value)):
            return True
        if kind in ("Var", "SizeVar"):
            value = names.get(dialect.key(part))
            if value is not None and _depends_on_data(value, numbers, names):
                return True
    return False


def _integer(node: Any) -> bool:
    return is_integer(dialect.dtype_of(node))
