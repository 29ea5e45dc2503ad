"""The IR's expressions as `Expr`."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple, Union

from ..facts import Buffer, Expr
from ..ops.build import WARP
from . import dialect
from .dialect import BLOCK_TAGS
from .launch import Bindings
from .parts import SELECT
from .scope import Scope

_BITS = {
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}
_PRINTED = 60

#: Calls that hand out their first argument's value unchanged, as far as counting goes.
TRANSPARENT = frozenset(
    {"likely", "ret", "reinterpret", "tvm_warp_activemask", "ignore_loop_partition"}
)


class Expressions:
    """Reads values in the names of one `Scope`."""

    def __init__(
        self,
        scope: Scope,
        bindings: Bindings,
        add_buffer: Callable[[Any], str],
        guarded: bool = False,
    ) -> None:
        self.scope = scope
        #: Whether the compiler guards what may reach outside an array.
        self.guarded = guarded
        self.bindings = bindings
        self.notes: List[Tuple[str, Optional[str]]] = []
        #: The ``CommReducer`` of the reduction that the walk is in.
        self.combiner: Any = None
        self._add_buffer = add_buffer

    @property
    def alone(self) -> bool:
        """Whether one thread runs what is read: nothing so far says that it is a GPU's."""
        return not (self.guarded or self.bindings.has_grid or self.bindings.scopes)

    @property
    def threads(self) -> Expr:
        """How many threads a block has."""
        return self.bindings.threads_per_block()

    @property
    def rank_in_cluster(self) -> Expr:
        """The number of the block in its cluster."""
        return self.bindings.rank_in_cluster()

    @property
    def lane(self) -> Expr:
        """The index of a thread in its warp."""
        return self.bindings.lane()

    def expr(self, node: Any) -> Expr:
        """The value of `node`; of what is not understood, an opaque one with its text."""
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
            if known is None:
                known = self.scope.loaded.get(buffer.id)
            return known if known is not None else ("load", buffer.id, *indices)
        return self._other(name, node)

    def truth(self, node: Any) -> Expr:
        """Whether `node` holds: an integer that stands as a condition does where it is not 0."""
        value = self.expr(node)
        if isinstance(value, int):
            return value != 0
        if dialect.dtype_of(node) == "bool" or _is_comparison(value):
            return value
        return ("!=", value, 0)

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
        if operator in ("==", "!=") and type(right) is int and _is_comparison(left):
            return left if (operator == "==") == (right == 1) else ("not", left)
        return (operator, left, right)

    def _other(self, name: str, node: Any) -> Expr:
        if name == "Not":
            return ("not", self.expr(node.a))
        if name == "BitwiseNot":
            return ("~", self.expr(node.a))
        if name == "Select":
            return ("select", *(self.expr(getattr(node, part)) for part in SELECT))
        if name == "Cast":
            value = self.expr(node.value)
            target = dialect.dtype_of(node)
            if target.startswith(("int", "uint")) and is_integer(dialect.dtype_of(node.value)):
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
        name = bare(dialect.op_name(node))
        arguments = list(node.args)
        if name == "if_then_else":
            return ("select", *(self.expr(one) for one in arguments))
        if name in _BITS:
            return (_BITS[name], self.expr(arguments[0]), self.expr(arguments[1]))
        if name == "bitwise_not":
            return ("~", self.expr(arguments[0]))
        if name in TRANSPARENT and arguments:
            return self.expr(arguments[0])
        if name.endswith("block_rank_in_cluster"):
            return self.rank_in_cluster
        if name.endswith("elect_sync"):
            return ("==", self.lane, 0)
        if name == "tvm_warp_shuffle" and self._in_warps(self.expr(arguments[1])):
            # One lane's value is that of all.
            return self.expr(arguments[1])
        if name.endswith("shuffle_elect"):
            return self._elected(self.literal(arguments[0]) if arguments else None)
        return ("opaque", _short(node))

    def _in_warps(self, value: Expr) -> bool:
        """Whether a number has one value in each warp: it asks for the number of the warp alone."""
        if isinstance(value, tuple) and value[0] in ("load", "opaque"):
            return False
        if isinstance(value, tuple):
            warp = value[0] == "//" and isinstance(value[2], int) and value[2] % WARP == 0
            if warp and value[1] == self.bindings.thread():
                return True
            return all(map(self._in_warps, value[1:]))
        return not isinstance(value, str) or value in map(self.bindings.active.get, BLOCK_TAGS)

    def _elected(self, group: Union[int, float, str, bool, None]) -> Expr:
        """One thread of each `group` of a block's; 0 is the whole block (T.shuffle_elect)."""
        thread = self.bindings.thread()
        if not isinstance(group, int):
            return ("opaque", "shuffle_elect")
        return ("==", ("%", thread, group) if group else thread, 0)

    def literal(self, node: Any) -> Union[int, float, str, bool, None]:
        """The constant that `node` is, as a Python value; None if it is none."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if dialect.kind(node) in ("IntImm", "FloatImm", "StringImm"):
            return str(node.value) if dialect.kind(node) == "StringImm" else dialect.plain(node)
        value = self.expr(node) if hasattr(node, "ty") or hasattr(node, "dtype") else None
        return value if isinstance(value, (bool, int, float)) else None

    def clipped(self, index: Expr, extent: Expr, size: Expr) -> Expr:
        """How many of `extent` indices from `index` on lie within an axis of `size`."""
        return self.scope.ranges.clipped(index, extent, size)

    def first(self, node: Any) -> Optional[int]:
        """The value that `node` has where it is computed for the first time, if that is known."""
        ranges = self.scope.ranges
        return self.scope.barriers.first(self.expr(node), lambda name: ranges.of(name)[0])

    def note(self, message: str, function: Optional[str] = None) -> None:
        """Tells what of the statement at hand is not understood, such as the cost of `function`."""
        self.notes.append((message, function))

    def buffer(self, node: Any) -> Buffer:
        """The facts' array for one of the IR, which is registered when it is met first."""
        buffer_id = self.scope.buffer_id(node)
        return self.scope.buffer(buffer_id if buffer_id is not None else self._add_buffer(node))


def is_integer(dtype: str) -> bool:
    """Whether a value of the type can be, or be part of, an index or an address."""
    return dtype.startswith(("int", "uint", "bool", "handle"))


def bare(name: str) -> str:
    """An operator's name without the namespace that TVM's versions disagree about."""
    for namespace in ("tirx.", "prim.", "tir."):
        if name.startswith(namespace):
            return name[len(namespace) :]
    return name


def _short(node: Any) -> str:
    text = str(node).strip().splitlines()
    return text[-1][:_PRINTED] if text else dialect.kind(node)


def _is_comparison(value: Expr) -> bool:
    return isinstance(value, tuple) and value[0] in ("<", "<=", "==", "!=", ">", ">=", "not")


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
    compare = _COMPARISONS.get(operator)
    return None if compare is None else compare(left, right)


_COMPARISONS = {
    "==": int.__eq__,
    "!=": int.__ne__,
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
}
