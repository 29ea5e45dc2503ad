"""The interface of the walk for handlers of operations."""

from __future__ import annotations

from typing import Any, Dict, Optional, Set, Tuple, Union

from ...facts import Access, Arith, Buffer, Expr, Statement
from ...ops import Handler, Layout, Region, TensorMap
from ..ir import dialect
from ..state.barriers import first_value
from .expression_cost import Cost, ExpressionCost, Readers
from .regions import variable_of

_NO_COST = Cost((), ())
#: Expressions that take no operations and no loads.
_WITHOUT_COST = frozenset({"IntImm", "FloatImm", "StringImm", "Var", "SizeVar"})


def _is_constant(node: Any) -> bool:
    return node is None or isinstance(node, (bool, int, float, str))


class _Operands:
    """The operands of one call that its handler has asked for, by their keys."""

    def __init__(self) -> None:
        self.computed: Set[int] = set()
        self.loaded: Set[int] = set()
        self.places: Set[int] = set()

    @staticmethod
    def note(node: Any, kind: Set[int]) -> None:
        """Record that the handler has asked for `node` in one of these ways."""
        if not _is_constant(node):
            kind.add(dialect.key(node))


class HandlerContext:
    """The `ops.Context` of all handlers, and the assignments that the current one makes.

    Assignments take effect after the call, by `apply_assignments`.
    """

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._state = readers.state
        self._expressions = readers.expressions
        #: The values that the call assigns to scalars, by buffer id.
        self._assigned: Dict[str, Expr] = {}
        #: The regions that scalars point at after the call, by buffer id.
        self._pointed: Dict[str, Region] = {}
        self._operands = _Operands()

    def call(self, call: Any, handler: Handler) -> Tuple[Statement, Cost]:
        """The statement of a call, and the cost of its operands that is not in it.

        Each operand is evaluated once: what the handler has not evaluated is evaluated here.  That
        is the address of an operand in memory, and values that the operation itself does not
        cost, such as a predicate.
        """
        outer, self._operands = self._operands, _Operands()
        try:
            statement = handler(call, self)
            done = self._operands
        finally:
            self._operands = outer
        cost = _NO_COST
        for operand in call.args:
            cost = cost.plus(self._cost_of_operand(operand, done))
        return statement, cost

    def _cost_of_operand(self, operand: Any, done: _Operands) -> Cost:
        kind = None if _is_constant(operand) else dialect.kind(operand)
        if kind is None or kind in _WITHOUT_COST:
            return _NO_COST
        key = dialect.key(operand)
        if key in done.computed and key in done.loaded:
            return _NO_COST
        visitor = ExpressionCost(self._readers, self, is_mask=False, is_result=False)
        if self._is_read(operand, key in done.places) or not visitor.visit_address(operand, None):
            visitor.visit(operand, None)
        arith, accesses = visitor.cost()
        return Cost(() if key in done.computed else arith, () if key in done.loaded else accesses)

    def _is_read(self, operand: Any, is_place: bool) -> bool:
        """Whether an operand of the form of a load is one: registers and barriers are places."""
        if is_place or dialect.kind(operand) not in dialect.LOADS:
            return False
        return self._expressions.buffer(dialect.buffer_of(operand)).scope == "global"

    @property
    def threads(self) -> Expr:
        """The number of threads of a block."""
        return self._state.bindings.threads_per_block()

    @property
    def rank_in_cluster(self) -> Expr:
        """The number of the block in its cluster."""
        return self._state.bindings.rank_in_cluster()

    @property
    def lane(self) -> Expr:
        """The index of a thread in its warp."""
        return self._state.bindings.lane()

    def expr(self, node: Any) -> Expr:
        """The value of `node`."""
        return self._expressions.expr(node)

    def literal(self, node: Any) -> Union[int, float, str, bool, None]:
        """The constant that `node` is, as a Python value; None if it is none."""
        return self._expressions.literal(node)

    def region(self, node: Any) -> Optional[Region]:
        """The box of an array that `node` denotes or points at; None if it denotes none."""
        found = self._readers.regions.region(node)
        self._operands.note(node, self._operands.places)
        return found

    def tensor_map(self, node: Any, dtype: str, rank: int) -> Optional[TensorMap]:
        """The array and the box that a tensor map describes."""
        return self._readers.regions.tensor_map(node, dtype, rank)

    def limit_copy_box(self, array: Buffer, box: Tuple[Expr, ...]) -> None:
        """Record that a copy by the tensor map of `array`, whose box is unknown, fits in `box`."""
        self._state.tensor_maps.limit_box(array.id, box)

    def define_tensor_map(self, node: Any, array: Region, layout: Layout) -> None:
        """Record that the tensor map `node` describes an array from the corner of `array` on."""
        var = variable_of(node)
        if var is not None:
            self._state.tensor_maps.define(var, array, layout)

    def assign(self, target: Any, value: Expr) -> None:
        """Record that the call assigns `value` to a scalar."""
        region = self.region(target)
        if region is not None and all(size == 1 for size in region.buffer.shape):
            self._assigned[region.buffer.id] = value

    def assign_pointer(self, target: Any, address: Any) -> None:
        """Record that the call assigns an address to a scalar."""
        region = self.region(address)
        if dialect.kind(target) in dialect.LOADS and region is not None:
            buffer = self._expressions.buffer(dialect.buffer_of(target))
            self._pointed[buffer.id] = region

    def apply_assignments(self) -> None:
        """Make the scalars hold what the call has assigned to them."""
        for name, value in self._assigned.items():
            self._state.scalars.assign(name, value)
        self._assigned.clear()
        self._state.scalars.pointers.update(self._pointed)
        self._pointed.clear()

    def clip(self, index: Expr, extent: Expr, size: Expr) -> Expr:
        """The number of the `extent` indices from `index` on that are within an axis of `size`."""
        return self._state.ranges.clip(index, extent, size)

    def guard_of_load(self, node: Any, guard: Optional[Expr] = None) -> Optional[Expr]:
        """The guard of a load, `guard` included; None if it always happens."""
        return self._readers.accesses.guard_of(node, guard)

    def first_value(self, node: Any) -> Optional[int]:
        """The value of `node` at its first evaluation; None if it is not known."""
        ranges = self._state.ranges
        initial = self._state.scalars.initial
        return first_value(self.expr(node), initial, lambda name: ranges.of(name)[0])

    def set_arrivals(self, barrier: Region, arrivals: Expr) -> None:
        """Set the arrivals that end a phase of the barrier, or of all barriers of a loop."""
        index, (slots, *_) = barrier.indices[0], barrier.buffer.shape
        last = index if isinstance(index, int) else slots - 1 if isinstance(slots, int) else 0
        self._state.barriers.set_arrivals(barrier.buffer.id, last, arrivals)

    def arrivals(self, barrier: Buffer) -> Tuple[Expr, ...]:
        """The arrivals that end a phase of each barrier of an array, as far as they are known."""
        return self._state.barriers.arrivals.get(barrier.id, ())

    def reducer(self, buffer: Buffer) -> Optional[str]:
        """The operation of a reducer of tilelang (``sum``, ``max`` ...); None for other arrays."""
        return self._state.arrays.reducers.get(buffer.id)

    def value_count(self, index: Any) -> Optional[int]:
        """The number of values that `index` can have; None if its range is not known."""
        low, high = self._state.ranges.of(self.expr(index))
        return None if low is None or high is None else high - low + 1

    def combination(self) -> Tuple[Arith, ...]:
        """The arithmetic that combines two partial results of the enclosing reduction."""
        combiner = self._state.position.combiner
        if combiner is None:
            return ()
        for value in (*combiner.lhs, *combiner.rhs):
            self._state.names.define(value, ("opaque", str(value.name)))
        return tuple(one for result in combiner.result for one in self.arith(result))

    def add_caveat(self, message: str, function: Optional[str] = None) -> None:
        """Add a caveat at the current statement, such as the unknown cost of `function`."""
        self._state.caveats.note(message, function)

    def arith(self, node: Any) -> Tuple[Arith, ...]:
        """The arithmetic on data of one evaluation of `node`."""
        self._operands.note(node, self._operands.computed)
        return self.cost(node).arith

    def accesses(self, node: Any) -> Tuple[Access, ...]:
        """The loads of one evaluation of `node`."""
        self._operands.note(node, self._operands.loaded)
        return self.cost(node).accesses

    def cost(
        self,
        node: Any,
        guard: Optional[Expr] = None,
        is_named: bool = False,
        is_result: bool = True,
    ) -> Cost:
        """The cost of one evaluation of `node` where `guard` holds.

        A condition that is given a name is a part of a mask.  The value is the statement's result,
        or else only an address or a condition.
        """
        is_mask = is_named and self._expressions.is_guarded and dialect.dtype_of(node) == "bool"
        visitor = ExpressionCost(self._readers, self, is_mask, is_result)
        visitor.visit(node, guard)
        return visitor.cost()
