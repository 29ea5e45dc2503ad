"""What it costs to evaluate an expression of the IR.

An addition of two data values is one ``add`` and a product one ``mul``; a multiply-accumulate is
so two operations and two FLOP, whether or not the compiler fuses them.  A product or quotient with
1.0, as parameters of activations have it by default, is none, and what is made of constants alone
the compiler computes.  Arithmetic that only makes
addresses is left out: an integer operation counts where a loaded value takes part in it.

A mask of a tile in registers is no branch in tilelang's code: each element's place is computed and
compared, and its value chosen (SASS of CUDA 13 for sm_90a: VIADD and ISETP once for what is the
same in several elements of a thread, FSEL for each).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

from .. import ops
from ..facts import Access, Arith, Expr
from . import dialect
from .accesses import Accesses, loads
from .conditions import both_hold, where
from .data import holds_data
from .dependence import Dependence
from .expressions import TRANSPARENT, bare, is_integer
from .operators import ARITH, COMPARE, contracted, is_fixed
from .parts import SELECT
from .values import Values


class Bill:
    """Adds up one expression: operations by kind and guard, loads in order."""

    def __init__(self, reader: Accesses, context: ops.Context, in_mask: bool, result: bool) -> None:
        self.reader = reader
        #: What the operations' handlers read by.
        self._context = context
        self.accesses: List[Access] = []
        self._over = Dependence(reader)
        self._counts: Dict[Tuple[Any, ...], int] = {}
        self._others: List[Arith] = []
        self._in_mask = in_mask
        #: Of the counts, what is computed again; not looked for where threads run a statement.
        self._again: Dict[Tuple[Any, ...], int] = {}
        self._values = Values() if reader.alone else None
        self._done: Set[Tuple[Any, ...]] = set()
        #: What the value that is visited goes through.
        self._path: Optional[Tuple[str, ...]] = () if reader.alone and result else None

    def arith(self) -> Tuple[Arith, ...]:
        """The operations, those of one kind under one guard as one."""
        plain = tuple(
            Arith(
                op=key[0],
                dtype=key[1],
                count=count,
                guard=key[2],
                accumulator=key[3],
                again=self._again.get(key, 0),
                over=key[4],
            )
            for key, count in self._counts.items()
        )
        return plain + tuple(self._others)

    def _add(
        self, op: str, dtype: str, guard: Optional[Expr], node: Any, source: Optional[str] = None
    ) -> None:
        base, lanes = dialect.lanes_of(dtype)
        over = self._over.of(node)
        names = None if over is None else tuple(sorted(over))
        key = (op, source or base, guard, base if source else None, names)
        self._counts[key] = self._counts.get(key, 0) + lanes
        if self._values is not None:
            done = (*key, self._values.number(node))
            if done in self._done:
                self._again[key] = self._again.get(key, 0) + lanes
            self._done.add(done)

    def _through(self, op: Optional[str], nodes: Iterable[Any], guard: Optional[Expr]) -> bool:
        """Adds the cost of the operands of an operation, None of one that ends their path."""
        path = self._path
        if path is not None:
            self._path = None if op is None else (op, *path)
        data = self._visit_all(nodes, guard)
        self._path = path
        return data

    def visit(self, node: Any, guard: Optional[Expr]) -> bool:
        """Adds the cost of `node`; whether a loaded value takes part in it."""
        if isinstance(node, (bool, int, float, str)) or node is None:
            return False
        name = dialect.kind(node)
        if name in ("Var", "SizeVar"):
            scope = self.reader.scope
            if dialect.key(node) in scope.counters:
                return False
            return holds_data(scope.values.get(dialect.key(node), ""), scope.data)
        if name in dialect.LOADS:
            return self._load(node, guard)
        if name in ARITH or name in COMPARE or name in ("And", "Or"):
            return self._operation(name, node, guard)
        if name == "Not":
            return self.visit(node.a, guard)
        if name == "BitwiseNot":
            data = self.visit(node.a, guard)
            if data:
                self._add("bitwise", dialect.dtype_of(node), guard, node)
            return data
        if name == "Cast":
            return self._cast(node, guard)
        if name == "Select":
            data = self._through("select", [getattr(node, part) for part in SELECT], guard)
            self._add("select", dialect.dtype_of(node), guard, node)
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
        self._through("load", node.indices, guard)
        buffer = self.reader.buffer(dialect.buffer_of(node))
        known = buffer.id in self.reader.scope.scalars
        if known and not self.reader.alone:
            return False
        inside = self.reader.inside(node, guard)
        access = self.reader.access(node, "read", inside)
        self.accesses.append(replace(access, path=self._path))
        if known:
            return False
        return dialect.key(dialect.buffer_of(node)) not in self.reader.scope.counters

    def _operation(self, name: str, node: Any, guard: Optional[Expr], fused: bool = False) -> bool:
        """Adds an operation, which is computed with the sum around it if it is `fused`."""
        dtype = dialect.dtype_of(node.a)
        if fused:
            data = self._visit_all((node.a, node.b), guard)
        else:
            data = self._operands(name, node, dtype, guard)
        if not data and is_integer(dtype):
            if self._in_mask and name in COMPARE:
                self._compare_places(node, guard)
            return False
        if self._is_identity(name, node) or is_fixed(node):
            return True
        if name in ARITH:
            self._add(ARITH[name], dtype, guard, node)
        else:
            self._add("compare" if name in COMPARE else "logic", dtype, guard, node)
        return True

    def _compare_places(self, node: Any, guard: Optional[Expr]) -> None:
        for side in (node.a, node.b):
            if self._over.of(side):
                self._add("place", dialect.dtype_of(side), guard, side)
        self._add("compare", dialect.dtype_of(node.a), guard, node)

    def _masks(self, node: Any, arguments: List[Any]) -> bool:
        """Whether a choice is between registers and constants: who loads does so in a branch."""
        if not self.reader.guarded or is_integer(dialect.dtype_of(node)):
            return False
        buffers = (
            self.reader.buffer(dialect.buffer_of(load))
            for side in arguments[1:]
            for load in loads(side)
        )
        return all(buffer.scope.startswith("local") for buffer in buffers)

    def _is_flag(self, arguments: List[Any]) -> bool:
        """Whether a choice makes a number of a comparison, which is one instruction (FSET)."""
        sides = {self.reader.constant(side) for side in arguments[1:]}
        return sides == {0.0, 1.0} and dialect.kind(arguments[0]) in COMPARE

    def _operands(self, name: str, node: Any, dtype: str, guard: Optional[Expr]) -> bool:
        """Adds the cost of an operation's operands; whether a loaded value takes part in one."""
        both = (node.a, node.b)
        if self._path is None or self._is_identity(name, node):
            return self._visit_all(both, guard)
        product = contracted(name, both, dtype)
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
        constant = self.reader.constant
        return (name == "Mul" and constant(node.a) == 1.0) or (
            name in ("Mul", "Div") and constant(node.b) == 1.0
        )

    def _cast(self, node: Any, guard: Optional[Expr]) -> bool:
        data = self._through("cast", (node.value,), guard)
        source, _ = dialect.lanes_of(dialect.dtype_of(node.value))
        target = dialect.dtype_of(node)
        if not is_fixed(node.value) and (data or not is_integer(target)):
            self._add("cast", target, guard, node, source)
        return data or not is_integer(target)

    def _call(self, node: Any, guard: Optional[Expr]) -> bool:
        full = dialect.op_name(node)
        name = bare(full)
        arguments = list(node.args)
        if name == "if_then_else":
            around, self._in_mask = self._in_mask, self._masks(node, arguments)
            if self._in_mask and not self._is_flag(arguments):
                self._add("select", dialect.dtype_of(node), guard, node)
            chosen = self._through(None, arguments[:1], guard)
            self._in_mask = around
            condition = self.reader.expr(arguments[0])
            taken = self.visit(arguments[1], both_hold(guard, condition))
            other = self.visit(arguments[2], both_hold(guard, ("not", condition)))
            return chosen or taken or other or not is_integer(dialect.dtype_of(node))
        op = ops.scalar(full)
        if op is not None:
            data = self._through(op, arguments, guard)
            dtype = dialect.dtype_of(node)
            if op == "pow" and self.reader.constant(arguments[0]) is not None:
                op = "pow_of_constant"
            if (data or not is_integer(dtype)) and not is_fixed(node):
                for one in op.split():
                    self._add(one, dtype, guard, node)
            return data or not is_integer(dtype)
        handler = ops.lookup(full)
        if handler is not None:
            statement = handler(node, self._context)
            inside = self.reader.inside_call(node, guard, alone=False)
            self._others += where(inside, statement.arith)
            self.accesses += where(inside, statement.accesses)
            return holds_data(self.reader.expr(node), self.reader.scope.data)
        for argument in arguments:
            self.visit(argument, guard)
        if name not in TRANSPARENT:
            self._add("unknown:" + full, dialect.dtype_of(node), guard, node)
            message = "the cost of {!r} is not known; it is left out".format(full)
            self.reader.note(message, function=full)
        return True
