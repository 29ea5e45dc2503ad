"""Which lanes of a warp take which elements, and programs in which they take others.

Each rewrite keeps what a block computes and the elements that it accesses: only which thread takes
which of them changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tirlens.advice import rewrite
from tirlens.advice.distant_accesses import DistantAccess
from tirlens.advice.sharing import free_iterations
from tirlens.advice.threads import with_names_replaced
from tirlens.model.counting.facts_walk import node_expressions, walk_nodes
from tirlens.source.edits import Change, LoopVariables
from tirlens_counting.expressions import (
    free_variables,
    operands,
    simplify,
    substitute,
    walk,
)
from tirlens_worker.facts import (
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
    Store,
)

#: Statements that depend on no other lane of their warp.
_OF_SINGLE_LANES = (Store, Evaluate, Load, Fill, Copy, Barrier, Annotate, Atomic)
_REMAINDERS, _QUOTIENTS = ("%", "truncmod"), ("//", "truncdiv")


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

        yield from _loop_orders(facts, distant)


def _loop_orders(facts: KernelFacts, distant: Sequence[DistantAccess]) -> Iterator[LaneOrder]:
    """Programs in which the lanes go along a sequential loop, and the loop along the threads."""
    facts = with_names_replaced(facts)
    threads = rewrite.thread_loop(facts)
    sites = {one.statement.sites for one in distant}
    if threads is None or type(threads.extent) is not int or threads.start != 0:
        return
    if sum(loop.kind == "block" and loop.extent != 1 for loop, _ in rewrite.loops(facts)) != 1:
        return
    for loop, _ in rewrite.loops(facts):
        if not any(one.sites in sites for one in rewrite.statements_in(loop)):
            continue
        found = free_iterations(loop, facts)
        if found is not None and not found.sums and not _reads_own_values(loop, facts):
            yield from _exchanged_with_threads(facts, loop, found.extent, threads, threads.extent)


def _reads_own_values(loop: Loop, facts: KernelFacts) -> bool:
    """Whether the iterations read what their thread has computed before the loop."""
    scopes = {buffer.id: buffer.scope for buffer in facts.buffers}
    inside = list(rewrite.statements_in(loop))
    written = {one.buffer for node in inside for one in node.accesses if one.mode != "read"}
    return any(
        scopes[access.buffer].startswith("local") and access.buffer not in written
        for node in inside
        for access in node.accesses
    )


def _exchanged_with_threads(
    facts: KernelFacts, loop: Loop, extent: int, threads: Loop, count: int
) -> Iterator[LaneOrder]:
    t, k = threads.var, loop.var
    values: dict[str, Expr]
    if extent % count == 0:
        row = f"{k}_row"
        values = {t: row, k: simplify(("+", ("*", k, count), t))}
        trips: tuple[tuple[str, int], ...] = ((row, count), (k, extent // count))
        remedy = f"loop over the {count} values of {t}, and write {k} * {count} + {t} for {k}"
    elif count % extent == 0:
        rows = count // extent
        values = {t: simplify(("+", ("*", k, rows), ("//", t, extent))), k: ("%", t, extent)}
        trips = ((k, extent),)
        remedy = f"write {k} * {rows} + {t} // {extent} for {t}, and {t} % {extent} for {k}"
    else:
        return

    def of_body(node: Node) -> Node:
        return rewrite.with_expressions(node, lambda one: simplify(substitute(one, values)))

    def edit(node: Node) -> Node:
        if not isinstance(node, Loop) or node.var != k:
            return node
        body = rewrite.changed_nodes(node.body, of_body)
        for name, number in reversed(trips):
            body = (replace(node, var=name, extent=number, body=body),)
        (nest,) = body
        return nest

    yield LaneOrder(
        rewrite.change(facts, edit),
        f"lanes along {k}",
        f"let neighbouring lanes go along {k}: {remedy}",
    )


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
        for position in range(len(extents) - 1):
            if extents[position] == 1:
                continue
            order = (*(axis for axis in range(len(extents)) if axis != position), position)
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
