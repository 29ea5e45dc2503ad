"""Windows that slide with the row, and branches that read mirrored tiles: bytes, trips, roofline.

Each figure is derived by hand from the loop bounds.
"""

from __future__ import annotations

import pytest

from support.kernels import leaves, site
from tirlens.hardware import load
from tirlens.ide import hovers, labels, tables
from tirlens.model import analyze
from tirlens.model.gpu.memory.access_footprint import AccessFootprint
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Copy,
    Expr,
    KernelFacts,
    Launch,
    Loop,
    Node,
    Span,
    Store,
)

H100 = load("h100-sxm")
ROWS, COLUMNS, TILE = 1 << 20, 64, 128
ROW: Expr = ("+", ("*", "bx", 256), "tx")


def kernel(
    body: tuple[Node, ...], grid: tuple[int, ...], threads: int, buffers: tuple[Buffer, ...]
) -> KernelFacts:
    for axis, (name, extent) in enumerate(zip(("bx", "by"), grid, strict=False)):
        body = (Loop("grid", name, 0, extent, body, tag=f"blockIdx.{'xy'[axis]}", sites=site(1)),)
    return KernelFacts(
        name="main",
        definition="main",
        span=Span(1, 0, 1, 5),
        framework="tilelang",
        framework_version="0.1.15",
        call="main",
        call_source="direct",
        variables=(),
        buffers=buffers,
        body=body,
        launch=Launch(grid=grid, threads=(threads,)),
    )


def windowed(start: Expr, extent: Expr) -> KernelFacts:
    """``B[row, j] += A[k, j]`` for the rows k of a window that depends on the row."""
    store = Store(
        label="B[row, j] += A[k, j]",
        arith=(Arith("add", "float32", 1),),
        accesses=(Access("A", "read", ("k", "j")), Access("B", "write", (ROW, "j"))),
        sites=site(5),
    )
    body: tuple[Node, ...] = (Loop("serial", "j", 0, COLUMNS, (store,), sites=site(4)),)
    body = (Loop("serial", "k", start, extent, body, sites=site(3)),)
    body = (Loop("block", "tx", 0, 256, body, tag="threadIdx.x", sites=site(2)),)
    buffers = (
        Buffer("A", "A", "float32", (ROWS + 4, COLUMNS), is_parameter=True),
        Buffer("B", "B", "float32", (ROWS, COLUMNS), is_parameter=True),
    )
    return kernel(body, (ROWS // 256,), 256, buffers)


FIRST: Expr = ("max", 0, ("-", ROW, 4))
WINDOWS = {
    "the five rows to this one": windowed(FIRST, ("-", ("+", ROW, 1), FIRST)),
    "the five rows from this one": windowed(ROW, 5),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_all_rows_of_sliding_windows_come_from_dram(name: str) -> None:
    report = analyze(WINDOWS[name], H100)
    array = ROWS * COLUMNS * 4
    assert report.dram_bytes.read is not None and report.time_s is not None
    assert array <= report.dram_bytes.read <= 1.02 * array
    assert report.roofline_time_s is not None and report.time_s >= report.roofline_time_s


@pytest.mark.parametrize("name", WINDOWS)
def test_a_window_has_its_rows_as_trips(name: str) -> None:
    report = analyze(WINDOWS[name], H100)
    (window,) = [cost for _, cost in report.walk() if cost.label.startswith("for k")]
    assert window.trips == 5


def test_a_window_within_the_array_has_its_rows_as_trips() -> None:
    """Each minimum and maximum is one of the bounds: the row cancels in one pair of them."""
    start: Expr = ("max", 0, ("-", ROW, 5))
    report = analyze(windowed(start, ("-", ("min", ROWS, ("+", ROW, 6)), start)), H100)
    (window,) = [cost for _, cost in report.walk() if cost.label.startswith("for k")]
    assert window.trips == 11
    assert window.mean_trips == pytest.approx(11 - 2 * (5 + 4 + 3 + 2 + 1) / ROWS)


def test_the_trips_of_a_triangle_are_a_maximum() -> None:
    report = analyze(windowed(0, ("+", "tx", 1)), H100)
    (loop,) = [cost for _, cost in report.walk() if cost.label.startswith("for k")]
    assert (loop.trips, loop.mean_trips) == (256, 128.5)
    assert tables.line_cells(loop)["trips"] == "<=256"
    assert "up to 256, 129 on average" in hovers.node(loop, report)
    (rectangle,) = [cost for _, cost in report.walk() if cost.label.startswith("for j")]
    assert (rectangle.trips, rectangle.mean_trips) == (COLUMNS, None)


def test_the_roofline_is_no_upper_bound() -> None:
    def tile(row: str, column: str) -> Copy:
        corner = (("*", row, TILE), ("*", column, TILE))
        return Copy(
            label="T.copy(A, S)",
            accesses=(
                Access("A", "read", corner, (TILE, TILE), route="tile"),
                Access("S", "write", (0, 0), (TILE, TILE), route="tile"),
            ),
            sites=site(4),
        )

    size, blocks = 8192, 64
    branch = Branch(("<", "bx", "by"), (tile("bx", "by"),), (tile("by", "bx"),), sites=site(3))
    buffers = (
        Buffer("A", "A", "float32", (size, size), is_parameter=True),
        Buffer("S", "S", "float32", (TILE, TILE), scope="shared.dyn"),
    )
    report = analyze(kernel((branch,), (blocks, blocks), 128, buffers), H100)
    triangle = blocks * (blocks + 1) // 2 * TILE * TILE * 4
    assert report.dram_bytes.read is not None and report.time_s is not None
    assert triangle <= report.dram_bytes.read <= size * size * 4
    assert not report.compulsory_is_exact
    assert labels.compulsory(report) == "at most 268 MB"
    assert report.roofline_time_s is not None and report.time_s >= report.roofline_time_s


@pytest.mark.parametrize(
    ("index", "free", "elements"),
    [
        # The iterations of one row, and those of a block's rows: 256 windows that overlap.
        ("k", {"k"}, 5),
        ("k", {"k", "tx"}, 260),
        # The weights of a window are the same for all rows.
        (("-", "k", ROW), {"k"}, 5),
        (("-", "k", ROW), {"k", "tx", "bx"}, 5),
        (("-", ("*", "k", 2), ("*", ROW, 2)), {"k", "tx"}, 5),
    ],
)
def test_the_elements_of_a_window(index: Expr, free: set[str], elements: int) -> None:
    (leaf,) = leaves(windowed(ROW, 5))
    footprint = AccessFootprint(Access("A", "read", (index,)), leaf.context, (ROWS + 4,))
    assert footprint.element_count(free) == elements
    assert footprint.varying_names({"bx"}) == ({"bx"} if index == "k" else set())
