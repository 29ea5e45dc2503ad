"""The places that the IR's expressions denote: boxes of arrays, addresses, tensor maps."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

from ..facts import Buffer, Expr
from ..ops import Layout, Region, TensorMap
from . import dialect
from .expressions import Expressions, bare
from .launch import Bindings
from .regions import behind, flat
from .scope import Scope

#: Calls that give the address of what stands in them, and those that only change its type.
_ADDRESSES = frozenset({"address_of", "tl.access_ptr", "buffer_data", "tl.tileop.access_ptr"})
_SAME_ADDRESS = frozenset({"reinterpret", "cuda.cvta_generic_to_shared"})
_BEHIND = frozenset({"ptx.addr", "handle_add_byte_offset", "ptr_byte_offset"})


class Places(Expressions):
    """Reads regions in the names of one `Scope`, and what calls do to what stands there."""

    def __init__(
        self,
        scope: Scope,
        bindings: Bindings,
        add_buffer: Callable[[Any], str],
        guarded: bool = False,
    ) -> None:
        super().__init__(scope, bindings, add_buffer, guarded)
        #: What the call that is being accounted gives to scalars, by buffer id.
        self.assigned: Dict[str, Expr] = {}
        #: What the scalars point at that this call gives an address.
        self.pointed: Dict[str, Region] = {}

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

    def region(self, node: Any) -> Optional[Region]:
        """The box of an array that `node` denotes or points at; None if it denotes none."""
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

    def made(self, barrier: Region, arrivals: Expr) -> None:
        """So many arrivals end a phase of the barrier that is made here, or of all in a loop."""
        index, (slots, *_) = barrier.indices[0], barrier.buffer.shape
        last = index if isinstance(index, int) else slots - 1 if isinstance(slots, int) else 0
        self.scope.barriers.counts(barrier.buffer.id, last, arrivals)

    def arrivals(self, barrier: Buffer) -> Tuple[Expr, ...]:
        """How many arrivals end a phase of each barrier of an array, as far as that is known."""
        return self.scope.barriers.arrivals.get(barrier.id, ())

    def reducer(self, buffer: Buffer) -> Optional[str]:
        """What a reducer of tilelang combines by (``sum``, ``max`` ...); None for other arrays."""
        return self.scope.reducers.get(buffer.id)


def _variable(node: Any) -> Optional[Any]:
    """The variable whose address, in whatever type, `node` is, or the first that it may be."""
    while dialect.kind(node) == "Select" or (dialect.kind(node) == "Call" and node.args):
        node = node.true_value if dialect.kind(node) == "Select" else node.args[0]
    return node if dialect.kind(node) in ("Var", "SizeVar") else None
