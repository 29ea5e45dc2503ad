"""The useful part of tile products: elements inside the bounds of arrays and not masked.

A product multiplies all elements of its tiles, also padding past the bounds of the array that a
tile was copied from and scores that a mask discards.  This pass follows tiles through the copies,
products and masks of a kernel.  A product is left as it is if the source of an operand is not
known: it is written in another iteration or branch, or not by a copy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ...facts import (
    Access,
    Branch,
    Buffer,
    Copy,
    Expr,
    Gemm,
    Loop,
    Node,
    Statement,
    Store,
    Useful,
    While,
)
from ...ops.build import times
from ..symbolic.ranges import Ranges

#: A box of an array: its id, the indices of the corner, the extents.
Key = Tuple[str, Tuple[Expr, ...], Tuple[Expr, ...]]


class Mask(NamedTuple):
    """A mask of a tile: the element (`row`, `column`) is not masked where `unmasked` holds."""

    row: str
    column: str
    unmasked: Expr


class Tile(NamedTuple):
    """The rows and columns of a tile that are inside its source array, and their mask."""

    rows: Expr
    columns: Expr
    mask: Optional[Mask] = None


def annotate_useful_work(body: Tuple[Node, ...], buffers: Sequence[Buffer]) -> Tuple[Node, ...]:
    """`body` with `Arith.useful` set in each tile product whose operands are known."""
    return _Pass({buffer.id: buffer for buffer in buffers}).nodes(body)


class LaterNodes(NamedTuple):
    """Nodes that are executed later; `in_next_iteration` if by the next iteration of a loop."""

    nodes: Sequence[Node]
    in_next_iteration: bool = False


class _Pass:
    def __init__(self, buffers: Mapping[str, Buffer]) -> None:
        self.buffers = buffers
        self.ranges = Ranges()
        self.tiles: Dict[Key, Tile] = {}
        #: Masks of arrays to which a product is added later.
        self.masks: Dict[str, Mask] = {}
        #: The nodes after the current one in each enclosing body, outermost first.
        self.later: List[LaterNodes] = []

    def nodes(self, nodes: Sequence[Node]) -> Tuple[Node, ...]:
        out: List[Node] = []
        for position, node in enumerate(nodes):
            mask = _mask(node)
            self.later.append(LaterNodes(nodes[position + 1 :]))
            if mask is not None:
                self._apply(*mask)
                out.append(node)
            elif isinstance(node, Statement):
                out.append(self._statement(node))
            else:
                out.append(self._inside(node))
            self.later.pop()
        return tuple(out)

    def _inside(self, node: Node) -> Node:
        """`node` with its body annotated; tiles that the body writes are unknown after it."""
        if isinstance(node, Branch):
            then, orelse = self._visit_scope(node.then), self._visit_scope(node.orelse)
            self._forget(_written_buffers(node))
            return replace(node, then=then, orelse=orelse)
        if not isinstance(node, (Loop, While)):
            return node
        if isinstance(node, Loop):
            self.ranges.add(node.var, node.start, node.extent, node.step)
            if node.kind == "parallel":
                self._elementwise(node)
                return node
        bound = isinstance(node, Loop) and node.tag is not None
        written = () if bound else tuple(_written_buffers(node))
        self._forget(written)
        if not bound:
            self.later.append(LaterNodes(node.body, in_next_iteration=True))
        body = self._visit_scope(node.body)
        if not bound:
            self.later.pop()
        self._forget(written)
        return replace(node, body=body)

    def _visit_scope(self, nodes: Sequence[Node]) -> Tuple[Node, ...]:
        before = dict(self.tiles), dict(self.masks)
        out = self.nodes(nodes)
        self.tiles, self.masks = before
        return out

    def _forget(self, names: Sequence[str]) -> None:
        overwritten = set(names)
        self.tiles = {key: tile for key, tile in self.tiles.items() if key[0] not in overwritten}
        self.masks = {name: mask for name, mask in self.masks.items() if name not in overwritten}

    def _apply(self, name: str, mask: Mask) -> None:
        self.masks[name] = mask
        for key, tile in list(self.tiles.items()):
            if key[0] == name:
                self.tiles[key] = tile._replace(mask=mask)

    def _elementwise(self, loop: Loop) -> None:
        """Propagate bounds and masks through an elementwise loop from its only tile operand."""
        for statement in _statements((loop,)):
            for write in statement.accesses:
                if write.mode == "read" or self._reads(statement, write.buffer, write.indices):
                    continue
                found = [
                    tile
                    for key, tile in self.tiles.items()
                    if self._reads(statement, key[0], write.indices)
                    and self.buffers[key[0]].shape == self.buffers[write.buffer].shape
                ]
                self._forget((write.buffer,))
                if len(found) == 1:
                    self.tiles[self._whole(write.buffer)] = found[0]

    @staticmethod
    def _reads(statement: Statement, name: str, indices: Tuple[Expr, ...]) -> bool:
        return any(
            (one.buffer, one.mode, one.indices) == (name, "read", indices)
            for one in statement.accesses
        )

    def _whole(self, name: str) -> Key:
        shape = self.buffers[name].shape
        return name, tuple(0 for _ in shape), shape

    def _statement(self, node: Statement) -> Statement:
        if isinstance(node, Gemm) and node.transposes is not None:
            return self._product(node, node.transposes)
        written = [one for one in node.accesses if one.mode != "read"]
        tile = None
        if isinstance(node, Copy) and len(node.accesses) == 2 and len(written) == 1:
            tile = self._source_tile(node.accesses[0])
        self._forget([one.buffer for one in written if tile is None or one.extents == ()])
        if tile is not None:
            self._set_tile(written[0], tile)
        return node

    def _set_tile(self, access: Access, tile: Tile) -> None:
        """Set the tile of a box; boxes of the array that may overlap it become unknown."""
        key = _key(access)
        self.tiles = {
            other: known
            for other, known in self.tiles.items()
            if other[0] != key[0] or _apart(other, key)
        }
        self.masks.pop(access.buffer, None)
        self.tiles[key] = tile

    def _source_tile(self, source: Access) -> Optional[Tile]:
        buffer = self.buffers[source.buffer]
        if buffer.scope != "global":
            return self.tiles.get(_key(source))
        sides = [
            self.ranges.clip(index, extent, size)
            for index, extent, size in zip(source.indices, source.extents, buffer.shape)
            if extent != 1
        ]
        return Tile(sides[0], sides[1]) if len(sides) == 2 else None

    def _product(self, node: Gemm, transposes: Tuple[bool, bool]) -> Gemm:
        a, b, c = node.accesses[0], node.accesses[1], node.accesses[-1]
        left, right = self.tiles.get(_key(a)), self.tiles.get(_key(b))
        added = any(one.mode == "read" and one.buffer == c.buffer for one in node.accesses)
        before = self.masks.get(c.buffer) if added else None
        if left is None or right is None:
            self._forget((c.buffer,))
            return node
        m, left_depth = (left.columns, left.rows) if transposes[0] else (left.rows, left.columns)
        right_depth, n = (
            (right.columns, right.rows) if transposes[1] else (right.rows, right.columns)
        )
        k = left_depth if left_depth == right_depth else ("min", left_depth, right_depth)
        out = before or _masked_later(self.later, c.buffer)
        useful = _useful(m, n, k, left.mask, transposes[0], right.mask, out)
        self.tiles[_key(c)] = Tile(m, n, before)
        arith = tuple(replace(one, useful=useful) if one.op == "mma" else one for one in node.arith)
        pair = any(one.guard is not None for one in node.arith)
        return node if pair or useful is None else replace(node, arith=arith)


def _useful(
    m: Expr,
    n: Expr,
    k: Expr,
    left: Optional[Mask],
    is_left_transposed: bool,
    right: Optional[Mask],
    out: Optional[Mask],
) -> Optional[Useful]:
    """The multiply-accumulates on unmasked elements; None with masks on two operands."""
    if right is not None or (left is not None and out is not None):
        return None
    if left is not None:
        rows, columns = (k, m) if is_left_transposed else (m, k)
        return Useful(n, ((left.row, rows), (left.column, columns)), left.unmasked)
    if out is not None:
        return Useful(k, ((out.row, m), (out.column, n)), out.unmasked)
    return Useful(times(m, n, k))


def _key(access: Access) -> Key:
    return access.buffer, access.indices, access.extents


def _apart(one: Key, other: Key) -> bool:
    """Whether two boxes of one size have different indices in a dimension of extent 1."""
    return one[2] == other[2] and any(
        size == 1 and isinstance(a, int) and isinstance(b, int) and a != b
        for a, b, size in zip(one[1], other[1], one[2])
    )


def _mask(node: Node) -> Optional[Tuple[str, Mask]]:
    """The array that a loop nest masks, with the mask; None if it masks none."""
    if not isinstance(node, Loop) or node.kind != "parallel" or len(node.body) != 1:
        return None
    inner = node.body[0]
    if not isinstance(inner, Loop) or inner.kind != "parallel" or len(inner.body) != 1:
        return None
    store = inner.body[0]
    if not isinstance(store, Store) or store.kept is None:
        return None
    write = store.accesses[-1]
    if write.indices != (node.var, inner.var) or (node.start, inner.start) != (0, 0):
        return None
    return write.buffer, Mask(node.var, inner.var, store.kept)


def _masked_later(later: Sequence[LaterNodes], name: str) -> Optional[Mask]:
    """The mask that is applied to a product before any other statement reads it."""
    for nodes, in_next_iteration in reversed(later):
        for node in nodes:
            found = _mask(node)
            if found is not None and found[0] == name:
                # The mask of the next iteration is for other elements.
                return None if in_next_iteration else found[1]
            for statement in _statements((node,)):
                modes = {one.mode for one in statement.accesses if one.buffer == name}
                in_place = modes == {"read", "write"} and isinstance(statement, (Store, Gemm))
                if modes and not in_place:
                    return None
    return None


def _statements(nodes: Sequence[Node]) -> Iterator[Statement]:
    for node in nodes:
        if isinstance(node, Statement):
            yield node
        elif isinstance(node, Branch):
            yield from _statements((*node.then, *node.orelse))
        elif isinstance(node, (Loop, While)):
            yield from _statements(node.body)


def _written_buffers(node: Node) -> Tuple[str, ...]:
    return tuple(
        access.buffer
        for statement in _statements((node,))
        for access in statement.accesses
        if access.mode != "read"
    )
