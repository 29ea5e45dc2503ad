"""Kernels with other sizes of their tiles.

A loop over tiles, of blocks or sequential, goes along one dimension of its tiles. The boxes that
copies take along it, the arrays and loops that have the elements of such a box, and the extents of
products and reductions over them have one size, and are changed together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tirlens.advice import rewrite
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens.model.tree.context import THREADS
from tirlens_counting.expressions import free_variables, from_linear, linear, simplify
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
    Gemm,
    KernelFacts,
    Load,
    Loop,
    Map,
    Node,
    Reduce,
    Statement,
    Store,
)

BLOCKS = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
#: Operations on boxes whose dimensions correspond in their order.
_ELEMENTWISE = (Copy, Fill, Map, Atomic)
_OF_ELEMENTS = (Store, Evaluate, Load, Barrier, Annotate)
_OVER_TILES = ("grid", "serial", "pipelined")


class _RigidError(Exception):
    """The size of a tile cannot be changed alone."""


def tiled_loops(facts: KernelFacts) -> Iterator[Loop]:
    """The loops over tiles: of blocks, and sequential ones with an operation on tiles."""
    for loop, _ in rewrite.loops(facts):
        if loop.kind not in _OVER_TILES or type(loop.extent) is not int or loop.start != 0:
            continue
        if loop.kind == "grid" or any(isinstance(node, Copy | Gemm) for node in loop.body):
            yield loop


def with_tile(facts: KernelFacts, outer: Loop, factor: Fraction) -> KernelFacts | None:
    """`facts`, without names, with tiles along `outer` that are larger by `factor`.

    None where the tiles along a loop have no size of their own, where it is no multiple, or where
    an operation depends on it in another way.
    """
    try:
        return _Resizing(facts, outer, factor).facts()
    except _RigidError:
        return None


@dataclass(frozen=True)
class _Box:
    """The boxes of a statement along a dimension of its access `number`."""

    statement: int
    number: int
    dimension: int


class _Resizing:
    """The change of the tiles along one loop.

    `loops`, `dimensions` and `boxes` are what has the size of the tiles: variables of loops,
    dimensions of arrays on the chip, and extents of the boxes of accesses.
    """

    def __init__(self, facts: KernelFacts, outer: Loop, factor: Fraction) -> None:
        self.source, self.outer, self.factor = facts, outer, factor
        self.buffers = {buffer.id: buffer for buffer in facts.buffers}
        self.statements = [one for one in walk_nodes(facts.body) if isinstance(one, Statement)]
        self.extents = {
            loop.var: loop.extent for loop, _ in rewrite.loops(facts) if loop.kind != "grid"
        }
        self.loops: set[str] = set()
        self.dimensions: set[tuple[str, int]] = set()
        self.boxes: set[_Box] = set()

    def facts(self) -> KernelFacts:
        for number, statement in enumerate(self.statements):
            for position, access in enumerate(statement.accesses):
                for dimension, index in enumerate(access.indices):
                    if self.outer.var in free_variables(index):
                        self._add_tile(_Box(number, position, dimension), access, index)
        if not (self.loops or self.boxes):
            raise _RigidError
        self._propagate()
        return self._change()

    def _add_tile(self, box: _Box, access: Access, index: Expr) -> None:
        """What has the size of the tile along `index`."""
        step = linear(simplify(index))[0].get(self.outer.var, 0)
        if abs(step) < 2:
            raise _RigidError
        if access.extents:
            if access.extents[box.dimension] != step:
                raise _RigidError
            self.boxes.add(box)
            return
        self.loops.add(self._loop_of(index, step))

    def _loop_of(self, index: Expr, size: int) -> str:
        """The loop over the elements of an index that go along a tile of a size."""
        for name, factor in linear(simplify(index))[0].items():
            extent = self.extents.get(name) if isinstance(name, str) else None
            if isinstance(extent, int) and factor * extent == size and name != self.outer.var:
                return str(name)
        raise _RigidError

    def _propagate(self) -> None:
        """Find all that has the size of the tiles, from what has it."""
        known = 0
        while known < (found := len(self.loops) + len(self.dimensions) + len(self.boxes)):
            known = found
            for number, statement in enumerate(self.statements):
                for position, access in enumerate(statement.accesses):
                    self._propagate_access(number, position, access)
                self._propagate_statement(number, statement)

    def _propagate_access(self, number: int, place: int, access: Access) -> None:
        on_chip = self.buffers[access.buffer].scope != "global"
        shape = self.buffers[access.buffer].shape
        for dimension, index in enumerate(access.indices):
            box, slot = _Box(number, place, dimension), (access.buffer, dimension)
            names = free_variables(index)
            if access.extents:
                whole = access.extents[dimension] == shape[dimension]
                if on_chip and box in self.boxes:
                    if not whole:
                        raise _RigidError
                    self.dimensions.add(slot)
                elif slot in self.dimensions:
                    if not whole:
                        raise _RigidError
                    self.boxes.add(box)
            elif on_chip and names & self.loops:
                self.dimensions.add(slot)
            elif on_chip and slot in self.dimensions and names:
                size = shape[dimension]
                if not isinstance(size, int):
                    raise _RigidError
                self.loops.add(self._loop_of(index, size))
            elif not on_chip and names & self.loops and self.outer.var not in names:
                # Elements of another dimension of the array than that of the tiles.
                raise _RigidError

    def _propagate_statement(self, number: int, statement: Statement) -> None:
        own = [box for box in self.boxes if box.statement == number]
        if not own:
            return
        for group in _corresponding(number, statement):
            if any(box in self.boxes for box in group):
                self.boxes.update(group)
        if not all(any(box in group for group in _corresponding(number, statement)) for box in own):
            raise _RigidError

    def _change(self) -> KernelFacts:
        numbers = {id(statement): position for position, statement in enumerate(self.statements)}

        def edit(node: Node) -> Node:
            number = numbers.get(id(node))
            if isinstance(node, Statement):
                if number is None:
                    raise _RigidError
                node = self._statement(number, node)
            elif isinstance(node, Loop):
                node = self._loop(node)
            return rewrite.with_expressions(node, self._expression)

        buffers = tuple(
            replace(
                buffer,
                shape=tuple(
                    self._size(extent) if (buffer.id, position) in self.dimensions else extent
                    for position, extent in enumerate(buffer.shape)
                ),
            )
            for buffer in self.source.buffers
        )
        body = rewrite.change(self.source, edit).body
        launch = self.source.launch
        grid, threads = list(launch.grid), list(launch.threads)
        for loop, _ in rewrite.loops(replace(self.source, body=body)):
            if loop.tag in BLOCKS and BLOCKS.index(loop.tag) < len(grid):
                grid[BLOCKS.index(loop.tag)] = loop.extent
            if loop.tag in THREADS and THREADS.index(loop.tag) < len(threads):
                threads[THREADS.index(loop.tag)] = loop.extent
        launch = replace(launch, grid=tuple(grid), threads=tuple(threads))
        return replace(self.source, body=body, buffers=buffers, launch=launch)

    def _loop(self, loop: Loop) -> Loop:
        if loop.var == self.outer.var:
            trips = Fraction(int(loop.extent)) / self.factor  # type: ignore[arg-type]
            return replace(loop, extent=_whole(trips))
        if loop.var in self.loops:
            return replace(loop, extent=self._size(loop.extent))
        return loop

    def _statement(self, number: int, statement: Statement) -> Statement:
        accesses: list[Access] = []
        is_scaled = False
        for position, access in enumerate(statement.accesses):
            extents = tuple(
                self._size(extent) if _Box(number, position, dimension) in self.boxes else extent
                for dimension, extent in enumerate(access.extents)
            )
            is_scaled = is_scaled or extents != access.extents
            accesses.append(replace(access, extents=extents))
        if not is_scaled:
            return statement
        arith = tuple(
            replace(
                one,
                count=self._size(one.count) if one.op != "shuffle" else one.count,
                useful=None,
                shape=(),
            )
            for one in statement.arith
        )
        changed = replace(statement, accesses=tuple(accesses), arith=arith)
        if not isinstance(changed, Gemm) or changed.m_n_k is None:
            return changed
        boxes = [box for box in self.boxes if box.statement == number]
        axes = _axes_of_product(number, changed)
        sizes = tuple(
            self._size(size) if any(box in axes[axis] for box in boxes) else size
            for axis, size in enumerate(changed.m_n_k)
        )
        arith = tuple(replace(one, shape=sizes) if one.op == "mma" else one for one in arith)
        return replace(changed, m_n_k=(sizes[0], sizes[1], sizes[2]), arith=arith)

    def _expression(self, expr: Expr) -> Expr:
        """`expr` with the tile's new size between two iterations of the loop."""
        if self.outer.var not in free_variables(expr):
            return expr
        if isinstance(expr, tuple) and expr[0] in ("<", "<=", ">", ">=", "and", "or", "=="):
            return (expr[0], *map(self._expression, expr[1:]))
        terms, constant = linear(simplify(expr))
        if any(name != self.outer.var and self.outer.var in free_variables(name) for name in terms):
            raise _RigidError
        step = terms.get(self.outer.var, 0)
        changed = {**terms, self.outer.var: _whole(step * self.factor)}
        return from_linear(changed, constant)

    def _size(self, size: Expr) -> int:
        if type(size) is not int:
            raise _RigidError
        return _whole(size * self.factor)


