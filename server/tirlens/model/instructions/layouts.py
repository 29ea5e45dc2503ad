"""How many neighbours of a row a thread holds of a tile in registers.

tilelang gives tiles that meet in a statement one layout.  Each of their statements proposes its
own, and the one is taken with which all of them need the fewest accesses to memory
(``src/transform/layout_inference.cc``, ``InferInFreeMode``): that of the longest vectors.  A sum in
float32 of what is copied in halves has the eight neighbours of a copy's 16 bytes on each thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tirlens_worker.facts import Buffer, Statement

from .spread import memory_of
from .work import Item, leaves_of, with_leaves

FRAGMENT = "local.fragment"


def with_layouts(items: Sequence[Item], buffers: Mapping[str, Buffer]) -> tuple[Item, ...]:
    """The items of a kernel, whose reductions know how their tiles lie on the threads."""
    leaves = leaves_of(items)
    if not any(leaf.node.op == "reduce" for leaf in leaves):
        return tuple(items)
    vectors = row_vectors(leaves, buffers)
    return with_leaves(items, (_told(leaf, vectors) for leaf in leaves))


def _told(leaf: Item, vectors: Mapping[str, int]) -> Item:
    if leaf.node.op != "reduce":
        return leaf
    read = (access.buffer for access in leaf.node.accesses if access.mode == "read")
    return leaf.but(row_vector=max((vectors.get(name, 0) for name in read), default=0))


def row_vectors(leaves: Iterable[Item], buffers: Mapping[str, Buffer]) -> dict[str, int]:
    """The longest vector with which any of the tiles of one layout are loaded or stored.

    Tiles that no statement moves to or from memory are left out.
    """
    parents: dict[str, str] = {}

    def first(name: str) -> str:
        while (parent := parents.setdefault(name, name)) != name:
            name = parent
        return name

    longest: dict[str, int] = {}
    for leaf in leaves:
        node = leaf.node
        if node.per != "block" or node.op == "reduce":
            continue
        tiles = _tiles(node, buffers)
        for name in tiles:
            # Rows of another shape, as those of a sum, have a layout of their own.
            parents[first(name)] = first(tiles[0])
        moves = any(memory_of(access, buffers) is not None for access in node.accesses)
        if tiles and moves and leaf.spread is not None:
            longest[tiles[0]] = max(longest.get(tiles[0], 0), leaf.spread.vector)
    found: dict[str, int] = {}
    for name, vector in longest.items():
        found[first(name)] = max(found.get(first(name), 0), vector)
    return {name: found[first(name)] for name in parents if first(name) in found}


def _tiles(node: Statement, buffers: Mapping[str, Buffer]) -> list[str]:
    """The tiles in registers of a statement that have the most dimensions, all of one shape."""
    tiles = [access.buffer for access in node.accesses if buffers[access.buffer].scope == FRAGMENT]
    shape = max((buffers[name].shape for name in tiles), key=len, default=())
    return [name for name in tiles if buffers[name].shape == shape]
