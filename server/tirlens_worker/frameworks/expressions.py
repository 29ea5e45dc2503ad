"""The IR's expressions as `Expr`, and the boxes of buffers that they denote."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from ..facts import Buffer, Expr
from ..ops import Layout, Region, TensorMap
from ..ops.build import WARP
from . import dialect
from .dialect import BLOCK_TAGS
from .launch import Bindings
from .parts import SELECT
from .regions import behind, flat
from .scope import Scope

_BITS = {
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}
_PRINTED = 60

#: Calls that give the address of what stands in them, and those that only change its type.
_ADDRESSES = frozenset({"address_of", "tl.access_ptr", "buffer_data", "tl.tileop.access_ptr"})
_SAME_ADDRESS = frozenset({"reinterpret", "cuda.cvta_generic_to_shared"})
_BEHIND = frozenset({"ptx.addr", "handle_add_byte_offset", "ptr_byte_offset"})
#: Calls that hand out their first argument's value unchanged, as far as counting goes.
TRANSPARENT = frozenset(
    {"likely", "ret", "reinterpret", "tvm_warp_activemask", "ignore_loop_partition"}
)


class Expressions:
    """Reads values and regions in the names of one `Scope`."""

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
        self.notes: List[str] = []
        #: What the call that is being accounted gives to scalars, by buffer id.
        self.assigned: Dict[str, Expr] = {}
        #: The ``CommReducer`` of the reduction that the walk is in.
        self.combiner: Any = None
        #: What the scalars point at that this call gives an address.
        self.pointed: Dict[str, Region] = {}
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

    def assign(self, target: Any, value: Expr) -> None:
        """A call gives a scalar this value."""
        region = self.region(target)
        if region is not None and all(size == 1 for size in region.buffer.shape):
            self.assigned[region.buffer.id] = value

    def points(self, target: Any, address: Any) -> None:
        """A call gives a scalar this address, or what stands there in another block's memory."""
        place = self.region(address)
        if dialect.kind(target) in dialect.LOADS and place is not None:
            self.pointed[self.buffer(dialect.buffer_of(target)).id] = place

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
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if dialect.kind(node) in ("IntImm", "FloatImm", "StringImm"):
            return str(node.value) if dialect.kind(node) == "StringImm" else dialect.plain(node)
        value = self.expr(node) if hasattr(node, "ty") or hasattr(node, "dtype") else None
        return value if isinstance(value, (bool, int, float)) else None

    def clipped(self, index: Expr, extent: Expr, size: Expr) -> Expr:
        return self.scope.ranges.clipped(index, extent, size)

    def first(self, node: Any) -> Optional[int]:
        """The value that `node` has where it is computed for the first time, if that is known."""
        ranges = self.scope.ranges
        return self.scope.barriers.first(self.expr(node), lambda name: ranges.of(name)[0])

    def made(self, barrier: Region, arrivals: Expr) -> None:
        """So many arrivals end a phase of the barrier that is made here, or of all in a loop."""
        index, (slots, *_) = barrier.indices[0], barrier.buffer.shape
        last = index if isinstance(index, int) else slots - 1 if isinstance(slots, int) else 0
        self.scope.barriers.counts(barrier.buffer.id, last, arrivals)

    def arrivals(self, barrier: Buffer) -> Tuple[Expr, ...]:
        """How many arrivals end a phase of each barrier of an array, as far as that is known."""
        return self.scope.barriers.arrivals.get(barrier.id, ())

    def reducer(self, buffer: Buffer) -> Optional[str]:
        return self.scope.reducers.get(buffer.id)

    def note(self, message: str) -> None:
        self.notes.append(message)

    def buffer(self, node: Any) -> Buffer:
        buffer_id = self.scope.buffer_id(node)
        return self.scope.buffer(buffer_id if buffer_id is not None else self._add_buffer(node))

    def region(self, node: Any) -> Optional[Region]:
        target = self.pointer(node)
        if target is not None:
            return target
        name = dialect.kind(node)
        if name in dialect.REGIONS:
            return Region(
                self.buffer(dialect.buffer_of(node)),
                tuple(self.expr(one.min) for one in node.region),
                tuple(self.expr(one.extent) for one in node.region),
            )
        if name in dialect.LOADS:
            corner = [self.corner(index) for index in node.indices]
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

    def pointer(self, node: Any) -> Optional[Region]:
        """What an address points at, one that is computed from others too; None for no address."""
        name = dialect.kind(node)
        if name == "Call":
            called = bare(dialect.op_name(node))
            if called in _SAME_ADDRESS and node.args:
                return self.pointer(node.args[0])
            if called in _ADDRESSES:
                return self._region_call(node)
            # ``ptx.addr(base, bytes)`` and its like lie that many bytes behind their base.
            base = self.region(node.args[0]) if called in _BEHIND else None
            return None if base is None else behind(base, self.expr(node.args[1]))
        if name == "Cast":
            return self.pointer(node.value)
        if name == "Add":
            for base, offset in ((node.a, node.b), (node.b, node.a)):
                found = self.pointer(base)
                if found is not None:
                    return behind(found, self.expr(offset))
            return None
        if name in ("Var", "SizeVar"):
            return self.scope.pointers.get(dialect.key(node))
        if name in dialect.LOADS:
            known = self.scope.buffer_id(dialect.buffer_of(node))
            return None if known is None else self.scope.pointers.get(known)
        return None

    def tensor_map(self, node: Any, dtype: str, rank: int) -> Optional[TensorMap]:
        """What a tensor map describes.

        Of one that is made outside of the kernel, the elements are those of the tile that it is
        copied to or from, and the sizes are not known.
        """
        var = _variable(node)
        if var is not None:
            return self.scope.tensor_map(var, dtype, rank)
        place = self.region(node)
        return None if place is None else self.scope.tensor_map_at(place, dtype, rank)

    def copies(self, array: Buffer, box: Tuple[Expr, ...]) -> None:
        """A copy by the tensor map of `array`, which does not tell its box, moves `box` at most."""
        self.scope.copies(array.id, box)

    def describe(self, node: Any, array: Region, layout: Layout) -> None:
        """The tensor map `node` is made for an array from a corner of it on."""
        var = _variable(node)
        if var is not None:
            self.scope.describe(var, array, layout)

    def corner(self, index: Any) -> Tuple[Expr, Expr]:
        """The first index that `index` denotes and how many follow it: more than 1 for a ramp."""
        if dialect.kind(index) == "Ramp":
            lanes = self.literal(index.lanes)
            return self.expr(index.base), lanes if isinstance(lanes, int) else 1
        return self.expr(index), 1

    def _region_call(self, call: Any) -> Optional[Region]:
        name, arguments = bare(dialect.op_name(call)), list(call.args)
        if name in ("tl.region", "tl.tileop.region"):
            base = self.region(arguments[0])
            if base is None:
                return None
            sizes = tuple(self.expr(one) for one in arguments[2:])
            missing = len(base.indices) - len(sizes)
            return Region(base.buffer, base.indices, (1,) * missing + sizes)
        if name in _ADDRESSES:
            return self.region(arguments[0]) if arguments else None
        if name == "tvm_access_ptr" and len(arguments) >= 4:
            # The pointer is a variable, or the call `buffer_data` from apache-tvm 0.27 on.
            whole = self.region(arguments[1])
            if whole is None:
                return None
            return flat(whole.buffer, self.expr(arguments[2]), self.expr(arguments[3]))
        return None

    @staticmethod
    def _whole(buffer: Buffer) -> Region:
        return Region(buffer, tuple(0 for _ in buffer.shape), buffer.shape)


def _variable(node: Any) -> Optional[Any]:
    """The variable whose address, in whatever type, `node` is, or the first that it may be."""
    while dialect.kind(node) == "Select" or (dialect.kind(node) == "Call" and node.args):
        node = node.true_value if dialect.kind(node) == "Select" else node.args[0]
    return node if dialect.kind(node) in ("Var", "SizeVar") else None


def is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint", "bool", "handle"))


def bare(name: str) -> str:
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