def _whole(value: Fraction) -> int:
    if value.denominator != 1 or value < 1:
        raise _RigidError
    return int(value)


def _corresponding(number: int, statement: Statement) -> Sequence[Sequence[_Box]]:
    """The dimensions of the boxes of a statement that have one size, by groups."""
    if isinstance(statement, Gemm):
        return _axes_of_product(number, statement)
    if isinstance(statement, Reduce):
        return _kept_dimensions(number, statement)
    if isinstance(statement, _ELEMENTWISE):
        return _in_order(number, statement.accesses)
    if isinstance(statement, _OF_ELEMENTS):
        return ()
    raise _RigidError


def _in_order(number: int, accesses: Sequence[Access]) -> Sequence[Sequence[_Box]]:
    """The dimensions longer than 1 of each box, in their order."""
    rows = [
        [
            (place, dimension, extent)
            for dimension, extent in enumerate(access.extents)
            if extent != 1
        ]
        for place, access in enumerate(accesses)
    ]
    if len({tuple(extent for _, _, extent in row) for row in rows}) != 1:
        raise _RigidError
    return [
        [_Box(number, place, dimension) for place, dimension, _ in column]
        for column in zip(*rows, strict=True)
    ]


def _axes_of_product(number: int, statement: Gemm) -> Sequence[Sequence[_Box]]:
    """The dimensions along the rows, columns and depth of a product."""
    if statement.m_n_k is None or len(statement.accesses) < 3:
        raise _RigidError
    first, second = _transposes(statement)
    rows: list[_Box] = []
    columns: list[_Box] = []
    depth: list[_Box] = []
    for position, access in enumerate(statement.accesses):
        last = len(access.extents) - 1
        if last < 1:
            raise _RigidError
        pair = (_Box(number, position, last - 1), _Box(number, position, last))
        if position == 0:
            across, along = pair[::-1] if first else pair
            rows.append(across)
            depth.append(along)
        elif position == 1:
            across, along = pair[::-1] if second else pair
            depth.append(across)
            columns.append(along)
        else:
            rows.append(pair[0])
            columns.append(pair[1])
    return rows, columns, depth


