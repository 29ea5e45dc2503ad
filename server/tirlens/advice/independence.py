"""Independence of the iterations of a CPU kernel's loops, and nests whose order is free."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tirlens.advice import rewrite
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens_counting.expressions import free_variables, linear, simplify, substitute
from tirlens_worker.facts import (
    Access,
    Branch,
    Expr,
    KernelFacts,
    Let,
    Loop,
    Node,
    Statement,
    Store,
    While,
)


def is_independent(loop: Loop) -> bool:
    """Whether no iteration of `loop` touches an element that another one writes.

    True only where a dimension of each written array separates the iterations: its index advances
    by more between two iterations than the inner loops cover.
    """
    if any(isinstance(node, Let | While) for node in walk_nodes(loop.body)):
        return False
    reach = {node.var: node for node in walk_nodes(loop.body) if isinstance(node, Loop)}
    touched: dict[str, list[Access]] = {}
    for statement in rewrite.statements_in(loop):
        if not isinstance(statement, Store) or statement.signals:
            return False
        for access in statement.accesses:
            touched.setdefault(access.buffer, []).append(access)
    return bool(touched) and all(
        all(access.mode == "read" for access in accesses)
        or any(
            _are_distinct([_index(access, position) for access in accesses], loop.var, reach)
            for position in range(len(accesses[0].indices))
        )
        for accesses in touched.values()
    )


def _index(access: Access, place: int) -> Expr | None:
    plain = access.mode in ("read", "write") and access.lanes == 1 and not access.extents
    return access.indices[place] if plain and place < len(access.indices) else None


def _are_distinct(indices: Iterable[Expr | None], var: str, reach: Mapping[str, Loop]) -> bool:
    """Whether `indices` in one iteration of `var` have other values than in any other."""
    steps: set[tuple[int, frozenset[tuple[Expr, int]]]] = set()
    low: list[int] = []
    high: list[int] = []
    for index in indices:
        if index is None:
            return False
        terms, constant = linear(index)
        ends = _ends({atom: by for atom, by in terms.items() if atom in reach}, reach)
        rest = {atom: by for atom, by in terms.items() if atom != var and atom not in reach}
        if ends is None or any(free_variables(atom) & {var, *reach} for atom in rest):
            return False
        steps.add((terms.get(var, 0), frozenset(rest.items())))
        low.append(constant + ends[0])
        high.append(constant + ends[1])
    if len(steps) != 1:
        return False
    ((step, _),) = steps
    return max(high) - min(low) < abs(step)


def _ends(terms: Mapping[Expr, int], reach: Mapping[str, Loop]) -> tuple[int, int] | None:
    """The least and the greatest of a sum over loops; None where one of them has no fixed ends."""
    low = high = 0
    for atom, by in terms.items():
        loop = reach[str(atom)]
        if not (isinstance(loop.start, int) and isinstance(loop.extent, int) and loop.step == 1):
            return None
        first, last = by * loop.start, by * (loop.start + loop.extent - 1)
        low, high = low + min(first, last), high + max(first, last)
    return low, high


@dataclass(frozen=True)
class Nest:
    """Loops right inside each other around one statement, and the ``T.init`` of its reduction."""

    loops: tuple[Loop, ...]
    statement: Statement
    init: Statement | None

    @property
    def reduced(self) -> frozenset[str]:
        """The loops along which the statement adds to the same element."""
        (written,) = (one for one in self.statement.accesses if one.mode == "write")
        names = frozenset[str]().union(*map(free_variables, written.indices))
        return frozenset(loop.var for loop in self.loops) - names


def nests(facts: KernelFacts) -> Iterable[Nest]:
    """The nests of serial loops at the top of `facts` whose order is free.

    It is where the statement's only write goes to the element that it reads back, if any, and
    where each loop has the same bounds in any order.
    """
    for node in facts.body:
        chain: list[Loop] = []
        body = (node,)
        while len(body) == 1 and isinstance(body[0], Loop) and body[0].kind == "serial":
            chain.append(body[0])
            body = body[0].body
        found = _nest(tuple(chain), body)
        if found is not None and len(chain) > 1 and _is_free(found):
            yield found


def _nest(chain: tuple[Loop, ...], body: tuple[object, ...]) -> Nest | None:
    match body:
        case (Statement() as statement,):
            return Nest(chain, statement, None)
        case (
            Branch(kind="init", then=(Statement() as init,), orelse=()),
            Statement() as statement,
        ):
            return Nest(chain, statement, init)
        case _:
            return None


def _is_free(nest: Nest) -> bool:
    names = {loop.var for loop in nest.loops}
    bounds = [end for loop in nest.loops for end in (loop.start, loop.extent, loop.step)]
    if any(free_variables(end) & names for end in bounds):
        return False
    written = [access for access in nest.statement.accesses if access.mode != "read"]
    if not isinstance(nest.statement, Store) or len(written) != 1 or written[0].mode != "write":
        return False
    place = [simplify(index) for index in written[0].indices]
    return all(
        [simplify(index) for index in access.indices] == place and access.lanes == 1
        for access in nest.statement.accesses
        if access.buffer == written[0].buffer
    )


def with_innermost(facts: KernelFacts, nest: Nest, place: int) -> KernelFacts:
    """`facts` with one loop of `nest` inside the others, its ``T.init`` in loops before them."""
    inner = nest.loops[place]
    order = (*(loop for loop in nest.loops if loop is not inner), inner)
    nodes: list[Node] = []
    if nest.init is not None:
        kept = [loop for loop in nest.loops if loop.var not in nest.reduced]
        names: dict[str, Expr] = {loop.var: f"{loop.var}_init" for loop in kept}
        accesses = tuple(
            replace(one, indices=tuple(substitute(index, names) for index in one.indices))
            for one in nest.init.accesses
        )
        renamed = tuple(replace(loop, var=f"{loop.var}_init") for loop in kept)
        nodes.append(_around(renamed, replace(nest.init, accesses=accesses)))
    nodes.append(_around(order, nest.statement))
    body = ((one,) if one is not nest.loops[0] else tuple(nodes) for one in facts.body)
    return replace(facts, body=tuple(itertools.chain.from_iterable(body)))


def _around(loops: Sequence[Loop], node: Node) -> Node:
    for loop in reversed(loops):
        node = replace(loop, body=(node,))
    return node
