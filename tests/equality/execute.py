"""Executes a PrimFunc of either framework, statement by statement, for all its blocks and threads.

This is the reference that TIRLens is checked against, and it shares nothing with it.  It runs in
the framework's own process and follows the definition of the language: a block binds its variables
and runs where its predicate holds, ``T.init`` runs at the first step of a reduction, what stands in
tilelang's kernel body is run by each thread, its tile operations and parallel loops once by a
block's threads together.  Iterations are executed many at a time (`points`) where they do not
depend on each other; loops that change a number which steers the program go one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equality import language as ir
from equality.blocks import Blocks, least_points
from equality.language import DataError, RefusedError, TooBigError
from equality.memory import may_hold_numbers
from equality.points import UNKNOWN, Points
from equality.requests import Requests
from equality.tally import Tally

CONTINUE, BREAK, RETURN = 1, 2, 3
_PARALLEL, _VECTORIZED, _BINDING = 1, 2, 4


def jump_of(node: Any) -> int:
    """Which jump a statement is, 0 for none."""
    name = ir.kind(node)
    if name == "Evaluate" and ir.kind(node.value) == "Call":
        name = ir.called(node.value)
    return {
        "Continue": CONTINUE, "continue_loop": CONTINUE, "Break": BREAK, "break_loop": BREAK,
        "tl.loop_break": BREAK, "Return": RETURN, "thread_return": RETURN,
    }.get(name, 0)  # fmt: skip


class Executor(Blocks):
    """One run of one function with its free sizes in `sizes`."""

    def __init__(
        self,
        func: Any,
        sizes: dict[str, int],
        budget: int,
        tiles: bool,
        choices: dict[int, int | None] | None = None,
    ) -> None:
        """With `choices`, which grow, data may decide what is executed.

        They say of branches with two sides which one is: 0, 1 or, if None, both.
        """
        self.func = func
        self.assume = choices is not None
        self.choices = {} if choices is None else choices
        self.sizes = sizes
        self.tiles = tiles
        self.tally = Tally(budget)
        self.requests = Requests(planned=tiles)
        self.memory = {}
        self.constants = {}
        self.cluster = []
        self.threads = 1
        self.reducers = {}
        self.free: dict[int, int] = {}
        self.owners = {}
        self.views = {}
        self.holders: dict[int, Any] = {}
        self.mentioned: dict[int, frozenset] = {}
        self.derived: set = set()
        self.cooperative = 0
        self._prepare()

    def run(self) -> dict[str, Any]:
        """All counts of the run.

        Raises:
            RefusedError: the function has something that is not known here.
            DataError: what it does depends on the contents of its arrays.
            TooBigError: it does more than the budget allows.
        """
        if not self.jumps and least_points(self.func.body) > self.tally.budget:
            raise TooBigError("more than the budget allows")
        start = Points(1, {}, (), frozenset())
        with np.errstate(all="ignore"):
            for part in self.exec_scopes(start):
                self.statement(self.func.body, part)
        return {**self.tally.result(), "requests": self.requests.result()}

    def _prepare(self) -> None:
        """What must be known of the whole function before it runs."""
        nodes = list(ir.everything(self.func.body))
        self.nodes = nodes
        stored = [node for node in nodes if ir.kind(node) in ("BufferStore", "TensorStore")]
        self.small = {
            ir.key(ir.buffer_of(node)) for node in stored if may_hold_numbers(ir.buffer_of(node))
        }
        self._loop_variables = {ir.key(node.loop_var) for node in nodes if ir.kind(node) == "For"}
        for param in self.func.params:
            self.view(_parameter(self.func, param))
        self.jumps = any(jump_of(node) for node in nodes)

    # -- statements -----------------------------------------------------------------------------

    def statement(self, node: Any, at: Points) -> np.ndarray | None:
        """Runs `node`; for each point how it left, None if all went on."""
        if node is None or at.size == 0:
            return None
        method = getattr(self, "_run_" + ir.kind(node), None)
        if method is None:
            raise RefusedError(f"the statement {ir.kind(node)}")
        return method(node, at)

    def _run_SeqStmt(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        left: np.ndarray | None = None
        rows = np.arange(at.size)
        for part in node.seq:
            out = self.statement(part, at)
            if out is None or not out.any():
                continue
            if left is None:
                left = np.zeros(at.size, dtype=np.int8)
            left[rows] = out
            rows, at = rows[out == 0], at.take(out == 0)
        return left

    def _run_For(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        variable = ir.key(node.loop_var)
        binding = node.thread_binding
        if int(node.kind) == _BINDING and binding is not None:
            return self.bound(str(binding.thread_tag), variable, node.extent, node.body, at)
        together = self.tiles and int(node.kind) == _PARALLEL
        if together and not self.cooperative:
            return self._by_block(node, at)
        left: np.ndarray | None = None
        for part, rows in self._asked(at, node.min, node.extent):
            start, extent = self.known(node.min, part), self.known(node.extent, part)
            step = getattr(node, "step", None)
            stride = 1 if step is None else self.known(step, part)
            if not isinstance(stride, int) or stride != 1:
                extent = -(-np.asarray(extent) // stride)
            # The iterations of a vector are executed at once, but for those that count turns.
            vectorized = int(node.kind) == _VECTORIZED
            scalar = not vectorized or _turns(node.body)
            with self.requests.loop(variable, vectorized, self.mentions(node.extent)):
                out = None
                if scalar and self._in_order(node.body):
                    out = self._one_by_one(node.body, part, variable, start, extent, stride)
                else:
                    for inner in part.expanded(variable, start, extent, stride):
                        self.tally.work(inner.size)
                        self.statement(node.body, inner)
            left = self._merge(left, out, rows, at)
        return left

    def _by_block(self, node: Any, at: Points) -> None:
        """A parallel loop of tilelang: its iterations are shared out to the threads here."""
        self.cooperative += 1
        try:
            self._run_For(node, at.by_block().child())
        finally:
            self.cooperative -= 1

    def _in_order(self, body: Any) -> bool:
        """Whether iterations must follow each other."""
        allocated = {
            ir.key(part)
            for node in ir.everything(body)
            for part in (getattr(node, "buffer", None), *getattr(node, "alloc_buffers", ()))
            if ir.kind(node) in ("AllocBuffer", "SBlock") and part is not None
        }
        for node in ir.everything(body):
            if jump_of(node) in (BREAK, RETURN, CONTINUE):
                return True
            if ir.kind(node) in ("BufferStore", "TensorStore"):
                buffer = ir.key(ir.buffer_of(node))
                if buffer in self.small and buffer not in allocated:
                    return True
        return False

    def _one_by_one(
        self, body: Any, at: Points, variable: int, start: Any, extent: Any, stride: Any
    ) -> np.ndarray | None:
        returned = np.zeros(at.size, dtype=np.int8)
        running = np.ones(at.size, dtype=bool)
        extents, starts, strides = at.full(extent), at.full(start), at.full(stride)
        position = 0
        while True:
            running &= position < extents
            rows = np.flatnonzero(running)
            if not len(rows):
                return returned if returned.any() else None
            inner = at.take(rows)
            inner.columns[variable] = starts[rows] + position * strides[rows]
            self.tally.work(inner.size)
            out = self.statement(body, inner)
            if out is not None:
                returned[rows[out == RETURN]] = RETURN
                running[rows[(out == BREAK) | (out == RETURN)]] = False
            position += 1

    def _run_While(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        left: np.ndarray | None = None
        for part, rows in self._asked(at, node.condition):
            out = np.zeros(part.size, dtype=np.int8)
            running = np.arange(part.size)
            while len(running):
                inner = part.take(running)
                mask = inner.full(self.known(node.condition, inner)).astype(bool)
                running, inner = running[mask], inner.take(mask)
                if not len(running):
                    break
                self.tally.work(inner.size)
                gone = self.statement(node.body, inner)
                if gone is not None:
                    out[running[gone == RETURN]] = RETURN
                    running = running[(gone != BREAK) & (gone != RETURN)]
            left = self._merge(left, out if out.any() else None, rows, at)
        return left

    def _run_IfThenElse(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        left: np.ndarray | None = None
        for part, rows in self._asked(at, node.condition):
            yes, no = self.holds(node.condition, part, self.times(part))
            if node.else_case is not None and (yes & no).any():
                chosen = self.choices.setdefault(ir.key(node), None)
                yes, no = yes & (chosen != 1), no & (chosen != 0)
            out = np.zeros(part.size, dtype=np.int8)
            for body, chosen in ((node.then_case, yes), (node.else_case, no)):
                if body is not None and chosen.any():
                    with self.chosen_by((node.condition,), part):
                        gone = self.statement(body, part.take(chosen))
                    if gone is not None and not (yes & no).any():
                        out[chosen] = gone
            left = self._merge(left, out if out.any() else None, rows, at)
        return left

    def _asked(self, at: Points, *nodes: Any) -> Any:
        """`at` with its threads told apart if one of `nodes` asks for them, and whose points."""
        if not at.waiting or not any(self.asks(node, at) for node in nodes):
            yield at.child(), None
            return
        if self.small or self.jumps:
            raise RefusedError("threads are told apart after they were not")
        for part in at.with_threads():
            yield part, False

    def _merge(self, left: Any, out: Any, rows: Any, at: Points) -> Any:
        if out is None or not out.any():
            return left
        if rows is False:
            raise RefusedError("some threads of a block leave")
        return out

    def _run_Bind(self, node: Any, at: Points) -> None:  # noqa: N802
        variable = ir.key(node.var)
        constant = self._constant(node.value)
        if constant is not None:
            self.constants[variable] = constant
        if self._is_early(node.value, at):
            self.derived.add(variable)
            at.columns[variable] = node.value
            return
        if self.asks(node.value, at):
            # Evaluated again for each thread by those who ask, at no further cost.
            for part, _ in self._asked(at, node.value):
                self.value(node.value, part, self.times(part))
            self.derived.add(variable)
            at.columns[variable] = node.value
            return
        at.columns[variable], data = self.value(node.value, at, self.times(at))
        self.derive(variable, node.value, data, at)

    def _is_early(self, value: Any, at: Points) -> bool:
        """Whether something is named before its variables have values, as tilelang does."""
        if ir.kind(value) == "Call" and ir.called(value) == "tl.launch_thread_idx":
            return True
        return any(
            name in self._loop_variables and name not in at.columns for name in self.mentions(value)
        )

    def _run_LetStmt(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        self._run_Bind(node, at)
        return self.statement(node.body, at)

    def _run_AttrStmt(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        key = str(node.attr_key)
        if key in ("thread_extent", "virtual_thread"):
            tag = str(node.node.thread_tag) if key == "thread_extent" else "vthread"
            return self.bound(tag, ir.key(node.node.var), node.value, node.body, at)
        if key == "reduce_scope":
            self.combiner = node.node
        return self.statement(node.body, at)

    def _run_AllocBuffer(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        self.view(node.buffer)
        self.allocate(node.buffer, at)
        return self.statement(getattr(node, "body", None), at)

    def _run_DeclBuffer(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        self.view(node.buffer, getattr(node, "data", None))
        return self.statement(getattr(node, "body", None), at)

    def _run_Allocate(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        return self.statement(node.body, at)

    def _run_AssertStmt(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        return self.statement(getattr(node, "body", None), at)

    def _run_BufferStore(self, node: Any, at: Points) -> None:  # noqa: N802
        buffer = ir.buffer_of(node)
        for part, _ in self._asked(at, node.value, *node.indices):
            if self.tiles and ir.scope_of(buffer) == "global":
                # tilelang guards what it stores outside an array (LegalizeSafeMemoryAccess).
                part = part.take(self.inside(buffer, node.indices, part))
            times = self.times(part)
            with self.chosen_by(self.choosers(node.value), part):
                value, _ = self.value(node.value, part, times)
                if ir.key(buffer) in self.small:
                    self.remember(buffer, node.indices, value, part)
                else:
                    self.touch(node, "write", part, times)

    _run_TensorStore = _run_BufferStore  # noqa: N815

    def _run_Evaluate(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        jump = jump_of(node)
        if jump:
            return self._run_Break(node, at)
        call = node.value
        if ir.kind(call) != "Call":
            if ir.constant(call) is None:
                for part, _ in self._asked(at, call):
                    self.value(call, part, self.times(part))
            return None
        if self.is_cooperative(call):
            for part, _ in self._asked(at, call):
                self.tile(ir.called(call), call, part.by_block(), 1)
            return None
        for part, _ in self._asked(at, call):
            self.value(call, part, self.times(part))
        return None

    def _run_Break(self, node: Any, at: Points) -> np.ndarray:  # noqa: N802
        value = getattr(node, "value", None)
        if ir.kind(node) == "Return" and value is not None:
            self.value(value, at, self.times(at))
        return np.full(at.size, jump_of(node), dtype=np.int8)

    _run_Continue = _run_Return = _run_Break  # noqa: N815

    def times(self, at: Points) -> int:
        return 1 if self.cooperative else at.alike

    # -- values ---------------------------------------------------------------------------------

    def variable(self, node: Any, at: Points) -> tuple[Any, bool]:
        name = ir.key(node)
        if name not in at.columns:
            if name not in self.free:
                if not ir.integral(ir.dtype(node)):
                    return UNKNOWN, False
                if str(node.name) not in self.sizes:
                    raise RefusedError(f"no size for {node.name}")
                self.free[name] = self.sizes[str(node.name)]
            return self.free[name], False
        found = at.columns[name]
        if isinstance(found, tuple):
            return at.columns.get(found[1], 0), False
        if found is UNKNOWN or isinstance(found, (int, np.integer, np.ndarray)):
            return found, ("data", name) in at.columns or found is UNKNOWN
        # A binding whose value differs between threads.
        return self.value(found, at, 0)


def _turns(body: Any) -> bool:
    return any(ir.kind(node) == "While" for node in ir.everything(body))


def _parameter(func: Any, param: Any) -> Any:
    buffers = getattr(func, "buffer_map", None)
    if buffers is not None and param in buffers:
        return buffers[param]
    return param if ir.is_buffer(param) else None


__all__ = ["DataError", "Executor"]
