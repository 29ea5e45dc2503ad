"""The IR's expressions as `Expr`; the families of `ops` give the values of calls."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Optional, Tuple, Union

from ... import ops
from ...facts import Buffer, Expr
from ...ops.build import WARP
from ..ir import dialect
from ..ir.dialect import BLOCK_TAGS
from ..ir.subexpressions import SELECT, operands
from ..passes.storage_compaction import Storage
from ..state.kernel_state import KernelState

_MAX_LENGTH = 60


class Expressions:
    """Reads the values of the IR's expressions at the point of the walk."""

    def __init__(self, state: KernelState, is_guarded: bool) -> None:
        self._state = state
        #: Whether the compiler guards accesses that may be outside of an array.
        self.is_guarded = is_guarded
        #: What reads the region of an operand, which reads expressions in turn.
        self.find_region: Callable[[Any], Optional[ops.Region]] = _no_region

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
        return self._unknown(node, operands(node))

    def _call(self, node: Any) -> Expr:
        """The value that the family of the operation gives, or an unknown one."""
        name = dialect.op_name(node)
        value = ops.value(name)
        known = None if value is None else value(node, self)
        if known is not None:
            return known
        varies = ops.varies(name)
        if varies == "operands":
            return self._unknown(node, tuple(node.args))
        return self.unknown(_short(node), varies)

    def unknown(self, text: str, varies: ops.Varies = "execution") -> Expr:
        """A value that is not known before the run, as `text`, at the point of the walk."""
        return ("opaque", text, *self._variables(varies))

    def _unknown(self, node: Any, operands: Iterable[Any]) -> Expr:
        """An unknown value that is a function of others."""
        named = (str, type(None))
        operands = (one for one in operands if not isinstance(one, named))
        values = (self.expr(one) for one in operands if dialect.kind(one) != "StringImm")
        parts = (one for one in values if isinstance(one, (str, tuple)))
        return ("opaque", _short(node), *dict.fromkeys(parts))

    def _variables(self, varies: ops.Varies) -> Tuple[str, ...]:
        """The variables with which an unknown value differs at the point of the walk."""
        if varies == "kernel":
            return ()
        bindings, position = self._state.bindings, self._state.position
        names = (*bindings.block_variables(), *position.loop_variables())
        if varies == "execution":
            names += bindings.thread_variables()
        return tuple(dict.fromkeys(names))

    @property
    def thread(self) -> Expr:
        """The index of the thread in its block."""
        return self._state.bindings.thread()

    @property
    def lane(self) -> Expr:
        """The index of the thread in its warp."""
        return self._state.bindings.lane()

    @property
    def rank_in_cluster(self) -> Expr:
        """The number of the block in its cluster, 0 without clusters."""
        return self._state.bindings.rank_in_cluster()

    def index(self, tag: str) -> Expr:
        """The index of the thread or block along an axis; 0 where it is not bound."""
        name = self._state.bindings.index(tag)
        return 0 if name is None else name

    def cluster_extent(self, axis: int) -> Expr:
        """The extent of a cluster of blocks along an axis; 1 without clusters."""
        cluster = self._state.bindings.cluster
        return cluster[axis] if axis < len(cluster) else 1

    def extent(self, tag: str) -> Expr:
        """The extent of a block or of the grid along an axis; 1 where it is not bound."""
        return self._state.bindings.extent(tag)

    def region(self, node: Any) -> Optional[ops.Region]:
        """The box of an array that `node` denotes or points at; None if it denotes none."""
        return self.find_region(node)

    def is_uniform_in_warps(self, value: Expr) -> bool:
        """Whether a number has one value in each warp: of the thread, it uses the warp alone."""
        if isinstance(value, tuple) and value[0] in ("load", "opaque"):
            return False
        if isinstance(value, tuple):
            warp = value[0] == "//" and isinstance(value[2], int) and value[2] % WARP == 0
            if warp and value[1] == self.thread:
                return True
            return all(map(self.is_uniform_in_warps, value[1:]))
        return not isinstance(value, str) or value in map(
            self._state.bindings.active.get, BLOCK_TAGS
        )

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
        shape, strides = storage or (tuple(buffer.shape), dialect.strides_of(buffer))
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


def _no_region(node: Any) -> Optional[ops.Region]:
    return None


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
