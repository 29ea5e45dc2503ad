"""The IR's expressions as `Expr`."""

from __future__ import annotations

from typing import Any, Optional, Union

from ...facts import Buffer, Expr
from ...ops.build import WARP
from ..ir import dialect
from ..ir.dialect import BLOCK_TAGS
from ..ir.subexpressions import SELECT
from ..passes.storage_compaction import Storage
from ..state.kernel_state import KernelState

_BITS = {
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}
_MAX_LENGTH = 60

#: Calls whose value is that of the first argument.
TRANSPARENT = frozenset(
    {"likely", "ret", "reinterpret", "tvm_warp_activemask", "ignore_loop_partition"}
)


class Expressions:
    """Reads the values of the IR's expressions at the point of the walk."""

    def __init__(self, state: KernelState, is_guarded: bool) -> None:
        self._state = state
        #: Whether the compiler guards accesses that may be outside of an array.
        self.is_guarded = is_guarded

    @property
    def is_serial(self) -> bool:
        """Whether the kernel is serial: no binding so far is that of a GPU kernel."""
        bindings = self._state.bindings
        return not (self.is_guarded or bindings.has_grid or bindings.scopes)

    def expr(self, node: Any) -> Expr:
        """The value of `node`; an opaque one with its text if it is not understood."""
        if isinstance(node, (bool, int, float)):
            return node
        name = dialect.kind(node)
        if name == "IntImm":
            value = int(node.value)
            return bool(value) if dialect.dtype_of(node) == "bool" else value
        if name == "FloatImm":
            return float(node.value)
        if name in ("Var", "SizeVar"):
            return self._state.names.value(node)
        if name in dialect.BINARY:
            return self._binary(dialect.BINARY[name], node)
        if name in dialect.LOADS:
            buffer = self.buffer(dialect.buffer_of(node))
            indices = tuple(self.expr(index) for index in node.indices)
            known = self._state.scalars.value_of(buffer.id)
            return known if known is not None else ("load", buffer.id, *indices)
        return self._other(name, node)

    def truth(self, node: Any) -> Expr:
        """The condition `node`; an integer as a condition holds where it is not 0."""
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
            self._state.names.define(node.var, self.expr(node.value))
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
            return self._state.bindings.rank_in_cluster()
        if name.endswith("elect_sync"):
            return ("==", self._state.bindings.lane(), 0)
        if name == "tvm_warp_shuffle" and self._is_uniform_in_warps(self.expr(arguments[1])):
            # One lane's value is that of all.
            return self.expr(arguments[1])
        if name.endswith("shuffle_elect"):
            return self._elected_thread(self.literal(arguments[0]) if arguments else None)
        return ("opaque", _short(node))

    def _is_uniform_in_warps(self, value: Expr) -> bool:
        """Whether a number has one value in each warp: of the thread, it uses the warp alone."""
        if isinstance(value, tuple) and value[0] in ("load", "opaque"):
            return False
        if isinstance(value, tuple):
            warp = value[0] == "//" and isinstance(value[2], int) and value[2] % WARP == 0
            if warp and value[1] == self._state.bindings.thread():
                return True
            return all(map(self._is_uniform_in_warps, value[1:]))
        return not isinstance(value, str) or value in map(
            self._state.bindings.active.get, BLOCK_TAGS
        )

    def _elected_thread(self, group: Union[int, float, str, bool, None]) -> Expr:
        """One thread of each `group` of a block's; 0 is the whole block (T.shuffle_elect)."""
        thread = self._state.bindings.thread()
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

    def constant(self, node: Any) -> Optional[float]:
        """The value of a floating-point constant, also by name or in all lanes; None for others."""
        kind = dialect.kind(node)
        if kind == "Broadcast":
            return self.constant(node.value)
        if kind == "Var":
            return self._state.properties.constants.get(dialect.key(node))
        return float(node.value) if kind == "FloatImm" else None

    def buffer(self, node: Any) -> Buffer:
        """The array of the facts for an array of the IR; the first use registers it."""
        arrays = self._state.arrays
        buffer_id = arrays.id_of(node)
        return arrays.get(buffer_id if buffer_id is not None else self.declare(node))

    def declare(
        self,
        buffer: Any,
        is_parameter: bool = False,
        alias_of: Optional[str] = None,
        scope: Optional[str] = None,
        storage: Optional[Storage] = None,
    ) -> str:
        """Register the array `buffer`; its id.

        `storage` are its shape and strides if the compiler compacts it.
        """
        offset = getattr(buffer, "elem_offset", None)
        shape, strides = storage or (tuple(buffer.shape), tuple(buffer.strides or ()))
        # The caller sets the offset of a parameter; that of a view is its start in the array.
        is_caller_offset = offset is None or is_parameter or dialect.kind(offset) == "Var"
        sites = self._state.position.sites
        return self._state.arrays.add(
            buffer,
            tuple(self.expr(size) for size in shape),
            tuple(self.expr(stride) for stride in strides),
            0 if is_caller_offset else self.expr(offset),
            is_parameter=is_parameter,
            alias_of=alias_of,
            scope=scope,
            span=sites[0] if sites else None,
        )


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
    return text[-1][:_MAX_LENGTH] if text else dialect.kind(node)


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
