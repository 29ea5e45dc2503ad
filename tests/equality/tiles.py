"""Tile operations by their own documentation: what the threads of a block do together, once.

tilelang (``language/copy_op.py``, ``gemm_op.py``, ``reduce_op.py``, ``scan_op.py``, ``atomic.py``
and ``src/op``): a copy moves what lies inside both arrays and converts each element if the types
differ; a product of M x K and K x N takes M*N*K multiply-accumulates; a reduction combines every
element of its source once, a scan as well; an atomic update is one operation an element.

apache-tvm (``tirx/operator/tile_primitive/ops.py``): the same by the regions of the operands, once
for each thread, warp, warpgroup or block that the operation's scope names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equality import language as ir
from equality.accesses import Accesses, Box
from equality.language import RefusedError
from equality.points import UNKNOWN, Points

_LEVELS = {"local.fragment": 2, "local": 2, "shared": 1, "shared.dyn": 1, "shared.tmem": 1}
_COMBINE = {
    "sum": ("add",), "abssum": ("abs", "add"), "max": ("max",), "absmax": ("abs", "max"),
    "min": ("min",), "bitand": ("bitwise",), "bitor": ("bitwise",), "bitxor": ("bitwise",),
}  # fmt: skip
_EACH = {
    "zero": (), "fill": (), "memset": (), "sqrt": ("sqrt",), "exp": ("exp",), "exp2": ("exp2",),
    "log2": ("log2",), "reciprocal": ("rcp",), "silu": ("sigmoid", "mul"), "add": ("add",),
    "sub": ("sub",), "mul": ("mul",), "fdiv": ("div",), "fma": ("fma",), "maximum": ("max",),
    "minimum": ("min",), "max": ("max",), "min": ("min",), "sum": ("add",), "cast": (),
}  # fmt: skip
_LANES = {"thread": 1, "": 1, "warp": 32, "warpgroup": 128, "wg": 128}


def _index_loads(call: Any) -> list:
    """The loads of global arrays in corners and sizes of a tile operation's boxes, each once."""
    found: dict[str, Any] = {}
    for argument in call.args:
        if ir.kind(argument) == "Call" and ir.called(argument) == "tl.region":
            for index in (*argument.args[0].indices, *argument.args[2:]):
                loads = (node for node in ir.everything(index) if ir.kind(node) == "BufferLoad")
                for load in loads:
                    if ir.scope_of(ir.buffer_of(load)) in ("", "global"):
                        found.setdefault(str(load), load)
    return list(found.values())


