"""Loops whose iterations some threads execute, shared among all threads of the block."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tirlens.advice import rewrite
from tirlens.advice.threads import Threads
from tirlens.model.counting.facts_walk import node_expressions, walk_nodes
from tirlens_counting.expressions import free_variables, linear, simplify, substitute
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Expr,
    KernelFacts,
    Loop,
    Node,
    Shuffle,
    Span,
    Statement,
    Store,
    While,
)

#: Sums, in any order, of the parts that threads have.
COMBINED = frozenset({"add", "min", "max"})
_SEQUENTIAL = ("serial", "unroll")


@dataclass(frozen=True)
class Iterations:
    """The `extent` iterations of `loop`, free to be executed in any order.

    `sums` are the types of the values that they add to.
    """

    loop: Loop
    extent: int
    sums: tuple[str, ...]


def free_iterations(loop: Loop, facts: KernelFacts) -> Iterations | None:
    """The iterations of a loop that different threads can execute, in any order.

    None where an iteration needs what another one computes, other than by sums, minima and maxima.
    """
    if loop.kind not in _SEQUENTIAL or type(loop.extent) is not int or loop.extent < 2:
        return None
    if loop.start != 0 or loop.step != 1:
        return None
    touched: dict[str, list[tuple[Statement, Access]]] = {}
    for node in walk_nodes(loop.body):
        if isinstance(node, Statement):
            if not isinstance(node, Store) or node.per != "thread" or node.signals:
                return None
            for access in node.accesses:
                touched.setdefault(access.buffer, []).append((node, access))
        elif not isinstance(node, Loop) or node.kind not in (*_SEQUENTIAL, "vectorized"):
            return None
    sums: list[str] = []
    dtypes = {buffer.id: buffer.dtype for buffer in facts.buffers}
    for name, accesses in touched.items():
        if all(access.mode == "read" for _, access in accesses):
            continue
        places = {tuple(map(simplify, access.indices)) for _, access in accesses}
        if len(places) != 1 or any(access.mode == "atomic" for _, access in accesses):
            return None
        if any(linear(index)[0].get(loop.var) for index in next(iter(places))):
            continue
        if any(loop.var in free_variables(index) for index in next(iter(places))):
            return None
        if not _is_private(accesses) and not _is_sum(accesses):
            return None
        if _is_sum(accesses):
            sums.append(dtypes[name])
    return Iterations(loop, loop.extent, tuple(sums))


def _is_private(accesses: Sequence[tuple[Statement, Access]]) -> bool:
    """Whether an iteration sets a value before it reads it: those of other ones are not needed."""
    statement, _ = accesses[0]
    return all(access.mode == "write" for one, access in accesses if one is statement)


def _is_sum(accesses: Sequence[tuple[Statement, Access]]) -> bool:
    """Whether one statement adds to a value, or takes the least or the greatest."""
    statement = accesses[0][0]
    if any(one is not statement for one, _ in accesses) or len(accesses) != 2:
        return False
    operations = [one.op for one in statement.arith if not one.index]
    others = {one for one in statement.accesses if one.buffer != accesses[0][1].buffer}
    # A product with the value itself is no sum.
    products = operations.count("mul")
    return operations[-1:] != [] and operations[-1] in COMBINED and products < max(len(others), 1)


@dataclass(frozen=True)
class Part:
    """What a part of the threads of a block executes, or all of them alike.

    `loop` is one of the loops right inside each other that begin with `nest`; `branch` is the
    condition around `nest`, None where all threads execute it. `group` are the numbers of the
    threads that do different work.
    """

    nest: Loop
    iterations: Iterations
    group: tuple[int, ...]
    branch: Branch | None = None


def chain(nest: Loop) -> Iterator[Loop]:
    """The loops right inside each other that begin with `nest`."""
    yield nest
    if len(nest.body) == 1 and isinstance(nest.body[0], Loop):
        yield from chain(nest.body[0])


def with_shared_iterations(facts: KernelFacts, part: Part, threads: Threads) -> KernelFacts | None:
    """`facts`, without names, with the iterations of a loop shared among all threads of a block.

    Neighbouring threads execute neighbouring iterations; sums are combined by shuffles. None where
    the threads of the group are not spaced evenly.
    """
    members = _members(threads, part.group)
    if members is None:
        return None
    loop, extent = part.iterations.loop, part.iterations.extent
    number: Expr = threads.number
    if members.neighbours > 1:
        number = ("//", number, members.neighbours)
    elif members.share < threads.count:
        number = ("%", number, members.share)
    value = simplify(("+", ("*", loop.var, members.share), number))

    def share(node: Loop) -> tuple[Node, ...]:
        inner = _substitute(node.body, {loop.var: value})
        if extent % members.share:
            inner = (Branch(("<", value, extent), inner),)
        trips = math.ceil(extent / members.share)
        shared = replace(loop, extent=trips, body=inner)
        return (shared, *(sum_of_threads(dtype, lanes, loop.sites) for dtype in sums))

    sums = part.iterations.sums
    lanes = min(members.share, threads.warp_size)
    nest = _with_loop_replaced(_substitute((part.nest,), members.work), loop.var, share)
    branch = part.branch
    if branch is None:
        return replace(facts, body=with_part_replaced(facts.body, part.nest, nest))
    place = next(number for number, node in enumerate(branch.then) if node is part.nest)
    before, after = branch.then[:place], branch.then[place + 1 :]
    nodes = (
        *((replace(branch, then=before, orelse=()),) if before else ()),
        *nest,
        *((replace(branch, then=after),) if after or branch.orelse else ()),
    )
    return replace(facts, body=with_part_replaced(facts.body, branch, nodes))


def _substitute(body: tuple[Node, ...], names: Mapping[str, Expr]) -> tuple[Node, ...]:
    return rewrite.changed_nodes(
        body,
        lambda node: rewrite.with_expressions(node, lambda one: simplify(substitute(one, names))),
    )


def _with_loop_replaced(
    body: tuple[Node, ...], name: str, nodes: Callable[[Loop], tuple[Node, ...]]
) -> tuple[Node, ...]:
    (loop,) = body
    assert isinstance(loop, Loop)
    if loop.var == name:
        return nodes(loop)
    return (replace(loop, body=_with_loop_replaced(loop.body, name, nodes)),)


def with_part_replaced(
    body: tuple[Node, ...], part: Node, nodes: tuple[Node, ...]
) -> tuple[Node, ...]:
    """The nodes with others in place of `part`, which is one of them or inside of one."""
    found: list[Node] = []
    for node in body:
        if node is part:
            found.extend(nodes)
        elif isinstance(node, Loop | While):
            found.append(replace(node, body=with_part_replaced(node.body, part, nodes)))
        elif isinstance(node, Branch):
            then = with_part_replaced(node.then, part, nodes)
            orelse = with_part_replaced(node.orelse, part, nodes)
            found.append(replace(node, then=then, orelse=orelse))
        else:
            found.append(node)
    return tuple(found)


@dataclass(frozen=True)
class _Members:
    """How the threads of a block share what some of them did.

    `share` threads do the work of one, whose number `work` puts in place of their own; `neighbours`
    neighbouring threads do that of different ones.
    """

    share: int
    neighbours: int
    work: Mapping[str, Expr]


def _members(threads: Threads, group: tuple[int, ...]) -> _Members | None:
    number = threads.number
    if len(group) == 1:
        values: dict[str, Expr] = {}
        rest = group[0]
        for name, extent in threads.axes:
            values[name], rest = rest % extent, rest // extent
        return _Members(threads.count, 1, values)
    if len(threads.axes) != 1 or threads.count % len(group):
        return None
    ((name, _),) = threads.axes
    steps = {b - a for a, b in itertools.pairwise(group)}
    share = threads.count // len(group)
    if steps == {1}:
        one: Expr = ("+", ("%", number, len(group)), group[0])
        return _Members(share, len(group), {name: one})
    if steps == {share}:
        one = ("+", ("*", ("//", number, share), share), group[0] % share)
        return _Members(share, 1, {name: one})
    return None


def sum_of_threads(dtype: str, lanes: int, sites: tuple[Span, ...]) -> Shuffle:
    """A shuffle and an addition for each power of two of the lanes of a warp."""
    steps = math.ceil(math.log2(lanes))
    return Shuffle(
        label="sum of the threads",
        arith=(Arith("shuffle", dtype, steps), Arith("add", dtype, steps)),
        sites=sites,
    )


def depends_on(nodes: Sequence[Node], names: frozenset[str]) -> bool:
    """Whether an expression of the nodes, or of those inside of them, depends on `names`."""
    return any(
        not free_variables(expr).isdisjoint(names)
        for node in walk_nodes(nodes)
        for expr in node_expressions(node)
    )
