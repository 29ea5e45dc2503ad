"""The regions that the IR's expressions denote: boxes of arrays, addresses, tensor maps."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

from ...facts import Buffer, Expr
from ...ops import Region, TensorMap
from ..ir import dialect
from ..state.kernel_state import KernelState
from ..symbolic.row_major import advance, region_of_run
from .expressions import Expressions, bare

#: Calls that return the address of their operand, and calls that only change its type.
_ADDRESSES = frozenset(
    ("address_of", "buffer_data", "tensor_data_ptr", "tl.access_ptr", "tl.tileop.access_ptr")
)
_REGIONS = frozenset({"tl.region", "tl.tileop.region"})
_SAME_ADDRESS = frozenset({"reinterpret", "cuda.cvta_generic_to_shared"})
_OFFSETS = frozenset({"ptx.addr", "handle_add_byte_offset", "ptr_byte_offset"})
#: All calls that denote a place in memory and do not read it.
ADDRESSES = _ADDRESSES | _REGIONS | {"tvm_access_ptr"}


class AddressParts(NamedTuple):
    """What an address consists of: other places, and the numbers that are evaluated for it."""

    places: Tuple[Any, ...]
    values: Tuple[Any, ...]


def address_parts(node: Any) -> Optional[AddressParts]:
    """The parts of the place in memory that `node` denotes; None if it denotes none.

    Of ``tvm_access_ptr`` no code is generated for the extent.
    """
    name = dialect.kind(node)
    if name in dialect.LOADS:
        return AddressParts((), tuple(node.indices))
    if name in dialect.REGIONS:
        return AddressParts(
            (), tuple(part for one in node.region for part in dialect.range_of(one))
        )
    if name != "Call":
        return None
    called, arguments = bare(dialect.op_name(node)), tuple(node.args)
    if called == "tvm_access_ptr":
        return AddressParts(arguments[1:2], arguments[2:3])
    if called in _REGIONS:
        return AddressParts(arguments[:1], arguments[2:])
    return AddressParts(arguments[:1], ()) if called in _ADDRESSES else None


class Regions:
    """Reads the regions of arrays at the point of the walk."""

    def __init__(self, state: KernelState, expressions: Expressions) -> None:
        self._state = state
        self._expressions = expressions

    def region(self, node: Any) -> Optional[Region]:
        """The box of an array that `node` denotes or points at; None if it denotes none."""
        target = self.pointer(node)
        if target is not None:
            return target
        name = dialect.kind(node)
        if name in dialect.REGIONS:
            ranges = [map(self._expressions.expr, dialect.range_of(one)) for one in node.region]
            lows, extents = zip(*ranges) if ranges else ((), ())
            return Region(self._expressions.buffer(dialect.buffer_of(node)), lows, extents)
        if name in dialect.LOADS:
            corner = [self.corner(index) for index in node.indices]
            return Region(
                self._expressions.buffer(dialect.buffer_of(node)),
                tuple(low for low, _ in corner),
                tuple(size for _, size in corner),
            )
        if name == "Call":
            return self._region_call(node)
        if dialect.is_buffer(node):
            return self._whole(self._expressions.buffer(node))
        if name in ("Var", "SizeVar"):
            owner = self._state.arrays.owner_of_data(node)
            return None if owner is None else self._whole(self._state.arrays.get(owner))
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
            # ``ptx.addr(base, bytes)`` and similar calls add bytes to the base address.
            base = self.region(node.args[0]) if called in _OFFSETS else None
            return None if base is None else advance(base, self._expressions.expr(node.args[1]))
        if name == "Cast":
            return self.pointer(node.value)
        if name == "Add":
            for base, offset in ((node.a, node.b), (node.b, node.a)):
                found = self.pointer(base)
                if found is not None:
                    return advance(found, self._expressions.expr(offset))
            return None
        if name in ("Var", "SizeVar"):
            return self._state.scalars.pointers.get(dialect.key(node))
        if name in dialect.LOADS:
            known = self._state.arrays.id_of(dialect.buffer_of(node))
            return None if known is None else self._state.scalars.pointers.get(known)
        return None

    def tensor_map(self, node: Any, dtype: str, rank: int) -> Optional[TensorMap]:
        """What a tensor map describes.

        Of one that is made outside of the kernel, the elements are those of the tile that it is
        copied to or from, and the sizes are not known.
        """
        var = variable_of(node)
        if var is not None:
            return self._state.tensor_maps.of_variable(var, dtype, rank)
        region = self.region(node)
        return None if region is None else self._state.tensor_maps.in_memory(region, dtype, rank)

    def corner(self, index: Any) -> Tuple[Expr, Expr]:
        """The first index that `index` denotes and how many follow it: more than 1 for a ramp."""
        if dialect.kind(index) == "Ramp":
            lanes = self._expressions.literal(index.lanes)
            return self._expressions.expr(index.base), lanes if isinstance(lanes, int) else 1
        return self._expressions.expr(index), 1

    def _region_call(self, call: Any) -> Optional[Region]:
        name, arguments = bare(dialect.op_name(call)), list(call.args)
        if name in _REGIONS:
            base = self.region(arguments[0])
            if base is None:
                return None
            sizes = tuple(self._expressions.expr(one) for one in arguments[2:])
            missing = len(base.indices) - len(sizes)
            return Region(base.buffer, base.indices, (1,) * missing + sizes)
        if name in _ADDRESSES:
            return self.region(arguments[0]) if arguments else None
        if name == "tvm_access_ptr" and len(arguments) >= 4:
            # The pointer is a variable, or the call `buffer_data` from apache-tvm 0.27 on.
            whole = self.region(arguments[1])
            if whole is None:
                return None
            return region_of_run(
                whole.buffer,
                self._expressions.expr(arguments[2]),
                self._expressions.expr(arguments[3]),
            )
        return None

    @staticmethod
    def _whole(buffer: Buffer) -> Region:
        return Region(buffer, tuple(0 for _ in buffer.shape), buffer.shape)


def variable_of(node: Any) -> Optional[Any]:
    """The variable whose address is `node`, after casts; of a selection, the first operand."""
    while dialect.kind(node) == "Select" or (dialect.kind(node) == "Call" and node.args):
        node = node.true_value if dialect.kind(node) == "Select" else node.args[0]
    return node if dialect.kind(node) in ("Var", "SizeVar") else None