class Tiles(Accesses):
    """The tile operations of both frameworks."""

    #: How many blocks a cluster has along each axis.
    cluster: list[int]
    #: The operation of each reducer by the name of its array.
    reducers: dict[str, str]

    def is_cooperative(self, call: Any) -> bool:
        """Whether the threads of a block execute `call` once, together."""
        name = ir.called(call)
        if not hasattr(self, "_tile_" + name.replace(".", "_")):
            return False
        if "atomic" in name:
            return True
        # An array in a thread's own registers is worked on by that thread alone.
        return not any(
            ir.scope_of(buffer) in ("local", "local.var") for buffer in self._arrays(call)
        )

    def _arrays(self, call: Any) -> list:
        found = []
        for argument in call.args:
            if ir.kind(argument) == "Call" and ir.called(argument) == "tl.region":
                found.append(ir.buffer_of(argument.args[0]))
        return found

    def tile(self, name: str, call: Any, at: Points, times: int) -> None:
        """Executes a tile operation at each point `times` times."""
        self.tally.work(at.size)
        for load in _index_loads(call):
            self.touch(load, "read", at, times)
        getattr(self, "_tile_" + name.replace(".", "_"))(call, at, times)

    def rank_in_cluster(self, at: Points) -> Any:
        """The number of a block in its cluster, x fastest."""
        rank: Any = 0
        for axis in reversed(range(len(self.cluster))):
            index = at.columns.get("blockIdx." + "xyz"[axis], 0)
            rank = rank * self.cluster[axis] + index % self.cluster[axis]
        return rank

    def _convert(self, at: Points, times: int, source: Box, target: Box) -> None:
        if str(source.buffer.dtype) != str(target.buffer.dtype):
            moved = self.volume_inside(at, source, target) * times
            self.tally.conversion(str(source.buffer.dtype), str(target.buffer.dtype), moved)

    def _tile_tl_copy(self, call: Any, at: Points, times: int) -> None:
        hints = dict(call.annotations.items()) if getattr(call, "annotations", None) else {}
        if any("gather4" in str(hint) or "scatter4" in str(hint) for hint in hints):
            raise RefusedError("a gather of four rows")
        source, target = self.region(call.args[0], at), self.region(call.args[1], at)
        nearer = source if level(source) >= level(target) else target
        source, target = (formed_like(nearer, box) for box in (source, target))
        self._convert(at, times, source, target)
        self.touch_box(source, "read", at, times)
        self.touch_box(target, "write", at, times)

    _tile_tl_async_copy = _tile_tl_tma_copy = _tile_tl_copy

    def _tile_tl_transpose(self, call: Any, at: Points, times: int) -> None:
        self.touch_box(self.region(call.args[0], at), "read", at, times)
        self.touch_box(self.region(call.args[1], at), "write", at, times)

    def _tile_tl_fill(self, call: Any, at: Points, times: int) -> None:
        self.value(call.args[1], at, times)
        self.touch_box(self.region(call.args[0], at), "write", at, times)

    def _tile_tl_reducer_init(self, call: Any, at: Points, times: int) -> None:
        """A reducer lives in registers until it is finalized into its target."""

    _tile_tl_finalize_reducer = _tile_tl_finalize_reducer_v2 = _tile_tl_reducer_init

    def _tile_tl_gemm(self, call: Any, at: Points, times: int) -> None:
        if ir.constant(dict(call.annotations.items()).get("use_2cta")):
            # The first block of a pair multiplies for both.
            at = at.take(np.equal(at.full(self.rank_in_cluster(at)), 0))
            times *= 2
        a, b, c = (self.region(argument, at) for argument in call.args[:3])
        for box in (a, b):
            self.touch_box(box, "read", at, times)
        self._accumulate(c, self._added(call.args[9], at), at, times)
        self._multiply(a, c, bool(ir.constant(call.args[3])), at, times)

    _tile_tl_gemm_py = _tile_tl_wgmma_gemm = _tile_tl_tcgen05_gemm = _tile_tl_gemm

    def _tile_tl_gemm_blockscaled(self, call: Any, at: Points, times: int) -> None:
        """The scales are operands too."""
        for scales in call.args[13:15]:
            self.touch_box(self.region(scales, at), "read", at, times)
        self._tile_tl_gemm(call, at, times)

    _tile_tl_tcgen05_gemm_blockscaled = _tile_tl_gemm_blockscaled

    def _added(self, clear: Any, at: Points) -> np.ndarray:
        """Where a product is added to what its result holds, which is not cleared first."""
        return np.logical_not(at.full(self.known(clear, at)))

    def _accumulate(self, c: Box, added: np.ndarray, at: Points, times: int) -> None:
        if added.any():
            corner, sizes = ([_at(value, added) for value in part] for part in (c.corner, c.sizes))
            self.touch_box(Box(c.buffer, corner, sizes), "read", at.take(added), times)
        self.touch_box(c, "write", at, times)

    def _tile_tl_gemm_sp(self, call: Any, at: Points, times: int) -> None:
        """2:4: only A is compressed, so the depth is B's."""
        a, metadata, b, c = (self.region(argument, at) for argument in call.args[:4])
        for box in (a, metadata, b):
            self.touch_box(box, "read", at, times)
        self._accumulate(c, self._added(call.args[11], at), at, times)
        (m, n), (rows, columns) = _matrix(c), _matrix(b)
        depth = columns if ir.constant(call.args[6]) else rows
        work = m * n * depth * at.size * times
        self.tally.operation("mma", str(a.buffer.dtype), work, sparsity=2)

    _tile_tl_gemm_sp_py = _tile_tl_wgmma_gemm_sp = _tile_tl_tcgen05_gemm_sp = _tile_tl_gemm_sp

    def _multiply(self, a: Box, c: Box, transposed: bool, at: Points, times: int) -> None:
        (m, n), (rows, columns) = _matrix(c), _matrix(a)
        depth = rows if transposed else columns
        self.tally.operation("mma", str(a.buffer.dtype), m * n * depth * at.size * times)

    def _tile_tl_reduce(self, call: Any, at: Points, times: int) -> None:
        source, target = self.region(call.args[0], at), self.region(call.args[1], at)
        for operation in _COMBINE[str(ir.constant(call.args[2]))]:
            elements = self.volume(source, at) * times
            self.tally.operation(operation, str(source.buffer.dtype), elements)
        self.touch_box(source, "read", at, times)
        self.touch_box(target, "write", at, times)

    def _tile_tl_cumsum(self, call: Any, at: Points, times: int) -> None:
        source, target = self.region(call.args[0], at), self.region(call.args[1], at)
        operation = "max" if ir.called(call).endswith("max") else "add"
        elements = self.volume(source, at) * times
        self.tally.operation(operation, str(source.buffer.dtype), elements)
        self.touch_box(source, "read", at, times)
        self.touch_box(target, "write", at, times)

    _tile_tl_cummax = _tile_tl_cumsum

    def _tile_tl_atomicadd(self, call: Any, at: Points, times: int) -> None:
        target = self.region(call.args[1], at)
        if ir.kind(call.args[0]) == "Call" and ir.called(call.args[0]) == "tl.region":
            source = self.region(call.args[0], at)
            if self.volume(target, at) < self.volume(source, at):
                target = formed_like(source, target)
            self.touch_box(source, "read", at, times)
        else:
            source = target
            self.value(call.args[0], at, times)
        operation = ir.called(call).split("atomic")[1]
        self.tally.operation(
            operation, str(target.buffer.dtype), self.volume_inside(at, source, target) * times
        )
        self.touch_box(target, "atomic", at, times)

    _tile_tl_atomicmax = _tile_tl_atomicmin = _tile_tl_atomicadd

    # -- apache-tvm -----------------------------------------------------------------------------

    def _run_TilePrimitiveCall(self, node: Any, at: Points) -> None:  # noqa: N802
        name = str(node.op.name).rsplit(".", 1)[-1]
        scope = str(getattr(node.scope, "name", node.scope) or "")
        for part in at.with_threads() if scope in _LANES else (at.by_block(),):
            self.tally.work(part.size)
            share = _LANES.get(scope, 1)
            # What a group does together is done by the first of its threads.
            firsts = self.requests.number_in_block(part) % share == 0
            if part.size != share * int(firsts.sum()):
                raise RefusedError("a warp of which only some lanes are here")
            self._primitive(name, node, part.take(firsts))

    def _primitive(self, name: str, call: Any, at: Points) -> None:
        boxes = [self._operand(argument, at) for argument in call.args]
        target = boxes[0]
        if target is None:
            raise RefusedError(f"{name} without a target")
        if name in ("copy", "copy_async", "permute_layout"):
            source = boxes[1]
            if source is None:
                raise RefusedError(f"{name} of no region")
            self._convert_all(source, target, at)
            self.touch_box(source, "read", at, 1)
            self.touch_box(target, "write", at, 1)
        elif name == "gemm" and boxes[1] is not None:
            self._multiply(boxes[1], target, bool(ir.constant(call.args[4])), at, 1)
            self._operands(boxes[1:4], at)
            self.touch_box(target, "write", at, 1)
        elif name == "gemm_async" and boxes[1] is not None:
            scaled = len(call.args) == 8
            self._multiply(
                boxes[1], target, bool(ir.constant(call.args[5 if scaled else 3])), at, 1
            )
            self._operands(boxes[1 : 5 if scaled else 3], at)
            self._accumulate(target, at.full(self.known(call.args[-1], at)).astype(bool), at, 1)
        elif name in _EACH:
            self._elementwise(name, call, target, [box for box in boxes[1:] if box], at)
        else:
            raise RefusedError(f"the tile primitive {name}")

    def _operands(self, boxes: list, at: Points) -> None:
        for box in boxes:
            if box is not None:
                self.touch_box(box, "read", at, 1)

    def _convert_all(self, source: Box, target: Box, at: Points) -> None:
        if str(source.buffer.dtype) != str(target.buffer.dtype):
            types = str(source.buffer.dtype), str(target.buffer.dtype)
            self.tally.conversion(*types, self.volume(target, at))

    def _elementwise(self, name: str, call: Any, target: Box, sources: list, at: Points) -> None:
        if name in ("exp", "exp2", "log2", "sqrt") and len(call.args) > 2:
            raise RefusedError(f"{name} with a bias or scale")
        over = sources[0] if sources and name in ("sum", "max", "min", "cast") else target
        if name == "cast":
            types = str(over.buffer.dtype), str(target.buffer.dtype)
            self.tally.conversion(*types, self.volume(over, at))
        for operation in _EACH[name]:
            self.tally.operation(operation, str(over.buffer.dtype), self.volume(over, at))
        for box in sources:
            self.touch_box(box, "read", at, 1)
        self.touch_box(target, "write", at, 1)

    def _operand(self, node: Any, at: Points) -> Box | None:
        if ir.kind(node) in ("BufferRegion", "TensorRegion") or ir.is_buffer(node):
            return self.region(node, at)
        return None


def _at(value: Any, chosen: np.ndarray) -> Any:
    return value[chosen] if isinstance(value, np.ndarray) and value.ndim else value


def level(box: Box) -> int:
    return _LEVELS.get(box.scope, 0)


def formed_like(base: Box, box: Box) -> Box:
    """`box` with the sizes of `base` along the dimensions that have more than one element."""
    sizes = [base.sizes[axis] for axis in base.wide()]
    axes = box.wide()
    if box is base or (not axes and not sizes):
        return box
    if len(axes) != len(sizes):
        raise RefusedError("boxes of different forms")
    formed = list(box.sizes)
    for axis, size in zip(axes, sizes, strict=True):
        formed[axis] = size
    return Box(box.buffer, box.corner, formed)


def _matrix(box: Box) -> tuple[int, int]:
    """Rows and columns: the last two dimensions, or the last two that are wide."""
    sizes = [int(size) for size in box.sizes]
    wide = [size for size in sizes if size != 1]
    if len(sizes) < 2:
        raise RefusedError("a product of a vector")
    rows, columns = wide[-2:] if len(wide) >= 2 else sizes[-2:]
    return rows, columns


__all__ = ["UNKNOWN", "Tiles"]
