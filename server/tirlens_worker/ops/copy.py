"""Tile copies: ``T.copy``, ``T.async_copy``, ``T.tma_copy``, the gather and scatter of four rows.

A block copies a box once.  Elements outside a global array are not accessed: the lowered loop
guards each element with the bounds of the array, and TMA has predicates in hardware.  If the two
boxes have different sizes, the loop iterates over the box closer to the registers (the source if
both are equally close).  Its extents apply to both boxes, in order of the dimensions other than 1.
A copy between element types converts each element.

Sources: tilelang ``src/op/copy.cc`` (MakeIterVars, MakeIndices, MakePredicate, MakeSIMTLoop) and
``tilelang/language/copy_op.py`` (gather4_rows, scatter4).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple

from ..facts import Access, AccessMode, Arith, Copy, Expr, Route, Statement, Transpose
from .build import access, elements_inside, executor, hints_of, label, not_understood, plus
from .registry import Context, Region, accounts
from .sync import signal


@accounts("tl.tileop.copy", "tl.tileop.ascend_copy")
def copy(call: Any, context: Context) -> Statement:
    """``T.copy(src, dst)``: lowering chooses the mechanism."""
    return _copy(call, context, "copy", "tile")


@accounts("tl.tileop.async_copy")
def async_copy(call: Any, context: Context) -> Statement:
    """``T.async_copy(src, dst)``: issues cp.async."""
    return _copy(call, context, "async_copy", "async")


@accounts("tl.tileop.tma_copy")
def tma_copy(call: Any, context: Context) -> Statement:
    """``T.tma_copy(src, dst)``: issues TMA."""
    return _copy(call, context, "tma_copy", "tma")


def _copy(call: Any, context: Context, name: str, route: Route) -> Statement:
    source, target = context.region(call.args[0]), context.region(call.args[1])
    if source is None or target is None:
        return not_understood(call, context, "an operand is no region of a buffer")
    source, target = _same_box(source, target)
    hints = hints_of(call)
    if "is_gather4" in hints or "is_scatter4" in hints:
        route = "tma"
    without_tma = "disable_tma" in hints and bool(context.literal(hints["disable_tma"]))
    signals = signal("bring", hints["barrier"], context) if "barrier" in hints else None
    return Copy(
        label=label(name, source, target),
        arith=_conversion(context, source, target),
        accesses=(
            *_boxes(context, hints, "is_gather4", source, "read", route),
            *_boxes(context, hints, "is_scatter4", target, "write", route),
        ),
        per=executor(source, target),
        signals=() if signals is None else (signals,),
        may_use_tma=not without_tma,
    )


def _conversion(context: Context, source: Region, target: Region) -> Tuple[Arith, ...]:
    if source.buffer.dtype == target.buffer.dtype:
        return ()
    return (
        Arith(
            op="cast",
            dtype=source.buffer.dtype,
            accumulator=target.buffer.dtype,
            count=elements_inside(context, target, source),
        ),
    )


def _boxes(
    context: Context, hints: Any, four_rows: str, region: Region, mode: AccessMode, route: Route
) -> Tuple[Access, ...]:
    if four_rows not in hints:
        return (access(region, mode, route),)
    column = context.expr(hints["gather4_col"])
    width = region.extents[-1]
    return tuple(
        access(Region(region.buffer, (context.expr(row), column), (1, width)), mode, route)
        for row in hints["gather4_rows"]
    )


def _same_box(source: Region, target: Region) -> Tuple[Region, Region]:
    if _nearness(source) >= _nearness(target):
        return source, _sized_like(target, source)
    return _sized_like(source, target), target


def _nearness(region: Region) -> int:
    scope = region.buffer.scope
    if scope.startswith("local"):
        return 2
    return 1 if scope.startswith("shared") else 0


def _sized_like(region: Region, base: Region) -> Region:
    sizes_of_base = [extent for extent in base.extents if extent != 1]
    if sum(extent != 1 for extent in region.extents) != len(sizes_of_base):
        return region
    sizes = iter(sizes_of_base)
    return Region(
        region.buffer,
        region.indices,
        tuple(1 if extent == 1 else next(sizes) for extent in region.extents),
    )


@accounts("tl.tileop.transpose")
def transpose(call: Any, context: Context) -> Statement:
    """``T.transpose(src, dst)``: one read and write of each element (``src/op/transpose.cc``)."""
    source, target = context.region(call.args[0]), context.region(call.args[1])
    if source is None or target is None:
        return not_understood(call, context, "an operand is no region of a buffer")
    return Transpose(
        label=label("transpose", source, target),
        accesses=(access(source, "read", "tile"), access(target, "write", "tile")),
        per=executor(source, target),
    )


@accounts("tl.tileop.im2col", "tl.tileop.c2d_im2col")
def im2col(call: Any, context: Context) -> Statement:
    """``T.im2col(img, col, nhw_step, c_step, kernel, stride, dilation, pad)``.

    The tile of `col` has rows ``nhw_step * rows + i`` (an output pixel) and columns
    ``c_step * columns + j`` (a tap and a channel).  Each of its elements reads one element of the
    NHWC image, or padding, at indices with divisions of the row and column.  The access is
    approximated by the box of image rows that a tile in one image and one tap reads.  Its size is
    exact for a stride of 1 away from the borders, its address is approximate.
    """
    image, tile = context.region(call.args[0]), context.region(call.args[1])
    if image is None or tile is None:
        return not_understood(call, context, "an operand is no region of a buffer")
    row_step, column_step = context.expr(call.args[2]), context.expr(call.args[3])
    kernel, stride, dilation, padding = (
        _integer(context.literal(argument)) for argument in call.args[4:8]
    )
    rows, columns = tile.extents[-2], tile.extents[-1]
    reads: Tuple[Access, ...] = ()
    if (
        kernel is None
        or stride is None
        or dilation is None
        or padding is None
        or len(image.buffer.shape) != 4
    ):
        context.add_caveat("im2col: not a constant convolution window; its reads are left out")
    else:
        context.add_caveat("im2col: which elements of the image a tile reads is approximated")
        window = _Window(kernel, stride, dilation, padding)
        reads = (_read_by(window, image, row_step, column_step, rows, columns),)
    return Copy(
        label=label("im2col", image, tile),
        accesses=(*reads, access(tile, "write", "tile")),
        per="block",
    )


class _Window(NamedTuple):
    """The window of a convolution: sizes in elements along one side."""

    kernel: int
    stride: int
    dilation: int
    padding: int


def _integer(value: Any) -> Optional[int]:
    return value if isinstance(value, int) else None


def _read_by(
    window: _Window, image: Region, row_step: Expr, column_step: Expr, rows: Expr, columns: Expr
) -> Access:
    _, height, width, channels = image.buffer.shape
    kernel, stride, dilation, padding = window
    reach = 2 * padding - (kernel - 1) * dilation - 1
    out_height = plus(("//", plus(height, reach), stride), 1)
    out_width = plus(("//", plus(width, reach), stride), 1)
    pixel: Expr = ("*", row_step, rows)
    tap: Expr = ("*", column_step, columns)
    out_size = ("*", out_height, out_width)
    row = ("//", ("%", pixel, out_size), out_width)
    column = ("%", pixel, out_width)
    tap_row = ("//", tap, ("*", kernel, channels))
    tap_column = ("%", ("//", tap, channels), kernel)
    lines = ("//", ("-", plus(rows, out_width), 1), out_width)
    return Access(
        buffer=image.buffer.id,
        mode="read",
        indices=(
            ("//", pixel, out_size),
            ("-", ("+", ("*", row, stride), ("*", tap_row, dilation)), padding),
            ("-", ("+", ("*", column, stride), ("*", tap_column, dilation)), padding),
            ("%", tap, channels),
        ),
        extents=(1, lines, ("//", rows, lines), columns),
        clipped=True,
        route="tma",
    )
