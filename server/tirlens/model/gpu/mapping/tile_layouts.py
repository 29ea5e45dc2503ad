"""The number of consecutive elements of a row that a thread holds of a register tile.

tilelang gives the tiles of one statement one layout.  Each statement proposes a layout, and the one
with the fewest memory accesses is chosen (``src/transform/layout_inference.cc``,
``InferInFreeMode``): that of the longest vectors.  A float32 sum over a tile that is copied in
halves has the eight elements of a 16-byte copy on each thread.  Of tensor memory a thread holds one
row, or with several warpgroups an equal part of it (``tcgen05.ld`` of the shape ``.32x32b``,
``src/layout/tcgen05_layout.h``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tirlens_worker.facts import Buffer, Reduce, Statement

from ...tree.node import Leaf
from ...tree.table import Table
from ...tree.thread_mapping import ThreadMapping, memory_space

FRAGMENT = "local.fragment"
TENSOR_MEMORY = "shared.tmem"


def reduction_row_vectors(
    leaves: Sequence[Leaf], mappings: Table[ThreadMapping], buffers: Mapping[str, Buffer]
) -> Table[int]:
    """The row vector of each reduction; 0 for any other statement."""
    if not any(isinstance(leaf.source, Reduce) for leaf in leaves):
        return Table([0] * len(leaves))
    vectors = row_vectors(leaves, mappings, buffers)
    return Table(_row_vector(leaf, vectors, buffers) for leaf in leaves)


def _row_vector(leaf: Leaf, vectors: Mapping[str, int], buffers: Mapping[str, Buffer]) -> int:
    if not isinstance(leaf.source, Reduce):
        return 0
    tiles = _register_tiles(leaf.source, buffers)
    return max((vectors.get(name, 0) for name in tiles), default=0)


def row_vectors(
    leaves: Iterable[Leaf], mappings: Table[ThreadMapping], buffers: Mapping[str, Buffer]
) -> dict[str, int]:
    """The longest vector of the loads and stores of all tiles with one layout, by tile.

    Tiles that are neither loaded nor stored are left out.
    """
    parents: dict[str, str] = {}

    def first(name: str) -> str:
        while (parent := parents.setdefault(name, name)) != name:
            name = parent
        return name

    longest: dict[str, int] = {}
    for leaf in leaves:
        node = leaf.source
        if node.per != "block" or isinstance(node, Reduce):
            continue
        tiles = _register_tiles(node, buffers)
        for name in tiles:
            # Tiles of another shape, such as sums, have a layout of their own.
            parents[first(name)] = first(tiles[0])
        vector = 0
        if any(buffers[access.buffer].scope == TENSOR_MEMORY for access in node.accesses):
            vector = _tensor_memory_vector(tiles, leaf.threads, buffers)
        elif any(memory_space(access, buffers) is not None for access in node.accesses):
            vector = mappings[leaf].vector
        if tiles and vector:
            longest[tiles[0]] = max(longest.get(tiles[0], 0), vector)
    found: dict[str, int] = {}
    for name, vector in longest.items():
        found[first(name)] = max(found.get(first(name), 0), vector)
    return {name: found[first(name)] for name in parents if first(name) in found}


def _tensor_memory_vector(tiles: Sequence[str], threads: int, buffers: Mapping[str, Buffer]) -> int:
    shape = buffers[tiles[0]].shape if tiles else ()
    sizes = [extent for extent in shape if isinstance(extent, int)]
    if not sizes or len(sizes) < len(shape):
        return 0
    return max(min(sizes[-1], math.prod(sizes) // max(threads, 1)), 1)


def _register_tiles(node: Statement, buffers: Mapping[str, Buffer]) -> list[str]:
    """The register tiles of a statement with the most dimensions, all of one shape."""
    tiles = [access.buffer for access in node.accesses if buffers[access.buffer].scope == FRAGMENT]
    shape = max((buffers[name].shape for name in tiles), key=len, default=())
    return [name for name in tiles if buffers[name].shape == shape]
