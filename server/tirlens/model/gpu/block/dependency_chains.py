"""Dependency chains of straight-line code, and the time of such code with its parts interleaved.

The compiler and the warp schedulers put independent instructions between dependent ones.  A thread
therefore waits along the longest dependency chain, not for every statement: code that its author
unrolled takes no longer than one iteration, as far as the units have room.  The time of the units
is that of the busiest one, not the sum over the statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tirlens_worker.facts import Evaluate, Loop, Statement, While

from ...tree.context import CONCURRENT_KINDS, GRID_KINDS
from ...tree.node import CostNode, Leaf
from ...tree.timed_node import TimedNode
from ...tree.traits import SHARED, STRAIGHT, Register, every, some
from .throughput import BlockContext, busy_time

# Loops without sequential iterations.
_NOT_SEQUENTIAL = GRID_KINDS | CONCURRENT_KINDS | {"unroll"}


def is_thread_code(node: CostNode) -> bool:
    """Whether a node is code that each thread executes by itself, without a barrier."""
    return every(node, STRAIGHT)


def interleave(timed: Sequence[TimedNode], context: BlockContext) -> tuple[TimedNode, ...]:
    """The times of siblings, with those of consecutive thread code interleaved.

    A barrier ends such a run of code, as does a read of a shared array that the run writes to.  The
    compiler has interleaved machine code.
    """
    if context.compiled.code_clocks is not None:
        return tuple(timed)
    out: list[TimedNode] = []
    run: list[TimedNode] = []
    written: set[str] = set()
    for part in timed:
        node = part.node
        is_code = node is not None and is_thread_code(node)
        if node is None or not is_code or (written and written & set(read_arrays(node, "shared"))):
            out.extend(_interleave_run(run, context))
            run, written = [], set()
        if node is None or not is_code:
            out.append(part)
        else:
            run.append(part)
            if some(node, SHARED):
                written.update(written_arrays(node, "shared"))
    return (*out, *_interleave_run(run, context))


def _interleave_run(run: Sequence[TimedNode], context: BlockContext) -> tuple[TimedNode, ...]:
    def wait_s(part: TimedNode) -> float:
        assert isinstance(part.node, Leaf)
        return max(part.own_s - busy_time(part.node, context).longest_s, 0.0)

    statements = [part for one in run for part in _statements(one)]
    waits_s = sum(map(wait_s, statements))
    chain_s = longest_chain_s(run, wait_s) if waits_s else 0.0
    chains = waits_s / chain_s if chain_s else 1.0
    units: dict[str, float] = {}
    serial_s = 0.0
    for part in statements:
        assert isinstance(part.node, Leaf)
        serial_s += busy_time(part.node, context).longest_s
        for name, busy_s in busy_time(part.node, context, chains).unit_s.items():
            units[name] = units.get(name, 0.0) + busy_s
    busy_share = max(units.values()) / serial_s if serial_s else 1.0
    if busy_share == 1.0 and chains == 1.0:
        return tuple(run)
    return tuple(_scale_parts(part, busy_share, 1 / chains, context) for part in run)


def _statements(part: TimedNode) -> Iterator[TimedNode]:
    if part.node is not None and isinstance(part.node, Leaf):
        yield part
    for child in part.children:
        yield from _statements(child)


def _scale_parts(
    part: TimedNode, busy_share: float, wait_share: float, context: BlockContext
) -> TimedNode:
    """A node with these shares of its busy time and of its waits."""
    own_s = part.own_s
    if part.node is not None and isinstance(part.node, Leaf):
        busy_s = min(busy_time(part.node, context).longest_s, own_s)
        own_s = busy_share * busy_s + wait_share * (own_s - busy_s)
    children = tuple(
        _scale_parts(child, busy_share, wait_share, context) for child in part.children
    )
    return TimedNode(part.node, own_s, children)


def read_arrays(node: CostNode, scope: str) -> Iterator[str]:
    """The arrays of a scope, or of scopes that begin so, that the statements in a node read."""
    for leaf in node.leaves():
        for entry in leaf.count.accesses:
            if entry.access.mode == "read" and entry.buffer.scope.startswith(scope):
                yield entry.access.buffer


def written_arrays(node: CostNode, scope: str) -> Iterator[str]:
    """The arrays of a scope, or of scopes that begin so, that the statements in a node write."""
    for leaf in node.leaves():
        for entry in leaf.count.accesses:
            if entry.access.mode != "read" and entry.buffer.scope.startswith(scope):
                yield entry.access.buffer


def longest_chain_s(parts: Sequence[TimedNode], wait_s: Callable[[TimedNode], float]) -> float:
    """Seconds of the longest dependency chain through statements that take `wait_s` each.

    A sequential loop ends before the code after it begins.
    """
    values = _ValueTimes()
    begin_s = end_s = load_end_s = name_end_s = 0.0
    for part in _statements_and_loops(parts):
        node = part.node
        if node is None:
            continue
        if isinstance(node, Leaf):
            reads, writes = node.registers
            ready_s = max(begin_s, values.latest_s(reads))
            if node.read_bytes:
                # Loads in a row already wait together.
                part_end_s = load_end_s = max(ready_s, load_end_s) + wait_s(part)
                if isinstance(node.source, Evaluate) and not writes:
                    # A value without a register of its own is an operand of the code after it.
                    name_end_s = part_end_s
            else:
                part_end_s = max(ready_s, name_end_s) + wait_s(part)
        else:
            reads, writes = (), ()
            part_end_s = begin_s = end_s + longest_chain_s(part.children, wait_s)
        values.write(writes, part_end_s)
        end_s = max(end_s, part_end_s)
    return end_s


def _statements_and_loops(parts: Iterable[TimedNode]) -> Iterator[TimedNode]:
    """Statements and sequential loops, in program order."""
    for part in parts:
        source = None if part.node is None else part.node.source
        is_loop = isinstance(source, Loop) and source.kind not in _NOT_SEQUENTIAL
        if is_loop or isinstance(source, (While, Statement)):
            yield part
        else:
            yield from _statements_and_loops(part.children)


class _ValueTimes:
    """When the values in registers and tiles are computed, by array and constant index.

    Index None is an index that is not a constant.
    """

    def __init__(self) -> None:
        self._ends_s: dict[str, dict[int | None, float]] = {}

    def latest_s(self, reads: Iterable[Register]) -> float:
        """When all values that a statement reads are computed."""
        latest_s = 0.0
        for name, index in reads:
            ends_s = self._ends_s.get(name)
            if ends_s is None:
                continue
            if index is None:
                latest_s = max(latest_s, *ends_s.values())
            else:
                latest_s = max(latest_s, ends_s.get(index, 0.0), ends_s.get(None, 0.0))
        return latest_s

    def write(self, writes: Iterable[Register], end_s: float) -> None:
        """Record that a statement writes values at `end_s`."""
        for name, index in writes:
            ends_s = self._ends_s.setdefault(name, {})
            # A new value does not depend on the old one.  Where the index is not known, the other
            # values remain.
            ends_s[index] = end_s if index is not None else max(end_s, ends_s.get(None, 0.0))
