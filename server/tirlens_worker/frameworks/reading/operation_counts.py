"""Counts of the arithmetic operations of one expression, by kind and guard."""

from __future__ import annotations

from typing import Any, Dict, Optional, Set, Tuple

from ... import ops
from ...facts import Arith, Expr
from ..ir import dialect
from ..state.kernel_state import KernelState
from .dependence import Dependence, Variables
from .expressions import Expressions, bare, is_integer
from .value_numbers import ValueNumbers

#: The names that the facts have for the IR's operators.
ARITH = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "Mod": "mod",
    "FloorDiv": "div",
    "FloorMod": "mod",
    "Min": "min",
    "Max": "max",
    "LShift": "shift",
    "RShift": "shift",
    "BitwiseAnd": "bitwise",
    "BitwiseOr": "bitwise",
    "BitwiseXor": "bitwise",
}
COMPARE = frozenset({"EQ", "NE", "LT", "LE", "GT", "GE"})


def fusable_product(name: str, operands: Tuple[Any, Any], dtype: str) -> Any:
    """The product that the compiler fuses with a sum into one instruction; None without one.

    Of two in a sum the right one is (TVM's ``LowerIntrin``), of two in a difference the left one
    (LLVM's ``visitFSUBForFMACombine``).
    """
    if name not in ("Add", "Sub") or is_integer(dtype):
        return None
    products = [part for part in operands if dialect.kind(part) == "Mul"]
    return (products[-1] if name == "Add" else products[0]) if products else None


def is_constant(node: Any) -> bool:
    """Whether a value consists of constants alone: the compiler computes ``-inf * 2``."""
    name = dialect.kind(node)
    if name in ("Broadcast", "Cast"):
        return is_constant(node.value)
    if name in ARITH:
        return is_constant(node.a) and is_constant(node.b)
    if name == "Call":
        full = dialect.op_name(node)
        known = bare(full) == "infinity" or ops.scalar(full) is not None
        return known and all(map(is_constant, node.args))
    return name in ("IntImm", "FloatImm", "StringImm")


class OperationCounts:
    """Adds up operations; those of one kind under one guard are one `Arith`."""

    def __init__(self, state: KernelState, expressions: Expressions) -> None:
        self._dependence = Dependence(state, expressions)
        self._counts: Dict[Tuple[Any, ...], int] = {}
        #: Operations that repeat an earlier one; not counted where threads run the statement.
        self._repeated: Dict[Tuple[Any, ...], int] = {}
        self._numbers = ValueNumbers() if expressions.is_serial else None
        self._computed: Set[Tuple[Any, ...]] = set()

    def variables(self, node: Any) -> Variables:
        """The variables that the value of `node` depends on; None if on more than variables."""
        return self._dependence.of(node)

    def add(
        self, op: str, dtype: str, guard: Optional[Expr], node: Any, source: Optional[str] = None
    ) -> None:
        """Add the operation `op` of `node` in each lane of `dtype`; a cast is from `source`."""
        base, lanes = dialect.lanes_of(dtype)
        over = self._dependence.of(node)
        names = None if over is None else tuple(sorted(over))
        key = (op, source or base, guard, base if source else None, names)
        self._counts[key] = self._counts.get(key, 0) + lanes
        if self._numbers is not None:
            value = (*key, self._numbers.number(node))
            if value in self._computed:
                self._repeated[key] = self._repeated.get(key, 0) + lanes
            self._computed.add(value)

    def arith(self) -> Tuple[Arith, ...]:
        """The operations so far."""
        return tuple(
            Arith(
                op=key[0],
                dtype=key[1],
                count=count,
                guard=key[2],
                accumulator=key[3],
                again=self._repeated.get(key, 0),
                over=key[4],
            )
            for key, count in self._counts.items()
        )
