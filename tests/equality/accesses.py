"""What loads, stores and boxes of arrays touch."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from equality import language as ir
from equality.evaluate import Evaluator
from equality.language import RefusedError
from equality.points import UNKNOWN, Points, distinct
from equality.requests import Requests

POINTERS = ("address_of", "tl.access_ptr", "buffer_data")
#: The memories whose bytes are counted, by the scopes of their arrays.
LEVELS = {"global": "global", "shared": "shared", "shared.dyn": "shared"}


class Box(NamedTuple):
    """A box of an array: its lower corner and its sizes, for each dimension."""

    buffer: Any
    corner: list
    sizes: list

    @property
    def scope(self) -> str:
        return ir.scope_of(self.buffer)

    def wide(self) -> list[int]:
        """The dimensions along which it has more than one element."""
        return [axis for axis, size in enumerate(self.sizes) if not _is_one(size)]


def _is_one(size: Any) -> bool:
    return isinstance(size, (int, np.integer)) and size == 1


class Accesses(Evaluator):
    """Counts the bits that are asked for and marks the elements that are touched."""

    #: Windows that blocks open on arrays, and arrays that are on the data of others.
    owners: dict[int, Any]
    views: dict[int, Any]
    holders: dict[int, Any]
    requests: Requests
    #: How many statements that the threads of a block execute together are under way.
    cooperative: int

    def view(self, buffer: Any, data: Any = None) -> None:
        raise NotImplementedError

    def is_small(self, buffer: Any) -> bool:
        raise NotImplementedError

    def recall(self, node: Any, at: Points) -> tuple[Any, bool]:
        raise NotImplementedError

    def load(self, node: Any, at: Points, times: int) -> tuple[Any, bool]:
        buffer = ir.buffer_of(node)
        if self.is_small(buffer):
            return self.recall(node, at)
        self.touch(node, "read", at, times)
        return UNKNOWN, True

    def shape(self, buffer: Any, at: Points) -> list[int]:
        sizes = [self.known(size, at) for size in buffer.shape]
        if any(isinstance(size, np.ndarray) for size in sizes):
            raise RefusedError(f"{buffer.name} has a shape that varies")
        return [int(size) for size in sizes]

    def inside(self, buffer: Any, indices: Any, at: Points) -> np.ndarray:
        """At which points a single element does not lie behind the end of its array."""
        mask = np.ones(at.size, dtype=bool)
        for index, size in zip(indices, self.shape(buffer, at), strict=True):
            if ir.kind(index) == "Ramp":
                continue
            value, _ = self.value(index, at, 0)
            if value is not UNKNOWN:
                mask &= value < size
        return mask

    def touch(self, node: Any, mode: str, at: Points, times: int) -> None:
        """One access of one element, or of the lanes of a vector."""
        buffer = ir.buffer_of(node)
        corner, sizes = [], []
        for index in node.indices:
            lanes = ir.lanes(index)
            if ir.kind(index) == "Ramp" and ir.constant(index.stride) != 1:
                raise RefusedError("lanes that are not adjacent")
            corner.append(self.value(index, at, times)[0])
            sizes.append(lanes)
        if ir.element(str(buffer.dtype))[1] > 1:
            sizes = [1] * len(sizes)
        if self.tiles:
            # An index below zero counts from the end (tilelang's LegalizeNegativeIndex).
            shape = self.shape(buffer, at)
            corner = [
                value if value is UNKNOWN else np.where(np.less(value, 0), value + size, value)
                for value, size in zip(corner, shape, strict=True)
            ]
        # Plain TVMScript has no guards but those that are written.
        box = Box(buffer, corner, sizes)
        self.touch_alone(node, box, mode, at, times, clip=self.tiles)

    def touch_alone(
        self, node: Any, box: Box, mode: str, at: Points, times: int, clip: bool = True
    ) -> None:
        """One access of every element of a box by each thread by itself, where `node` says so."""
        box = self.resolved(box, at)
        if at.size and times and not self.cooperative:
            self._request(node, box, mode, at)
        self.touch_box(box, mode, at, times, clip)

    def _request(self, node: Any, box: Box, mode: str, at: Points) -> None:
        """What the threads of a warp ask for."""
        level = LEVELS.get(box.scope)
        if level is None and self.requests.plan is None:
            return
        if any(value is UNKNOWN for value in box.corner):
            return
        strides, start = self.layout(box.buffer, at)
        address = start + sum(np.multiply(*pair) for pair in zip(box.corner, strides, strict=True))
        where = level or box.scope, str(self._holder(box.buffer).name), mode
        bits = ir.width(str(box.buffer.dtype)) * math.prod(box.sizes)
        self.requests.note(node, where, address, ir.width(str(box.buffer.dtype)), bits, at)

    def layout(self, buffer: Any, at: Points) -> tuple[list, Any]:
        """The strides of an array and where it begins on its data, in elements."""
        shape = self.shape(buffer, at)
        strides = [self.known(stride, at) for stride in buffer.strides or ()]
        if not strides:
            strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        offset = getattr(buffer, "elem_offset", None)
        if offset is None or ir.kind(offset) in ("Var", "SizeVar"):
            # Where an array begins is the caller's to say, and as good as anywhere.
            return strides, 0
        return strides, self.known(offset, at)

    def touch_box(self, box: Box, mode: str, at: Points, times: int, clip: bool = True) -> None:
        """One access of every element of a box; with `clip`, what lies outside is left alone."""
        box = self.resolved(box, at)
        level = LEVELS.get(box.scope)
        if level is None or at.size == 0 or times == 0:
            return
        holder = self._holder(box.buffer)
        name, shape = str(holder.name), self.shape(box.buffer, at)
        width = ir.width(str(box.buffer.dtype))
        if any(value is UNKNOWN for value in box.corner):
            elements = np.ones(at.size, dtype=np.int64)
            for value, size, limit in zip(box.corner, box.sizes, shape, strict=True):
                # What lies at an unknown place of a dimension may lie inside as far as it fits.
                first = 0 if value is UNKNOWN else value
                last = np.minimum(at.full(first) + at.full(size), limit)
                inside = np.maximum(last - np.maximum(at.full(first), 0), 0)
                elements *= inside if clip else at.full(size)
            self.tally.issued[level, name, mode] += int(elements.sum()) * times * width
            if level != "global":
                return
            self.tally.scattered.add(name)
            for side in sides(mode):
                self.tally.array(holder, tuple(self.shape(holder, at)), side)
            return
        low, high = self.clipped(box, at)
        counts = np.ones(at.size, dtype=np.int64)
        for first, last, size in zip(low, high, box.sizes, strict=True):
            counts *= np.maximum(last - first, 0) if clip else size
        self.tally.issued[level, name, mode] += int(counts.sum()) * times * width
        if level != "global":
            return
        for side in sides(mode):
            if holder is box.buffer:
                self._mark(self.tally.array(holder, tuple(shape), side), low, high, at)
            else:
                self._mark_view(holder, box.buffer, (low, high), at, side)

    def _holder(self, buffer: Any) -> Any:
        self.view(buffer)
        while ir.key(buffer) in self.views:
            buffer = self.views[ir.key(buffer)]
        return buffer

    def _mark_view(
        self, holder: Any, view: Any, corners: tuple[list, list], at: Points, side: str
    ) -> None:
        """Marks the elements of `holder` that lie under boxes of a view of it."""
        low, high = corners
        shape, whole = self.shape(view, at), self.shape(holder, at)
        seen = np.ravel(self.tally.array(holder, tuple(whole), side))
        strides, start = self.layout(view, at)
        one, other = ir.width(str(view.dtype)), ir.width(str(holder.dtype))
        boxes = _distinct([at.full(start), *low, *high])
        rank = len(shape)
        for column in boxes:
            positions: Any = column[0]
            for first, last, stride in zip(
                column[1 : rank + 1], column[rank + 1 :], strides, strict=True
            ):
                positions = np.add.outer(positions, np.arange(first, last) * stride)
            bits = np.ravel(positions) * one
            if one < other:
                parts = np.ravel(self.tally.bytes_of(holder, tuple(whole), side))
                for within in range(0, one, 8):
                    places = (bits + within) // 8
                    parts[places[(places >= 0) & (places < len(parts))]] = True
                continue
            for within in range(0, one, other):
                places = (bits + within) // other
                seen[places[(places >= 0) & (places < len(seen))]] = True

    def clipped(self, box: Box, at: Points) -> tuple[list, list]:
        """The part of a box that lies inside its array, per point: first and behind last."""
        shape = self.shape(box.buffer, at)
        low, high = [], []
        for value, size, limit in zip(box.corner, box.sizes, shape, strict=True):
            low.append(np.maximum(at.full(value), 0))
            high.append(np.minimum(at.full(value) + at.full(size), limit))
        return low, high

    @staticmethod
    def _mark(seen: np.ndarray, low: list, high: list, at: Points) -> None:
        inside = np.ones(at.size, dtype=bool)
        for first, last in zip(low, high, strict=True):
            inside &= last > first
        if not low:
            seen[()] = True
            return
        lows = [first[inside] for first in low]
        highs = [last[inside] for last in high]
        if all((last - first == 1).all() for first, last in zip(lows, highs, strict=True)):
            seen[tuple(lows)] = True
            return
        boxes = _distinct([*lows, *highs])
        rank = len(lows)
        for column in boxes:
            seen[tuple(map(slice, column[:rank], column[rank:]))] = True

    def resolved(self, box: Box, at: Points) -> Box:
        """The same elements as a box of the array that owns them."""
        source = self.owners.get(ir.key(box.buffer))
        if source is None:
            return box
        outer = self.region(source, at)
        axes = outer.wide()
        if len(box.corner) == len(outer.corner):
            axes = list(range(len(outer.corner)))
        if len(axes) != len(box.corner):
            raise RefusedError("a window of another rank")
        corner, sizes = list(outer.corner), [1] * len(outer.corner)
        for axis, value, size in zip(axes, box.corner, box.sizes, strict=True):
            known = value is not UNKNOWN and corner[axis] is not UNKNOWN
            corner[axis] = corner[axis] + value if known else UNKNOWN
            sizes[axis] = size
        return self.resolved(Box(outer.buffer, corner, sizes), at)

    def locate(self, node: Any, at: Points, times: int) -> None:
        """Evaluates the address that an operand denotes, and reads nothing there."""
        name = ir.kind(node)
        if name in ("BufferLoad", "TensorLoad"):
            for index in node.indices:
                self.value(index, at, times)
        elif name in ("BufferRegion", "TensorRegion"):
            for part in node.region:
                self.value(part.min, at, times)
                self.value(part.extent, at, times)
        elif name == "Call" and ir.called(node) == "tl.region":
            self.locate(node.args[0], at, times)
            for size in node.args[2:]:
                self.value(size, at, times)
        elif name == "Call" and ir.called(node) == "tvm_access_ptr":
            # No code is generated for its extent.
            self.value(node.args[2], at, times)
        elif name == "Call" and ir.called(node) == "ptr_byte_offset":
            self.locate(node.args[0], at, times)
            self.value(node.args[1], at, times)
        elif name == "Call" and ir.called(node) in POINTERS:
            self.locate(node.args[0], at, times)

    def region(self, node: Any, at: Points) -> Box:
        """The box that an operand of a tile operation or a pointer denotes."""
        name = ir.kind(node)
        if name in ("BufferRegion", "TensorRegion"):
            return Box(
                ir.buffer_of(node),
                [self.value(part.min, at, 0)[0] for part in node.region],
                [self.known(part.extent, at) for part in node.region],
            )
        if name in ("BufferLoad", "TensorLoad"):
            corner = [self.value(index, at, 0)[0] for index in node.indices]
            sizes = [ir.lanes(index) for index in node.indices]
            return Box(ir.buffer_of(node), corner, sizes)
        if name == "Call" and ir.called(node) == "tl.region":
            base = self.region(node.args[0], at)
            sizes = [self.known(part, at) for part in node.args[2:]]
            return Box(base.buffer, base.corner, [1] * (len(base.corner) - len(sizes)) + sizes)
        if name == "Call" and ir.called(node) == "tvm_access_ptr":
            whole = self.region(node.args[1], at)
            offset, _ = self.value(node.args[2], at, 0)
            if offset is UNKNOWN:
                return Box(whole.buffer, [UNKNOWN] * len(whole.sizes), [1] * len(whole.sizes))
            place = np.unravel_index(at.full(offset), whole.sizes)
            return Box(whole.buffer, list(place), [1] * len(place))
        if name == "Call" and ir.called(node) == "ptr_byte_offset":
            return self._further(self.region(node.args[0], at), node.args[1], at)
        if name == "Call" and ir.called(node) in POINTERS:
            return self.region(node.args[0], at)
        if name in ("Var", "SizeVar") and ir.key(node) in self.holders:
            node = self.holders[ir.key(node)]
        if ir.is_buffer(node):
            return Box(node, [0] * len(node.shape), self.shape(node, at))
        raise RefusedError(f"an operand of the form {name}")

    def _further(self, box: Box, offset: Any, at: Points) -> Box:
        """The element so many bytes behind the first of a box."""
        shape = self.shape(box.buffer, at)
        if any(value is UNKNOWN for value in box.corner):
            return box
        place = np.ravel_multi_index([at.full(value) for value in box.corner], shape)
        place = place + self.known(offset, at) * 8 // ir.width(str(box.buffer.dtype))
        return Box(box.buffer, list(np.unravel_index(place, shape)), [1] * len(shape))

    def volume(self, box: Box, at: Points) -> int:
        """The elements of a box over all points."""
        total = np.ones(at.size, dtype=np.int64)
        for size in box.sizes:
            total = total * at.full(size)
        return int(total.sum())

    def volume_inside(self, at: Points, *boxes: Box) -> int:
        """The elements of boxes of one form that lie inside every global array among them."""
        wide = [box.wide() for box in boxes]
        total = np.ones(at.size, dtype=np.int64)
        sides = []
        for box, axes in zip(boxes, wide, strict=True):
            if box.scope != "global":
                low = [np.zeros(at.size, dtype=np.int64)] * len(axes)
                high = [at.full(box.sizes[axis]) for axis in axes]
            else:
                if any(value is UNKNOWN for value in box.corner):
                    return self.volume(box, at)
                first, last = self.clipped(box, at)
                for axis in set(range(len(first))) - set(axes):
                    total = total * (last[axis] > first[axis])
                low = [first[axis] - at.full(box.corner[axis]) for axis in axes]
                high = [last[axis] - at.full(box.corner[axis]) for axis in axes]
            sides.append((low, high))
        if len({len(axes) for axes in wide}) != 1:
            raise RefusedError("boxes of different forms")
        for axis in range(len(wide[0])):
            low = np.maximum.reduce([side[0][axis] for side in sides])
            high = np.minimum.reduce([side[1][axis] for side in sides])
            total = total * np.maximum(high - low, 0)
        return int(total.sum())


def sides(mode: str) -> tuple[str, ...]:
    """What an access does to memory; an atomic operation reads and writes it."""
    return (mode,) if mode in ("read", "write") else ("read", "write")


def _distinct(columns: list[np.ndarray]) -> np.ndarray:
    """The different rows of some columns."""
    if not len(columns[0]):
        return np.empty((0, len(columns)), dtype=np.int64)
    return np.stack(columns, axis=1)[distinct(columns)]
