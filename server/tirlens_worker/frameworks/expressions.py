"""The IR's expressions as `Expr`, and what evaluating one costs.

An addition of two data values is one ``add`` and a product one ``mul``; a multiply-accumulate is
so two operations and two FLOP, whether or not the compiler fuses them.  Arithmetic that only makes
addresses is left out: an integer operation counts where a loaded value takes part in it.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

from .. import ops
from ..facts import Access, Arith, Buffer, Expr
from ..ops import Region
from . import dialect
from .scope import Scope

_ARITH = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "Mod": "mod",
    "FloorDiv": "floordiv",
    "FloorMod": "mod",
    "Min": "min",
    "Max": "max",
}
_COMPARE = frozenset({"EQ", "NE", "LT", "LE", "GT", "GE"})
_BITS = {
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}
_PRINTED = 60

#: Calls that hand out their first argument's value unchanged, as far as counting goes.
_TRANSPARENT = frozenset({"likely", "ret", "reinterpret", "tvm_warp_activemask"})


class Expressions:
    """Reads expressions in the names of one `Scope`; it is also the `ops.Context` of handlers."""

    def __init__(self, scope: Scope, add_buffer: Callable[[Any], str]) -> None:
        self.scope = scope
        self.threads: Expr = 1
        self.notes: List[str] = []
        self._add_buffer = add_buffer

    # -- values ---------------------------------------------------------------------------------

    def expr(self, node: Any) -> Expr:
        if isinstance(node, (bool, int, float)):
            return node
        name = dialect.kind(node)
        if name == "IntImm":
            value = int(node.value)
            return bool(value) if dialect.dtype_of(node) == "bool" else value
        if name == "FloatImm":
            return float(node.value)
        if name in ("Var", "SizeVar"):
            return self.scope.value(node)
        if name in dialect.BINARY:
            return self._binary(dialect.BINARY[name], node)
        if name in dialect.LOADS:
            buffer = self.buffer(dialect.buffer_of(node))
            indices = tuple(self.expr(index) for index in node.indices)
            known = self.scope.scalars.get(buffer.id)
            return known if known is not None else ("load", buffer.id, *indices)
        return self._other(name, node)

    def _binary(self, operator: str, node: Any) -> Expr:
        left, right = self.expr(node.a), self.expr(node.b)
        if operator == "/" and dialect.dtype_of(node).startswith(("int", "uint")):
            operator = "truncdiv"
        if type(left) is int and type(right) is int:
            folded = _fold(operator, left, right)
            if folded is not None:
                return folded
        if left == 0 and operator == "+" and not isinstance(left, bool):
            return right
        if right == 0 and operator in "+-" and not isinstance(right, bool):
            return left
        if operator == "*" and type(right) is int and right == 1:
            return left
        return (operator, left, right)

    def _other(self, name: str, node: Any) -> Expr:
        if name == "Not":
            return ("not", self.expr(node.a))
        if name == "Select":
            return ("select", *(self.expr(getattr(node, part)) for part in _SELECT))
        if name == "Cast":
            value = self.expr(node.value)
            target = dialect.dtype_of(node)
            if target.startswith(("int", "uint")) and _is_integer(dialect.dtype_of(node.value)):
                return value
            return ("cast", target, value)
        if name == "Ramp":
            return self.expr(node.base)
        if name == "Broadcast":
            return self.expr(node.value)
        if name == "Let":
            self.scope.define(node.var, self.expr(node.value))
            return self.expr(node.body)
        if name == "Call":
            return self._call(node)
        return ("opaque", _short(node))

    def _call(self, node: Any) -> Expr:
        name = _bare(dialect.op_name(node))
        arguments = list(node.args)
        if name == "if_then_else":
            return ("select", *(self.expr(one) for one in arguments))
        if name in _BITS:
            return (_BITS[name], self.expr(arguments[0]), self.expr(arguments[1]))
        if name == "bitwise_not":
            return ("~", self.expr(arguments[0]))
        if name in _TRANSPARENT and arguments:
            return self.expr(arguments[0])
        return ("opaque", _short(node))

    def literal(self, node: Any) -> Union[int, float, str, bool, None]:
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if dialect.kind(node) in ("IntImm", "FloatImm", "StringImm"):
            return str(node.value) if dialect.kind(node) == "StringImm" else dialect.plain(node)
        value = self.expr(node) if hasattr(node, "ty") or hasattr(node, "dtype") else None
        return value if isinstance(value, (bool, int, float)) else None

    def note(self, message: str) -> None:
        self.notes.append(message)

    def buffer(self, node: Any) -> Buffer:
        buffer_id = self.scope.buffer_id(node)
        return self.scope.buffer(buffer_id if buffer_id is not None else self._add_buffer(node))

    # -- regions --------------------------------------------------------------------------------

    def region(self, node: Any) -> Optional[Region]:
        name = dialect.kind(node)
        if name in dialect.REGIONS:
            return Region(
                self.buffer(dialect.buffer_of(node)),
                tuple(self.expr(one.min) for one in node.region),
                tuple(self.expr(one.extent) for one in node.region),
            )
        if name in dialect.LOADS:
            corner = [self._corner(index) for index in node.indices]
            return Region(
                self.buffer(dialect.buffer_of(node)),
                tuple(low for low, _ in corner),
                tuple(size for _, size in corner),
            )
        if name == "Call":
            return self._region_call(node)
        if dialect.is_buffer(node):
            return self._whole(self.buffer(node))
        if name in ("Var", "SizeVar"):
            owner = self.scope.owner_of_data(node)
            return None if owner is None else self._whole(self.scope.buffer(owner))
        return None

    def _corner(self, index: Any) -> Tuple[Expr, Expr]:
        if dialect.kind(index) == "Ramp":
            lanes = self.literal(index.lanes)
            return self.expr(index.base), lanes if isinstance(lanes, int) else 1
        return self.expr(index), 1

    def _region_call(self, call: Any) -> Optional[Region]:
        name, arguments = _bare(dialect.op_name(call)), list(call.args)
        if name in ("tl.region", "tl.tileop.region"):
            base = self.region(arguments[0])
            if base is None:
                return None
            sizes = tuple(self.expr(one) for one in arguments[2:])
            missing = len(base.indices) - len(sizes)
            return Region(base.buffer, base.indices, (1,) * missing + sizes)
        if name in ("address_of", "tl.access_ptr", "buffer_data", "tl.tileop.access_ptr"):
            return self.region(arguments[0]) if arguments else None
        if name == "tvm_access_ptr" and len(arguments) >= 4:
            # The pointer is a variable, or the call `buffer_data` from apache-tvm 0.27 on.
            whole = self.region(arguments[1])
            if whole is None:
                return None
            return _flat(whole.buffer, self.expr(arguments[2]), self.expr(arguments[3]))
        return None

    @staticmethod
    def _whole(buffer: Buffer) -> Region:
        return Region(buffer, tuple(0 for _ in buffer.shape), buffer.shape)

    # -- cost -----------------------------------------------------------------------------------

    def arith(self, node: Any) -> Tuple[Arith, ...]:
        return self.cost(node)[0]

    def accesses(self, node: Any) -> Tuple[Access, ...]:
        return self.cost(node)[1]

    def cost(self, node: Any) -> Tuple[Tuple[Arith, ...], Tuple[Access, ...]]:
        """The arithmetic on data and the loads of evaluating `node` once."""
        bill = _Bill(self)
        bill.visit(node, None)
        return bill.arith(), tuple(bill.accesses)

    def access(self, node: Any, mode: str, guard: Optional[Expr] = None) -> Access:
        """The access of one load or store node."""
        indices, lanes = [], 1
        for index in node.indices:
            low, size = self._corner(index)
            indices.append(low)
            lanes *= size if isinstance(size, int) else 1
        buffer = self.buffer(dialect.buffer_of(node))
        _, wide = dialect.lanes_of(buffer.dtype)
        lanes = max(lanes, 1) if wide == 1 else 1
        window = self.scope.windows.get(buffer.id)
        if window is not None and len(indices) == len(buffer.shape):
            source, corners = window
            placed = (low if dim is None else plus(low, indices[dim]) for low, dim in corners)
            return Access(source, mode, tuple(placed), lanes=lanes, guard=guard)
        return Access(buffer.id, mode, tuple(indices), lanes=lanes, guard=guard)


class _Bill:
    """Adds up one expression: operations by kind and guard, loads in order."""

    def __init__(self, reader: Expressions) -> None:
        self.reader = reader
        self.accesses: List[Access] = []
        self._counts: Dict[Tuple[Any, ...], int] = {}
        self._others: List[Arith] = []

    def arith(self) -> Tuple[Arith, ...]:
        plain = tuple(
            Arith(op=op, dtype=dtype, count=count, guard=guard, accumulator=accumulator)
            for (op, dtype, guard, accumulator), count in self._counts.items()
        )
        return plain + tuple(self._others)

    def _add(self, op: str, dtype: str, guard: Optional[Expr], to: Optional[str] = None) -> None:
        base, lanes = dialect.lanes_of(dtype)
        key = (op, base, guard, to)
        self._counts[key] = self._counts.get(key, 0) + lanes

    def visit(self, node: Any, guard: Optional[Expr]) -> bool:
        """Adds the cost of `node`; whether a loaded value takes part in it."""
        if isinstance(node, (bool, int, float, str)) or node is None:
            return False
        name = dialect.kind(node)
        if name in ("Var", "SizeVar"):
            return not isinstance(self.reader.scope.values.get(dialect.key(node), ""), (int, str))
        if name in dialect.LOADS:
            return self._load(node, guard)
        if name in _ARITH or name in _COMPARE or name in ("And", "Or"):
            return self._operation(name, node, guard)
        if name == "Not":
            return self.visit(node.a, guard)
        if name == "Cast":
            return self._cast(node, guard)
        if name == "Select":
            data = self._visit_all([getattr(node, part) for part in _SELECT], guard)
            self._add("select", dialect.dtype_of(node), guard)
            return data
        if name == "Let":
            data = self.visit(node.value, guard)
            value = self.reader.expr(node.value)
            self.reader.scope.define(node.var, value)
            return self.visit(node.body, guard) or data
        if name == "Call":
            return self._call(node, guard)
        if name == "Broadcast":
            return self.visit(node.value, guard)
        if name == "Ramp":
            return self.visit(node.base, guard)
        if name == "Shuffle":
            return self._visit_all(node.vectors, guard)
        return False

    def _visit_all(self, nodes: Iterable[Any], guard: Optional[Expr]) -> bool:
        """Adds the cost of each; `any` over a generator would stop at the first that is data."""
        data = False
        for node in nodes:
            data = self.visit(node, guard) or data
        return data

    def _load(self, node: Any, guard: Optional[Expr]) -> bool:
        for index in node.indices:
            self.visit(index, guard)
        buffer = self.reader.buffer(dialect.buffer_of(node))
        if buffer.id in self.reader.scope.scalars:
            return False
        self.accesses.append(self.reader.access(node, "read", guard))
        return True

    def _operation(self, name: str, node: Any, guard: Optional[Expr]) -> bool:
        left = self.visit(node.a, guard)
        right = self.visit(node.b, guard)
        data = left or right
        dtype = dialect.dtype_of(node.a)
        if not data and _is_integer(dtype):
            return False
        if name in _ARITH:
            self._add(_ARITH[name], dtype, guard)
        else:
            self._add("compare" if name in _COMPARE else "logic", dtype, guard)
        return True

    def _cast(self, node: Any, guard: Optional[Expr]) -> bool:
        data = self.visit(node.value, guard)
        source, _ = dialect.lanes_of(dialect.dtype_of(node.value))
        target = dialect.dtype_of(node)
        constant = dialect.kind(node.value) in ("IntImm", "FloatImm")
        if not constant and (data or not _is_integer(target)):
            base, lanes = dialect.lanes_of(target)
            key = ("cast", source, guard, base)
            self._counts[key] = self._counts.get(key, 0) + lanes
        return data or not _is_integer(target)

    def _call(self, node: Any, guard: Optional[Expr]) -> bool:
        full = dialect.op_name(node)
        name = _bare(full)
        arguments = list(node.args)
        if name == "if_then_else":
            self.visit(arguments[0], guard)
            condition = self.reader.expr(arguments[0])
            taken = self.visit(arguments[1], _both(guard, condition))
            other = self.visit(arguments[2], _both(guard, ("not", condition)))
            return taken or other or not _is_integer(dialect.dtype_of(node))
        op = ops.scalar(full)
        if op is not None:
            data = self._visit_all(arguments, guard)
            dtype = dialect.dtype_of(node)
            if op and (data or not _is_integer(dtype)):
                self._add(op, dtype, guard)
            return data or not _is_integer(dtype)
        handler = ops.lookup(full)
        if handler is not None:
            statement = handler(node, self.reader)
            self._others += statement.arith
            self.accesses += statement.accesses
            return True
        for argument in arguments:
            self.visit(argument, guard)
        if name not in _TRANSPARENT:
            self._add("unknown:" + full, dialect.dtype_of(node), guard)
            self.reader.note("{}: its cost is not known and is left out".format(full))
        return True


_SELECT = ("condition", "true_value", "false_value")


def _is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint", "bool", "handle"))


def _both(guard: Optional[Expr], condition: Expr) -> Expr:
    return condition if guard is None else ("and", guard, condition)


def _bare(name: str) -> str:
    for namespace in ("tirx.", "prim.", "tir."):
        if name.startswith(namespace):
            return name[len(namespace) :]
    return name


def _short(node: Any) -> str:
    text = str(node).strip().splitlines()
    return text[-1][:_PRINTED] if text else dialect.kind(node)


def plus(left: Expr, right: Expr) -> Expr:
    """The sum, without additions of nothing."""
    if type(left) is int and type(right) is int:
        return left + right
    if type(left) is int and left == 0:
        return right
    return left if type(right) is int and right == 0 else ("+", left, right)


def _flat(buffer: Buffer, offset: Expr, extent: Expr) -> Region:
    """A run of `extent` elements from `offset`: whole rows where it is a whole number of them."""
    size = 1
    leading = []
    for position in range(len(buffer.shape) - 1, -1, -1):
        if size == extent and type(extent) is int:
            break
        if type(buffer.shape[position]) is not int:
            break
        size *= buffer.shape[position]  # type: ignore[operator]
        leading.append(position)
    if type(extent) is int and size == extent and type(offset) is int:
        first = len(buffer.shape) - len(leading)
        indices, rest = [], offset
        for dim in range(first - 1, -1, -1):
            extent_here = buffer.shape[dim]
            if type(extent_here) is not int:
                return Region(buffer, (offset,), (extent,))
            rest_units = rest // size
            indices.append(rest_units % extent_here)
            rest = rest_units // extent_here * size
        corner = tuple(reversed(indices)) + (0,) * len(leading)
        return Region(buffer, corner, (1,) * first + buffer.shape[first:])
    if len(buffer.shape) == 1:
        return Region(buffer, (offset,), (extent,))
    zeros = (0,) * (len(buffer.shape) - 1)
    return Region(buffer, (*zeros, offset), (*(1 for _ in zeros), extent))


def _fold(operator: str, left: int, right: int) -> Optional[Expr]:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if operator in ("//", "%") and right != 0:
        return left // right if operator == "//" else left % right
    if operator == "min":
        return min(left, right)
    if operator == "max":
        return max(left, right)
    return None
