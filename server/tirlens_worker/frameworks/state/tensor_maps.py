"""Tensor maps: the global arrays that they describe, and the boxes that their copies move."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Hashable, Mapping, Tuple

from ...facts import Access, Branch, Buffer, Expr, Loop, Node, Statement, While
from ...ops import Layout, Region, TensorMap
from ...ops.intrinsics.tensor_map import as_row
from ..ir import dialect
from ..symbolic.row_major import corner_offset
from .arrays import Arrays
from .names import Names

#: The box of one copy, by the ids of arrays.
Boxes = Mapping[str, Tuple[Expr, ...]]


class TensorMaps:
    """The tensor maps of one kernel, by their variables or their locations in memory."""

    def __init__(self, names: Names, arrays: Arrays) -> None:
        #: The box of one copy, by the ids of arrays whose tensor maps do not state it.
        self.boxes: Dict[str, Tuple[Expr, ...]] = {}
        self._names = names
        self._arrays = arrays
        self._maps: Dict[Hashable, TensorMap] = {}

    def of_variable(self, var: Any, dtype: str, rank: int) -> TensorMap:
        """The array of the tensor map `var`; a map without a definition is a parameter."""
        self._names.keep_alive(var)
        return self._find_or_add(dialect.key(var), str(var.name), dtype, rank)

    def in_memory(self, region: Region, dtype: str, rank: int) -> TensorMap:
        """The array of a tensor map that is stored in an array."""
        return self._find_or_add(
            (region.buffer.id, *region.indices), region.buffer.name, dtype, rank
        )

    def define(self, var: Any, array: Region, layout: Layout) -> None:
        """Record that the tensor map `var` shows `array`, from its corner on, as `layout`."""
        view = Buffer(
            self._names.unique("{}_{}".format(array.buffer.name, var.name)),
            array.buffer.name,
            layout.dtype,
            layout.shape,
            strides=layout.strides,
            element_offset=corner_offset(array),
            alias_of=array.buffer.alias_of or array.buffer.id,
        )
        self._names.keep_alive(var)
        self._add(dialect.key(var), TensorMap(view, layout.box))

    def limit_box(self, array: str, box: Tuple[Expr, ...]) -> None:
        """Record that a copy by the tensor map of an array moves no more than `box`.

        All copies of a tensor map move one size.  The tile in shared memory, whose size is `box`,
        may be larger than a box, so that the least size is used.
        """
        sizes = [min(sizes) for sizes in zip(box, self.boxes.get(array, box)) if _constant(sizes)]
        if len(sizes) == len(box):
            self.boxes[array] = tuple(sizes)

    def _find_or_add(self, key: Hashable, name: str, dtype: str, rank: int) -> TensorMap:
        known = self._maps.get(key)
        if known is None:
            array = self._names.unique(name)
            sizes = tuple(("opaque", "{}.size({})".format(array, axis)) for axis in range(rank))
            known = TensorMap(Buffer(array, name, dtype, sizes, is_parameter=True))
            self._add(key, known)
        return known

    def _add(self, key: Hashable, tensor_map: TensorMap) -> None:
        self._arrays.buffers.append(tensor_map.array)
        self._maps[key] = tensor_map


def resize_copies(nodes: Tuple[Node, ...], boxes: Boxes) -> Tuple[Node, ...]:
    """`nodes` with the copies of the arrays in `boxes` resized to their boxes."""
    return tuple(_resize_node(node, boxes) for node in nodes) if boxes else nodes


def _resize_node(node: Node, boxes: Boxes) -> Node:
    if isinstance(node, (Loop, While)):
        return replace(node, body=resize_copies(node.body, boxes))
    if isinstance(node, Branch):
        then, orelse = resize_copies(node.then, boxes), resize_copies(node.orelse, boxes)
        return replace(node, then=then, orelse=orelse)
    if not isinstance(node, Statement):
        return node
    box = next((boxes[one.buffer] for one in node.accesses if one.buffer in boxes), None)
    if box is None:
        return node
    return replace(node, accesses=tuple(_resize(one, box, boxes) for one in node.accesses))


def _resize(access: Access, box: Tuple[Expr, ...], boxes: Boxes) -> Access:
    extents = box if access.buffer in boxes else as_row(box, len(access.extents))
    return replace(access, extents=extents)


def _constant(sizes: Tuple[Expr, ...]) -> bool:
    return all(isinstance(size, int) for size in sizes)
