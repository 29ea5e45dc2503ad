"""Which lanes of a warp take which elements, and programs in which they take others.

Each rewrite keeps what a block computes and the elements that it accesses: only which thread takes
which of them changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tirlens.advice import rewrite
from tirlens.advice.rule import Requests
from tirlens.model.counting.facts_walk import node_expressions, walk_nodes
from tirlens.model.dtypes import byte_count
from tirlens.model.tree.context import SECTOR_BYTES, LoopContext
from tirlens.source.edits import Change, LoopVariables
from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    operands,
    simplify,
    walk,
)
from tirlens_worker.facts import (
    Access,
    Annotate,
    Atomic,
    Barrier,
    Buffer,
    Copy,
    Evaluate,
    Expr,
    Fill,
    KernelFacts,
    Load,
    Loop,
    Node,
    Statement,
    Store,
)

#: A request that moves at least this many bytes for each byte that its lanes ask for is not
#: coalesced.  Unaligned but contiguous lanes need one sector more, at most 1.25 bytes a byte.
LEAST_EXCESS = 1.5
#: Statements that depend on no other lane of their warp.
_OF_SINGLE_LANES = (Store, Evaluate, Load, Fill, Copy, Barrier, Annotate, Atomic)
_REMAINDERS, _QUOTIENTS = ("%", "truncmod"), ("//", "truncdiv")


@dataclass(frozen=True)
class DistantAccess:
    """An access to global memory whose neighbouring lanes are in different sectors.

    Attributes
    ----------
    statement, access, buffer
        The statement, its access with names replaced by their values, and the array.
    distance_bytes
        The distance between the addresses of neighbouring lanes.
    dimension
        The dimension of the array along which neighbouring lanes go; None where they go along
        several.
    step
        The distance of neighbouring lanes along this dimension in elements.
    excess_bytes
        The bytes of the statement that sectors move and no lane asks for, over the whole launch.
    loops
        The parallel loops around the statement, whose iterations the lanes take; empty in a program
        for single threads.
    """

    statement: Statement
    access: Access
    buffer: Buffer
    distance_bytes: int
    dimension: int | None
    step: int
    excess_bytes: float
    loops: tuple[str, ...]


def distant_accesses(requests: Requests, buffers: Mapping[str, Buffer]) -> Iterator[DistantAccess]:
    """The accesses to global memory that are not coalesced."""
    for leaf, requested in requests:
        for access, request in zip(leaf.source.accesses, requested, strict=False):
            buffer = buffers[access.buffer]
            if request is None or buffer.scope != "global":
                continue
            offsets = request.lane_offsets
            size = byte_count(1, buffer.dtype) or 1
            asked = len(set(offsets)) * request.vector * size
            moved = request.sectors * SECTOR_BYTES
            if len(set(offsets)) < 2 or moved < LEAST_EXCESS * asked:
                continue
            pairs = itertools.pairwise(offsets)
            distance = next((abs(b - a) for a, b in pairs if a != b), 0)
            indices = tuple(leaf.context.resolve(index) for index in access.indices)
            steps = _lane_steps(indices, leaf.context)
            moving = [axis for axis, step in enumerate(steps) if step]
            yield DistantAccess(
                leaf.source,
                replace(access, indices=indices),
                buffer,
                int(distance * size),
                moving[0] if len(moving) == 1 else None,
                steps[moving[0]] if moving else 0,
                (moved / asked - 1) * (leaf.global_bytes or 0),
                _parallel_loops(leaf.context),
            )


def _parallel_loops(context: LoopContext) -> tuple[str, ...]:
    return tuple(loop.var for loop in context.loops if loop.kind == "parallel")


def _lane_steps(indices: Sequence[Expr], context: LoopContext) -> list[int]:
    """How far each index moves from one lane to the next; 0 where that is not known."""
    parallel = [loop for loop in context.loops if loop.kind == "parallel" and loop.extent != 1]
    first = context.first_values
    here: dict[str, Any] = dict(first)
    if parallel:
        lane = parallel[-1].var
        there = {**here, lane: first.get(lane, 0) + 1}
    else:
        warp = context.first_warp_values
        there = {
            name: values[1] if getattr(values, "ndim", 0) and len(values) > 1 else values
            for name, values in warp.items()
        }
    return [_difference(index, here, there) for index in indices]


def _difference(index: Expr, here: Mapping[str, Any], there: Mapping[str, Any]) -> int:
    try:
        return int(evaluate(index, there)) - int(evaluate(index, here))
    except (UnknownValueError, ZeroDivisionError, ValueError, TypeError):
        return 0


@dataclass(frozen=True)
class LaneOrder:
    """`facts` of a program in which other lanes take the elements, and what to write for that."""

    facts: KernelFacts
    action: str
    remedy: str
    change: Change | None = None


def lane_orders(facts: KernelFacts, distant: Sequence[DistantAccess]) -> Iterator[LaneOrder]:
    """Programs in which other lanes take the elements of `distant` accesses."""
    names = {name for one in distant for name in one.loops}
    if names:
        yield from _parallel_orders(facts, names)
    if not all(one.loops for one in distant) and _has_single_lanes(facts):
        exchanged = with_axes_exchanged(facts)
        if exchanged is not None:
            yield LaneOrder(
                exchanged, "lanes along threadIdx.y", "exchange threadIdx.x and threadIdx.y"
            )
        for width in _digit_widths(facts):
            divided = with_threads_divided(facts, width)
            if divided is not None:
                yield _divided_order(facts, divided, width)


def _divided_order(facts: KernelFacts, divided: KernelFacts, width: int) -> LaneOrder:
    loop = rewrite.thread_loop(facts)
    name, count = loop.var if loop else "t", divided.launch.threads[0]
    return LaneOrder(
        divided,
        f"lanes along {name} // {width}",
        f"let neighbouring lanes go along {name} // {width}: "
        f"write {name} // {count} for {name} % {width}, and {name} % {count} for {name} // {width}",
    )


def _has_single_lanes(facts: KernelFacts) -> bool:
    """Whether each statement does the same whichever lanes the threads are."""
    return all(
        isinstance(statement, _OF_SINGLE_LANES)
        and statement.per in ("thread", "block")
        and not any(access.route in ("mma", "tma") for access in statement.accesses)
        for statement, _ in rewrite.statements(facts)
    )


def with_axes_exchanged(facts: KernelFacts) -> KernelFacts | None:
    """`facts` with threadIdx.x and threadIdx.y exchanged; None where either is missing."""
    loops = {loop.tag: loop for loop, _ in rewrite.loops(facts) if loop.kind == "block"}
    count = sum(loop.kind == "block" for loop, _ in rewrite.loops(facts))
    threads = facts.launch.threads
    if set(loops) != {"threadIdx.x", "threadIdx.y"} or count != len(loops) or len(threads) < 2:
        return None
    if 1 in (loops["threadIdx.x"].extent, loops["threadIdx.y"].extent):
        return None
    other = {"threadIdx.x": "threadIdx.y", "threadIdx.y": "threadIdx.x"}

    def edit(node: Node) -> Node:
        if isinstance(node, Loop) and node.tag in other:
            return replace(node, tag=other[node.tag])
        return node

    launch = replace(facts.launch, threads=(threads[1], threads[0], *threads[2:]))
    return rewrite.change(replace(facts, launch=launch), edit)


def _digit_widths(facts: KernelFacts) -> list[int]:
    """The numbers by which the program divides threadIdx.x to get two coordinates."""
    loop = rewrite.thread_loop(facts)
    if loop is None:
        return []
    found: dict[int, None] = {}
    for node in walk_nodes(facts.body):
        for expr in node_expressions(node):
            for part in walk(expr):
                width = _digit_width(part, loop.var)
                if width is not None:
                    found[width] = None
    return list(found)


def _digit_width(expr: Expr, thread: str) -> int | None:
    """The divisor where `expr` is a quotient or a remainder of the thread; else None."""
    if not isinstance(expr, tuple) or len(expr) != 3 or expr[1] != thread:
        return None
    operator, by = expr[0], expr[2]
    if type(by) is not int or by < 1:
        return None
    if operator in _REMAINDERS + _QUOTIENTS:
        return by
    if operator == "&" and not by & (by + 1):
        return by + 1
    return 1 << by if operator == ">>" else None


def with_threads_divided(facts: KernelFacts, width: int) -> KernelFacts | None:
    """`facts` with the threads as two axes: the quotient by `width` is threadIdx.x, which
    neighbouring lanes go along, the remainder threadIdx.y.

    None where the block has another axis, or its threads are no multiple of `width`.
    """
    loop = rewrite.thread_loop(facts)
    blocks = [loop for loop, _ in rewrite.loops(facts) if loop.kind == "block"]
    if loop is None or len(blocks) != 1 or not isinstance(loop.extent, int):
        return None
    if loop.start != 0 or not 1 < width < loop.extent or loop.extent % width:
        return None
    count = loop.extent // width
    high, low = f"{loop.var}_high", f"{loop.var}_low"
    whole: Expr = ("+", ("*", high, width), low)

    def digit(expr: Expr) -> Expr:
        if expr == loop.var:
            return whole
        if not isinstance(expr, tuple) or loop.var not in free_variables(expr):
            return expr
        if _digit_width(expr, loop.var) == width:
            return low if expr[0] in (*_REMAINDERS, "&") else high
        parts = operands(expr)
        return expr[: len(expr) - len(parts)] + tuple(map(digit, parts))

    def edit(node: Node) -> Node:
        if isinstance(node, Loop) and node.var == loop.var:
            inner = replace(node, var=high, extent=count)
            return replace(node, var=low, extent=width, tag="threadIdx.y", body=(inner,))
        return rewrite.with_expressions(node, lambda expr: simplify(digit(expr)))

    launch = replace(facts.launch, threads=(count, width))
    return rewrite.change(replace(facts, launch=launch), edit)


def _parallel_orders(facts: KernelFacts, names: set[str]) -> Iterator[LaneOrder]:
    """Programs with another loop innermost in the parallel nests that have loops of `names`."""
    nests = _nests(facts)
    sizes = dict.fromkeys(
        tuple(loop.extent for loop in nest)
        for nest in nests
        if len(nest) > 1 and names & {loop.var for loop in nest}
    )
    for extents in sizes:
        equal = [nest for nest in nests if tuple(loop.extent for loop in nest) == extents]
        fragments = _fragments(facts, equal)
        if fragments is None:
            continue
        for place in range(len(extents) - 1):
            if extents[place] == 1:
                continue
            order = (*(axis for axis in range(len(extents)) if axis != place), place)
            changed = _with_nests_reordered(facts, equal, order)
            for buffer in fragments:
                changed = rewrite.with_order(changed, buffer, order)
            written = [equal[0][axis].var for axis in order]
            sites = equal[0][0].sites
            lone = len(equal) == 1 and not fragments and sites
            yield LaneOrder(
                changed,
                f"lanes along {written[-1]}",
                f"write the parallel loops in the order {', '.join(written)}"
                + (f", and {_list(fragments)} accordingly" if fragments else ""),
                LoopVariables(sites[0], order) if lone else None,
            )


def _list(buffers: Sequence[Buffer]) -> str:
    return " and ".join(f"{buffer.name}" for buffer in buffers)


def _nests(facts: KernelFacts) -> list[tuple[Loop, ...]]:
    """The parallel loops that are right inside each other, outermost first."""
    found: list[tuple[Loop, ...]] = []
    for loop, path in rewrite.loops(facts):
        if loop.kind != "parallel" or (path and path[-1].kind == "parallel"):
            continue
        chain = [loop]
        while len(chain[-1].body) == 1:
            inner = chain[-1].body[0]
            if not isinstance(inner, Loop) or inner.kind != "parallel":
                break
            chain.append(inner)
        found.append(tuple(chain))
    return found


def _fragments(facts: KernelFacts, nests: Sequence[tuple[Loop, ...]]) -> list[Buffer] | None:
    """The fragments whose elements are those of `nests`; None where others use them otherwise.

    The layout of a fragment follows the loops that access it: they are changed together.
    """
    inside = {
        id(statement): tuple(loop.var for loop in nest)
        for nest in nests
        for statement in rewrite.statements_in(nest[0])
    }
    buffers = {b.id: b for b in facts.buffers if b.scope == "local.fragment"}
    used = {
        access.buffer
        for statement, _ in rewrite.statements(facts)
        if id(statement) in inside
        for access in statement.accesses
        if access.buffer in buffers
    }
    for statement, _ in rewrite.statements(facts):
        for access in statement.accesses:
            if access.buffer not in used or isinstance(statement, Fill):
                continue
            if id(statement) not in inside or access.indices != inside[id(statement)]:
                return None
    return [buffers[name] for name in sorted(used)]


def _with_nests_reordered(
    facts: KernelFacts, nests: Sequence[tuple[Loop, ...]], order: Sequence[int]
) -> KernelFacts:
    """`facts` with the loops of each nest in the order of these places."""
    headers = {
        loop.var: nest[place] for nest in nests for loop, place in zip(nest, order, strict=True)
    }

    def edit(node: Node) -> Node:
        if isinstance(node, Loop) and node.var in headers:
            return replace(headers[node.var], body=node.body)
        return node

    return rewrite.change(facts, edit)
