"""The cost of one evaluation of an expression of the IR.

An addition of two data values is one ``add``, a product one ``mul``.  A multiply-accumulate is
therefore two operations and two FLOP, whether or not the compiler fuses them.  A product or
quotient with 1.0, a common default of parameters of activations, has no cost.  Nor has a constant
expression, which the compiler folds.  Arithmetic on addresses is left out: an integer operation
counts if one of its operands depends on a loaded value.

A mask of a tile in registers is not a branch in tilelang's code: the index of each element is
computed and compared, and its value is selected (SASS of CUDA 13 for sm_90a: VIADD and ISETP once
for equal indices of several elements of a thread, FSEL for each element).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Iterable, List, NamedTuple, Optional, Protocol, Tuple

from ... import ops
from ...facts import Access, Arith, Expr, Statement
from ..ir import dialect
from ..ir.subexpressions import SELECT
from ..state.kernel_state import KernelState
from .accesses import Accesses, loads
from .expressions import Expressions, bare, is_integer
from .guards import add_guard, both_hold
from .operation_counts import ARITH, COMPARE, OperationCounts, fusable_product, is_constant
from .regions import ADDRESSES, Regions, address_parts


class Readers(NamedTuple):
    """What reads the IR's expressions at the point of the walk."""

    state: KernelState
    expressions: Expressions
    regions: Regions
    accesses: Accesses


class Cost(NamedTuple):
    """The arithmetic on data and the loads of one evaluation."""

    arith: Tuple[Arith, ...]
    accesses: Tuple[Access, ...]

    def plus(self, other: Cost) -> Cost:
        """The cost of both."""
        return Cost(self.arith + other.arith, self.accesses + other.accesses)


class HandlerCalls(Protocol):
    """What has the handlers of operations account for their calls."""

    def call(self, call: Any, handler: ops.Handler) -> Tuple[Statement, Cost]:
        """The statement of a call, and the cost of its operands that are not in it."""
        ...