def _transposes(statement: Gemm) -> tuple[bool, bool]:
    """Whether the operands are stored transposed; by the sizes of their boxes if not stated."""
    if statement.transposes is not None:
        return statement.transposes
    assert statement.m_n_k is not None
    m, n, k = statement.m_n_k
    first, second = (access.extents[-2:] for access in statement.accesses[:2])
    return (
        first == (k, m) and first != (m, k),
        second == (n, k) and second != (k, n),
    )


def _kept_dimensions(number: int, statement: Reduce) -> Sequence[Sequence[_Box]]:
    """The dimensions of a reduction's operand and of its result, and the reduced one alone."""
    if statement.dim is None or len(statement.accesses) < 2:
        raise _RigidError
    operand = statement.accesses[0]
    rank = len(operand.extents)
    reduced = statement.dim % rank if rank else 0
    groups = [[_Box(number, 0, dimension)] for dimension in range(rank)]
    kept = [dimension for dimension in range(rank) if dimension != reduced]
    for place, access in enumerate(statement.accesses[1:], start=1):
        if len(access.extents) == rank:
            for dimension in kept:
                groups[dimension].append(_Box(number, place, dimension))
        elif len(access.extents) == len(kept):
            for position, dimension in enumerate(kept):
                groups[dimension].append(_Box(number, place, position))
        elif access.extents != (1,):
            raise _RigidError
    return groups


def resized_arrays(before: KernelFacts, after: KernelFacts) -> Sequence[Buffer]:
    """The arrays of `after` that have another shape in `before`."""
    known = {buffer.id: buffer.shape for buffer in before.buffers}
    return [
        buffer
        for buffer in after.buffers
        if buffer.id in known and buffer.shape != known[buffer.id]
    ]
