"""The instructions of each statement by the machine code, in place of the estimate.

The compiler's code says how often the warps of a block execute instructions of each pipe for each
line of the source. Those at the line of a loop are of the statements inside, which share them as
they share the estimated ones. Loads and stores stay those of the thread mapping, which knows their
addresses. Statements of which the code depends on data stay estimated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tirlens_worker.facts import CompiledLaunch, ExecutedInstructions, Pipe

from ...tree.compiled import Instructions
from ...tree.context import WARP
from ...tree.node import CostNode, Leaf, LoopCost, leaves_of
from ...tree.table import Table

# The pipes that execute the operations of each unit of the model.
_Pipes: TypeAlias = "frozenset[Pipe]"
_FLOAT: _Pipes = frozenset({"fma", "fp64"})
_SPECIAL: _Pipes = frozenset({"special"})
_INTEGER: _Pipes = frozenset({"integer", "multiply"})
_OF_UNITS = {"fma": _FLOAT, "sfu": _SPECIAL, "cvt": _SPECIAL, "int": _INTEGER}
# Loops whose code is that of the statements inside.
_OVER_ELEMENTS = frozenset({"parallel", "vectorized"})
_CONTROL: _Pipes = frozenset({"multiply", "product_wait", "other"})


def is_of_sizes(machine_code: CompiledLaunch, sizes: Mapping[str, int]) -> bool:
    """Whether the executions of machine code are those for `sizes` of the dynamic dimensions."""
    return all(sizes.get(name, size) == size for name, size in machine_code.sizes.items())


def machine_instructions(
    tree: Sequence[CostNode],
    estimated: Table[Instructions],
    executed: Iterable[ExecutedInstructions],
    blocks: int,
) -> Table[Instructions]:
    """`estimated` with the operations, the integers and the control of the machine code.

    `blocks` are the blocks of the launch, over which the instructions of a block are summed.
    Instructions of lines that the tree does not have are left out.
    """
    lines = statements_by_line(tree)
    bodies = _bodies_by_line(tree)
    found: dict[Leaf, defaultdict[Pipe, float]] = {}
    unknown: set[Leaf] = set()
    for one in executed:
        line = one.span.line if one.span is not None else 0
        if one.warp_executions is None:
            unknown.update(bodies.get(line, ()))
            continue
        leaves = lines.get(line, ())
        shares = shares_of([_estimate(leaf, estimated[leaf], one.pipe) for leaf in leaves])
        for leaf, share in zip(leaves, shares, strict=True):
            number = WARP * blocks * one.warp_executions * share
            found.setdefault(leaf, defaultdict(float))[one.pipe] += number
    rows = list(estimated)
    for leaf in found.keys() - unknown:
        rows[leaf.number] = _replace_instructions(leaf, estimated[leaf], found[leaf])
    return Table(rows)


def statements_by_line(tree: Sequence[CostNode]) -> dict[int, Sequence[Leaf]]:
    """The statements at each line; at the line of a loop or branch alone, those inside."""
    found = {line_of(node): node.leaves() for node in _inner_nodes(tree)}
    own: dict[int, list[Leaf]] = {}
    for leaf in leaves_of(tree):
        own.setdefault(line_of(leaf), []).append(leaf)
    return {**found, **own}


def _bodies_by_line(tree: Sequence[CostNode]) -> dict[int, set[Leaf]]:
    """The statements whose code is at each line: their own, and those of loops over elements."""
    found: dict[int, set[Leaf]] = {}
    for leaf in leaves_of(tree):
        found.setdefault(line_of(leaf), set()).add(leaf)
    for node in _inner_nodes(tree):
        if isinstance(node, LoopCost) and node.source.kind in _OVER_ELEMENTS:
            found.setdefault(line_of(node), set()).update(node.leaves())
    return found


def _inner_nodes(tree: Sequence[CostNode]) -> Iterator[CostNode]:
    """The loops and branches of a tree, each before what is inside."""
    for node in tree:
        if not isinstance(node, Leaf):
            yield node
            yield from _inner_nodes(node.children)


def line_of(node: CostNode) -> int:
    """The line of a node in the document; 0 where it is in another file."""
    return next((site.line for site in node.source.sites if site.file is None), 0)


def _estimate(leaf: Leaf, row: Instructions, pipe: Pipe) -> tuple[float, float]:
    """The estimated instructions of a statement on a pipe, and all of its instructions."""
    operations = _operations(leaf, row)
    on_pipe = sum(number for pipes, number in operations.items() if pipe in pipes)
    return on_pipe, estimated_instructions(leaf, row)


def estimated_instructions(leaf: Leaf, row: Instructions) -> float:
    """The estimated instructions of a statement but for its loads and stores."""
    return sum(_operations(leaf, row).values()) + row.predicate + row.skipped


def _operations(leaf: Leaf, row: Instructions) -> dict[_Pipes, float]:
    """The estimated operations of a statement by the pipes that execute them."""
    found: dict[_Pipes, float] = {}
    for (unit, _), number in row.operations.items():
        pipes = _OF_UNITS.get(unit, frozenset())
        found[pipes] = found.get(pipes, 0.0) + number * WARP / leaf.lanes
    return found


def shares_of(estimates: Sequence[tuple[float, ...]]) -> list[float]:
    """The share of each statement: by the first estimate that is not zero, else equal ones."""
    for parts in zip(*estimates, strict=True):
        total = sum(parts)
        if total:
            return [part / total for part in parts]
    return [1.0 / len(estimates) for _ in estimates]


def _replace_instructions(
    leaf: Leaf, row: Instructions, counts: Mapping[Pipe, float]
) -> Instructions:
    """The instructions of a statement by the code's, which `counts` has for its threads.

    More integers than those of its operations are addresses and predicates. Instructions on a pipe
    that none of its operations use take issue slots alone.
    """
    estimated = _operations(leaf, row)
    scales: dict[_Pipes, float] = {}
    for pipes in (_FLOAT, _SPECIAL, _INTEGER):
        number = sum(counts.get(pipe, 0.0) for pipe in pipes)
        # Operations that the code has at no line of the statement may be at no line at all.
        if number and estimated.get(pipes):
            scales[pipes] = number / estimated[pipes]
    if _INTEGER in scales:
        scales[_INTEGER] = min(scales[_INTEGER], 1.0)
    integers = estimated.get(_INTEGER, 0.0) * scales.get(_INTEGER, 1.0)
    idle = frozenset[Pipe]().union(*(one for one in (_FLOAT, _SPECIAL) if one not in estimated))
    threads = leaf.threads * (leaf.count.executions or 0)
    waits = counts.get("product_wait", 0.0) / threads if threads else 0.0
    return replace(
        row,
        operations={
            (unit, name): number * scales.get(_OF_UNITS.get(unit, frozenset()), 1.0)
            for (unit, name), number in row.operations.items()
        },
        index=0.0,
        predicate=max(counts.get("integer", 0.0) - integers, 0.0),
        skipped=sum(counts.get(pipe, 0.0) for pipe in _CONTROL | idle),
        product_waits=max(waits, 1.0),
    )