class ExpressionCost:
    """Adds up the cost of one expression: operations by kind and guard, loads in order."""

    def __init__(
        self, readers: Readers, context: HandlerCalls, is_mask: bool, is_result: bool
    ) -> None:
        self._state = readers.state
        self._expressions = readers.expressions
        self._access_reader = readers.accesses
        #: What the handlers of operations read by.
        self._context = context
        self._operations = OperationCounts(readers.state, readers.expressions)
        self._accesses: List[Access] = []
        #: The arithmetic of operations that have handlers.
        self._of_handlers: List[Arith] = []
        self._in_mask = is_mask
        #: The operations that the visited value is an operand of, the innermost first.
        self._path: Optional[Tuple[str, ...]] = (
            () if readers.expressions.is_serial and is_result else None
        )

    def cost(self) -> Cost:
        """The cost of what has been visited, operations of one kind under one guard as one."""
        arith = self._operations.arith() + tuple(self._of_handlers)
        return Cost(arith, tuple(self._accesses))

    def _operands_of(self, op: Optional[str], nodes: Iterable[Any], guard: Optional[Expr]) -> bool:
        """Add the cost of the operands of `op`; None for an operation that ends their paths."""
        path = self._path
        if path is not None:
            self._path = None if op is None else (op, *path)
        data = self._visit_all(nodes, guard)
        self._path = path
        return data

    def visit(self, node: Any, guard: Optional[Expr]) -> bool:
        """Add the cost of `node` where `guard` holds; whether a loaded value takes part in it."""
        if isinstance(node, (bool, int, float, str)) or node is None:
            return False
        name = dialect.kind(node)
        if name in ("Var", "SizeVar"):
            names, properties = self._state.names, self._state.properties
            if dialect.key(node) in properties.counters:
                return False
            return properties.holds_data(names.values.get(dialect.key(node), ""))
        if name in dialect.LOADS:
            return self._load(node, guard)
        if name in ARITH or name in COMPARE or name in ("And", "Or"):
            return self._operation(name, node, guard)
        if name == "Not":
            return self.visit(node.a, guard)
        if name == "BitwiseNot":
            data = self.visit(node.a, guard)
            if data:
                self._operations.add("bitwise", dialect.dtype_of(node), guard, node)
            return data
        if name == "Cast":
            return self._cast(node, guard)
        if name == "Select":
            data = self._operands_of("select", [getattr(node, part) for part in SELECT], guard)
            self._operations.add("select", dialect.dtype_of(node), guard, node)
            return data
        if name == "Let":
            data = self.visit(node.value, guard)
            value = self._expressions.expr(node.value)
            self._state.names.define(node.var, value)
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

    def visit_address(self, node: Any, guard: Optional[Expr]) -> bool:
        """Add the cost of the address that `node` denotes, and not of what is there.

        False if `node` denotes none.
        """
        parts = address_parts(node)
        if parts is None:
            return False
        path, self._path = self._path, None
        for place in parts.places:
            self.visit_address(place, guard)
        self._visit_all(parts.values, guard)
        self._path = path
        return True

    def _visit_all(self, nodes: Iterable[Any], guard: Optional[Expr]) -> bool:
        """Add the cost of each; whether a loaded value takes part in one."""
        data = False
        for node in nodes:
            data = self.visit(node, guard) or data
        return data

    def _load(self, node: Any, guard: Optional[Expr]) -> bool:
        self._operands_of("load", node.indices, guard)
        buffer = self._expressions.buffer(dialect.buffer_of(node))
        known = buffer.id in self._state.scalars.values
        if known and not self._expressions.is_serial:
            return False
        inside = self._access_reader.guard_of(node, guard)
        access = self._access_reader.access(node, "read", inside)
        self._accesses.append(replace(access, path=self._path))
        if known:
            return False
        return dialect.key(dialect.buffer_of(node)) not in self._state.properties.counters

    def _operation(self, name: str, node: Any, guard: Optional[Expr], fused: bool = False) -> bool:
        """Add an operation; one that is `fused` is computed together with the sum around it."""
        dtype = dialect.dtype_of(node.a)
        if fused:
            data = self._visit_all((node.a, node.b), guard)
        else:
            data = self._operands(name, node, dtype, guard)
        if not data and is_integer(dtype):
            if self._in_mask and name in COMPARE:
                self._compare_positions(node, guard)
            return False
        if self._is_identity(name, node) or is_constant(node):
            return True
        if name in ARITH:
            self._operations.add(ARITH[name], dtype, guard, node)
        else:
            self._operations.add("compare" if name in COMPARE else "logic", dtype, guard, node)
        return True

    def _compare_positions(self, node: Any, guard: Optional[Expr]) -> None:
        """Add the comparison of an element's indices that decides whether a mask keeps it."""
        for side in (node.a, node.b):
            if self._operations.variables(side):
                self._operations.add("place", dialect.dtype_of(side), guard, side)
        self._operations.add("compare", dialect.dtype_of(node.a), guard, node)

    def _is_mask(self, node: Any, arguments: List[Any]) -> bool:
        """Whether a choice is between registers and constants: one that loads is a branch."""
        if not self._expressions.is_guarded or is_integer(dialect.dtype_of(node)):
            return False
        buffers = (
            self._expressions.buffer(dialect.buffer_of(load))
            for side in arguments[1:]
            for load in loads(side)
        )
        return all(buffer.scope.startswith("local") for buffer in buffers)

    def _is_flag(self, arguments: List[Any]) -> bool:
        """Whether a choice makes a number of a comparison, which is one instruction (FSET)."""
        sides = {self._expressions.constant(side) for side in arguments[1:]}
        return sides == {0.0, 1.0} and dialect.kind(arguments[0]) in COMPARE

    def _operands(self, name: str, node: Any, dtype: str, guard: Optional[Expr]) -> bool:
        """Add the cost of an operation's operands; whether a loaded value takes part in one."""
        both = (node.a, node.b)
        if self._path is None or self._is_identity(name, node):
            return self._visit_all(both, guard)
        product = fusable_product(name, both, dtype)
        op = ARITH.get(name, "compare" if name in COMPARE else "logic")
        path = self._path
        self._path = ("fma" if product is not None else op, *path)
        data = False
        for operand in both:
            if operand is product:
                data = self._operation("Mul", operand, guard, fused=True) or data
            else:
                data = self.visit(operand, guard) or data
        self._path = path
        return data

    def _is_identity(self, name: str, node: Any) -> bool:
        """Whether a product or quotient with 1.0 is its other operand, for every compiler."""
        constant = self._expressions.constant
        return (name == "Mul" and constant(node.a) == 1.0) or (
            name in ("Mul", "Div") and constant(node.b) == 1.0
        )

    def _cast(self, node: Any, guard: Optional[Expr]) -> bool:
        data = self._operands_of("cast", (node.value,), guard)
        source, _ = dialect.lanes_of(dialect.dtype_of(node.value))
        target = dialect.dtype_of(node)
        if not is_constant(node.value) and (data or not is_integer(target)):
            self._operations.add("cast", target, guard, node, source)
        return data or not is_integer(target)

    def _call(self, node: Any, guard: Optional[Expr]) -> bool:
        full = dialect.op_name(node)
        name = bare(full)
        arguments = list(node.args)
        if name == "if_then_else":
            holds = self._state.ranges.decide(self._expressions.expr(arguments[0]))
            if holds is not None:
                # The framework's simplification removes the choice.
                return self.visit(arguments[1 if holds else 2], guard)
            outer, self._in_mask = self._in_mask, self._is_mask(node, arguments)
            if self._in_mask and not self._is_flag(arguments):
                self._operations.add("select", dialect.dtype_of(node), guard, node)
            condition_has_data = self._operands_of(None, arguments[:1], guard)
            self._in_mask = outer
            condition = self._expressions.expr(arguments[0])
            then_has_data = self.visit(arguments[1], both_hold(guard, condition))
            else_has_data = self.visit(arguments[2], both_hold(guard, ("not", condition)))
            return (
                condition_has_data
                or then_has_data
                or else_has_data
                or not is_integer(dialect.dtype_of(node))
            )
        if name in ADDRESSES:
            self.visit_address(node, guard)
            return False
        op = ops.scalar(full)
        if op is not None:
            data = self._operands_of(op, arguments, guard)
            dtype = dialect.dtype_of(node)
            if op == "pow" and self._expressions.constant(arguments[0]) is not None:
                op = "pow_of_constant"
            if (data or not is_integer(dtype)) and not is_constant(node):
                for one in op.split():
                    self._operations.add(one, dtype, guard, node)
            return data or not is_integer(dtype)
        handler = ops.lookup(full)
        if handler is not None:
            statement, operands = self._context.call(node, handler)
            inside = self._access_reader.guard_of_call(node, guard, alone=False)
            self._of_handlers += add_guard(inside, operands.arith + statement.arith)
            self._accesses += add_guard(inside, operands.accesses + statement.accesses)
            return self._state.properties.holds_data(self._expressions.expr(node))
        self._visit_all(arguments, guard)
        self._operations.add("unknown:" + full, dialect.dtype_of(node), guard, node)
        message = "the cost of {!r} is not known; it is left out".format(full)
        self._state.caveats.note(message, function=full)
        return True
