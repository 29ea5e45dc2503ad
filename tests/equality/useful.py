"""Which multiply-accumulates of tile products contribute to a result, element by element.

Blocks, and the statements of each, are executed one after the other here.  Every element of a tile
is followed: it holds something if it was copied from inside an array, or computed from elements
that do, and it is hidden where a mask sets it to zero or to (nearly) minus infinity.  A
multiply-accumulate is useful if both its factors hold something and none of these and of its result
is hidden; whether the result is, shows when a mask is put on it before anything else reads it.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from equality import language as ir
from equality.accesses import Box
from equality.execute import Executor
from equality.language import RefusedError
from equality.points import UNKNOWN, Points
from equality.tiles import formed_like, level

_CHOICES = ("if_then_else", "tirx.if_then_else")
_PRODUCTS = ("gemm", "gemm_py", "wgmma_gemm", "tcgen05_gemm")
_COPIES = ("copy", "async_copy", "tma_copy")
_TO_SECOND = ("reduce", "cumsum", "cummax", "atomicadd", "atomicmax", "atomicmin")
_LOW = -1e4


@dataclass
class Tile:
    """What the elements of an array of a block are."""

    holds: np.ndarray
    hidden: np.ndarray


class Useful(Executor):
    """Counts useful multiply-accumulates, and those that only masks hide."""

    def run(self) -> dict[str, Any]:
        #: Those of each product, by the names of its arrays.
        self.useful: Counter[str] = Counter()
        self.masked: Counter[str] = Counter()
        self.state: dict[int, Tile] = {}
        #: By array, products of which it is not known yet whether a mask hides their results.
        self.open: defaultdict[int, list[tuple[str, np.ndarray]]] = defaultdict(list)
        super().run()
        self._settle_all()
        return {name: [self.useful[name], self.masked[name]] for name in self.useful}

    def _in_order(self, body: Any) -> bool:
        return not self.cooperative

    def bound(self, tag: str, variable: int, extent: Any, body: Any, at: Points) -> Any:
        if tag.startswith("threadIdx") or tag in at.columns:
            return super().bound(tag, variable, extent, body, at)
        for part in at.expanded(variable, 0, self.known(extent, at), 1):
            part.columns[tag] = part.columns[variable]
            for row in range(part.size):
                self.tally.work(1)
                self.statement(body, part.take(np.asarray([row])))
        return None

    def launched(self, extents: list[int], block: Any, at: Points) -> Any:
        self._settle_all()
        self.state.clear()
        return super().launched(extents, block, at)

    # -- tile operations ------------------------------------------------------------------------

    def tile(self, name: str, call: Any, at: Points, times: int) -> None:
        super().tile(name, call, at, times)
        if at.size == 0:
            return
        if at.size > 1:
            raise RefusedError("a tile operation at several points")
        kind = name.removeprefix("tl.")
        if kind in _PRODUCTS:
            self._multiplied(call, at)
        elif kind in _COPIES:
            self._copied(call, at)
        else:
            arrays = [ir.buffer_of(node.args[0]) for node in call.args if _is_region(node)]
            # What these read is first, what they write second (a filled tile is both).
            written = arrays[1:2] if kind in _TO_SECOND and len(arrays) > 1 else arrays
            for buffer in arrays:
                self._settle(ir.key(buffer))
            for buffer in written:
                self.state.pop(ir.key(buffer), None)

    def _copied(self, call: Any, at: Points) -> None:
        source, target = self.region(call.args[0], at), self.region(call.args[1], at)
        nearer = source if level(source) >= level(target) else target
        source, target = (formed_like(nearer, box) for box in (source, target))
        self._settle(ir.key(source.buffer))
        if target.scope == "global":
            return
        self._settle(ir.key(target.buffer))
        place = self._slices(target, at)
        tile = self._tile(target.buffer, at)
        if source.scope == "global":
            low, high = self.clipped(source, at)
            sides = []
            for axis, corner in enumerate(source.corner):
                here = int(at.full(corner)[0]) + np.arange(int(at.full(source.sizes[axis])[0]))
                sides.append((here >= int(low[axis][0])) & (here < int(high[axis][0])))
            holds = functools.reduce(np.logical_and.outer, sides)
            hidden = np.zeros_like(holds)
        else:
            other = self._tile(source.buffer, at)
            holds, hidden = (part[self._slices(source, at)] for part in (other.holds, other.hidden))
        tile.holds[place] = holds.reshape(tile.holds[place].shape)
        tile.hidden[place] = hidden.reshape(tile.hidden[place].shape)

    def _multiplied(self, call: Any, at: Points) -> None:
        if ir.constant(dict(call.annotations.items()).get("use_2cta")):
            raise RefusedError("a product of two blocks")
        boxes = [self.region(argument, at) for argument in call.args[:3]]
        product = " ".join(sorted({str(box.buffer.name) for box in boxes}))
        a, b = (self._operand(box, call.args[3 + n], at) for n, box in enumerate(boxes[:2]))
        key, place = ir.key(boxes[2].buffer), self._slices(boxes[2], at)
        for box in boxes[:2]:
            self._settle(ir.key(box.buffer))
        every = a.holds.astype(int) @ b.holds.astype(int)
        kept = (a.holds & ~a.hidden).astype(int) @ (b.holds & ~b.hidden).astype(int)
        self.masked[product] += int((every - kept).sum())
        c = self._tile(boxes[2].buffer, at)
        shape = c.holds[place].shape
        added = not self.known(call.args[9], at)
        hidden = c.hidden[place].reshape(kept.shape) & added
        self.masked[product] += int(kept[hidden].sum())
        c.hidden[place] = hidden.reshape(shape)
        rows, columns = a.holds.any(axis=1), b.holds.any(axis=0)
        c.holds[place] = (rows[:, None] & columns).reshape(shape)
        whole = np.zeros(c.holds.shape, dtype=int)
        whole[place] = np.where(hidden, 0, kept).reshape(shape)
        self.open[key].append((product, whole))

    def _operand(self, box: Box, transposed: Any, at: Points) -> Tile:
        tile = self._tile(box.buffer, at)
        holds, hidden = (part[self._slices(box, at)] for part in (tile.holds, tile.hidden))
        shape = [size for size in holds.shape if size != 1]
        shape = shape[-2:] if len(shape) >= 2 else list(holds.shape[-2:])
        holds, hidden = holds.reshape(shape), hidden.reshape(shape)
        return Tile(holds.T, hidden.T) if ir.constant(transposed) else Tile(holds, hidden)

    # -- element by element ---------------------------------------------------------------------

    def _run_BufferStore(self, node: Any, at: Points) -> None:  # noqa: N802
        super()._run_BufferStore(node, at)
        buffer = ir.buffer_of(node)
        key = ir.key(buffer)
        if ir.scope_of(buffer) == "global" or self.is_small(buffer) or not at.size:
            self._read(node.value, None)
            return
        place = [self.value(index, at, 0)[0] for index in node.indices]
        if not self.cooperative or any(value is UNKNOWN for value in place):
            self._read(node.value, None)
            self._settle(key)
            self.state.pop(key, None)
            return
        where = tuple(at.full(value) for value in place)
        own = self._is_own(node)
        self._read(node.value, key if own else None)
        tile = self._tile(buffer, at)
        sides = self._sides(node, where, at)
        if not own:
            self._settle(key)
        for chosen, how in sides:
            there = tuple(index[chosen] for index in where)
            if how is None:
                continue
            if isinstance(how, Tile):
                tile.holds[there], tile.hidden[there] = how.holds[chosen], how.hidden[chosen]
                continue
            tile.hidden[there] = how
            for product, whole in self.open[key] if how else ():
                self.masked[product] += int(whole[there].sum())
                whole[there] = 0

    _run_TensorStore = _run_BufferStore  # noqa: N815

    def _sides(self, node: Any, where: tuple[np.ndarray, ...], at: Points) -> list[Any]:
        """What becomes of which elements: None (they stay), hidden or not, or as computed."""
        value = node.value
        if ir.kind(value) == "Call" and ir.called(value) in _CHOICES:
            condition, *sides = value.args
        elif ir.kind(value) == "Select":
            condition, sides = value.condition, [value.true_value, value.false_value]
        else:
            return [(np.ones(at.size, dtype=bool), self._computed(node, value, where, at))]
        holds, _ = self.value(condition, at, 0)
        if holds is UNKNOWN:
            return [(np.ones(at.size, dtype=bool), self._computed(node, value, where, at))]
        yes = at.full(holds).astype(bool)
        found = []
        for side, other, chosen in ((*sides, yes), (*sides[::-1], ~yes)):
            how: Any = self._computed(node, side, where, at)
            if _number(side) is not None and (_is_own(other, node) or _number(other) is not None):
                how = _number(side) <= _LOW or _is_own(other, node)
            found.append((chosen, None if _is_own(side, node) else how))
        return found

    def _computed(self, node: Any, value: Any, where: Any, at: Points) -> Tile | None:
        """An element holds something where those do at the same place that it is made of."""
        tile = Tile(np.ones(at.size, dtype=bool), np.zeros(at.size, dtype=bool))
        for load in _loads(value):
            buffer = ir.buffer_of(load)
            if ir.scope_of(buffer) == "global" or len(load.indices) != len(where):
                continue
            if ir.key(buffer) == ir.key(ir.buffer_of(node)) and self._is_own(node):
                return None
            place = [self.value(index, at, 0)[0] for index in load.indices]
            if any(one is UNKNOWN for one in place) or list(buffer.shape) != list(
                ir.buffer_of(node).shape
            ):
                continue
            place = tuple(at.full(one) for one in place)
            if all((one == other).all() for one, other in zip(place, where, strict=True)):
                other = self._tile(buffer, at)
                tile.holds &= other.holds[place]
                tile.hidden |= other.hidden[place]
        return tile

    def _is_own(self, node: Any) -> bool:
        """Whether an element is made of what it was."""
        return any(_is_own(load, node) for load in _loads(node.value))

    def _read(self, value: Any, but: int | None) -> None:
        for load in _loads(value):
            if ir.key(ir.buffer_of(load)) != but:
                self._settle(ir.key(ir.buffer_of(load)))

    # -- what is known --------------------------------------------------------------------------

    def _tile(self, buffer: Any, at: Points) -> Tile:
        key = ir.key(buffer)
        if key not in self.state:
            shape = self.shape(buffer, at)
            self.state[key] = Tile(np.ones(shape, dtype=bool), np.zeros(shape, dtype=bool))
        return self.state[key]

    def _slices(self, box: Box, at: Points) -> tuple[slice, ...]:
        corner = [int(at.full(value)[0]) for value in box.corner]
        sizes = [int(at.full(size)[0]) for size in box.sizes]
        return tuple(slice(low, low + size) for low, size in zip(corner, sizes, strict=True))

    def _settle(self, key: int) -> None:
        """No mask can hide what has been read."""
        for product, whole in self.open.pop(key, ()):
            self.useful[product] += int(whole.sum())

    def _settle_all(self) -> None:
        for key in list(self.open):
            self._settle(key)


def _is_region(node: Any) -> bool:
    return ir.kind(node) == "Call" and ir.called(node) == "tl.region"


def _loads(value: Any) -> list[Any]:
    return [part for part in ir.everything(value) if ir.kind(part) in ("BufferLoad", "TensorLoad")]


def _is_own(value: Any, node: Any) -> bool:
    """Whether a value is the element that it is stored to."""
    return (
        ir.kind(value) in ("BufferLoad", "TensorLoad")
        and ir.key(ir.buffer_of(value)) == ir.key(ir.buffer_of(node))
        and all(one.same_as(other) or str(one) == str(other)
                for one, other in zip(value.indices, node.indices, strict=True))
    )  # fmt: skip


def _number(value: Any) -> float | None:
    """The value of a constant, of infinity and of its contrary."""
    if ir.kind(value) == "Cast":
        return _number(value.value)
    if ir.kind(value) == "Call" and ir.called(value) == "tl.infinity":
        return float("inf")
    if ir.kind(value) == "Mul":
        factors = _number(value.a), _number(value.b)
        return None if None in factors else factors[0] * factors[1]
    found = ir.constant(value)
    return float(found) if isinstance(found, (int, float)) else None
