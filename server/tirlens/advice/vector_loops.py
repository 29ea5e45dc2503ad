"""Sequential loops over neighbouring elements, and the same with vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tirlens.advice import rewrite
from tirlens.advice.sharing import free_iterations
from tirlens.model.dtypes import byte_count
from tirlens_counting.expressions import free_variables, linear, simplify, substitute
from tirlens_worker.facts import Expr, KernelFacts, Loop, Node

VECTOR_BYTES = 16


@dataclass(frozen=True)
class VectorLoop:
    """`facts` with vectors of `width` elements in a loop of `extent` iterations."""

    facts: KernelFacts
    loop: Loop
    width: int
    extent: int


def vector_loops(facts: KernelFacts) -> Iterator[VectorLoop]:
    """The loops of single threads that take neighbouring elements one after the other."""
    sizes = {buffer.id: byte_count(1, buffer.dtype) or 0 for buffer in facts.buffers}
    of_global = {buffer.id for buffer in facts.buffers if buffer.scope == "global"}
    for loop, _ in rewrite.loops(facts):
        found = free_iterations(loop, facts)
        if found is None or found.sums:
            continue
        moving = [
            access
            for statement in rewrite.statements_in(loop)
            for access in statement.accesses
            if any(loop.var in free_variables(index) for index in access.indices)
        ]
        steps = [
            [linear(simplify(index))[0].get(loop.var, 0) for index in access.indices]
            for access in moving
        ]
        is_contiguous = all(
            row[-1] == 1 and not any(row[:-1]) and access.lanes == 1 and not access.extents
            for row, access in zip(steps, moving, strict=True)
        )
        largest = max((sizes[access.buffer] for access in moving), default=0)
        if not is_contiguous or not largest or not {one.buffer for one in moving} & of_global:
            continue
        width = VECTOR_BYTES // largest
        while width > 1 and found.extent % width:
            width //= 2
        if width > 1:
            changed = _with_vectors(facts, loop, found.extent, width)
            yield VectorLoop(changed, loop, width, found.extent)


def _with_vectors(facts: KernelFacts, loop: Loop, extent: int, width: int) -> KernelFacts:
    inner = f"{loop.var}_vector"
    names: dict[str, Expr] = {loop.var: ("+", ("*", loop.var, width), inner)}
    body = rewrite.changed_nodes(
        loop.body,
        lambda node: rewrite.with_expressions(node, lambda one: simplify(substitute(one, names))),
    )
    vectors = Loop("vectorized", inner, 0, width, body, sites=loop.sites)

    def edit(node: Node) -> Node:
        if isinstance(node, Loop) and node.var == loop.var:
            return replace(node, extent=extent // width, body=(vectors,))
        return node

    return rewrite.change(facts, edit)
