"""DRAM moves whole sectors, whatever the notation of an address, and arrays in place move twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.report import KernelReport
from tirlens_worker.facts import Access, Branch, Buffer, Copy, Expr, Launch, Load, Loop, Store

THREADS = 256
BLOCKS = 1 << 14
ITEMS = THREADS * BLOCKS
FLAT: Expr = ("+", ("*", "bx", THREADS), "tx")


def report(
    reads: list[tuple[str, tuple[Expr, ...]]],
    shapes: dict[str, tuple[int, ...]],
    dtype: str = "float32",
    device: str = "h100-sxm",
) -> KernelReport:
    """Each thread reads these elements and writes its own one of B."""
    buffers = [
        Buffer(name, name, "int32" if name == "I" else dtype, shape, is_parameter=True)
        for name, shape in (*shapes.items(), ("B", (ITEMS,)))
    ]
    accesses = [Access(name, "read", index) for name, index in reads]
    if "I" in shapes:
        accesses.append(Access("I", "read", (FLAT,)))
    body = Store("s", (), (*accesses, Access("B", "write", (FLAT,))))
    return analyze(launched((body,), tuple(buffers), BLOCKS, THREADS), load(device), {})


def flat_stride(stride: int, **options: str) -> KernelReport:
    size = ITEMS * stride
    return report([("A", (("*", FLAT, stride),))], {"A": (size,)}, **options)


@pytest.mark.parametrize(
    "device, sector, stride, moved",
    [
        ("h100-sxm", 32, 1, 4),
        ("h100-sxm", 32, 2, 8),
        ("h100-sxm", 32, 8, 32),
        ("h100-sxm", 32, 32, 32),
        ("mi210", 64, 8, 32),
        ("mi210", 64, 32, 64),
    ],
)
def test_a_strided_read_moves_the_sectors_that_it_touches(
    device: str, sector: int, stride: int, moved: int
) -> None:
    found = flat_stride(stride, device=device)
    assert found.dram_bytes.read == pytest.approx(ITEMS * moved)
    assert found.compulsory_bytes == ITEMS * 8
    assert found.compulsory_sector_bytes == ITEMS * (moved + 4)
    assert found.compulsory_sectors_are_exact
    assert found.time_s is not None
    assert found.time_s >= ITEMS * (moved + 4) / load(device).dram.bytes_per_s


@pytest.mark.parametrize("shape, rest", [((ITEMS, 32), (0,)), ((ITEMS, 4, 8), (0, 0))])
def test_the_notation_of_an_address_changes_nothing(
    shape: tuple[int, ...], rest: tuple[int, ...]
) -> None:
    flat = flat_stride(32)
    column = report([("A", (FLAT, *rest))], {"A": shape})
    for name in ("l2_bytes", "dram_bytes", "compulsory_bytes", "compulsory_sector_bytes"):
        assert getattr(flat, name) == getattr(column, name), name
    assert flat.time_s == pytest.approx(column.time_s)


def test_fields_of_a_record_come_in_one_sector() -> None:
    fields = report([("A", (FLAT, 0)), ("A", (FLAT, 5))], {"A": (ITEMS, 8)})
    assert fields.dram_bytes.read == pytest.approx(ITEMS * 32)
    assert fields.l2_bytes == pytest.approx(ITEMS * 36)


def test_the_halves_of_rows_come_once() -> None:
    """Two statements that load the halves of each sector load no sector twice."""
    places: list[tuple[Expr, ...]] = [(("+", ("*", FLAT, 8), half),) for half in (0, 4)]
    found = report([("A", place) for place in places], {"A": (ITEMS * 8,)})
    assert found.dram_bytes.read == pytest.approx(ITEMS * 32)


def test_rows_that_begin_within_sectors() -> None:
    """Every tenth element of rows of 30 bytes: sectors of neighbouring rows are shared."""
    found = report([("A", (FLAT, 0))], {"A": (ITEMS, 15)}, dtype="float16")
    sectors = len({row * 30 // 32 for row in range(ITEMS)}) * 32
    assert found.compulsory_sector_bytes == sectors + ITEMS * 2
    assert found.dram_bytes.read == pytest.approx(sectors)


@pytest.mark.parametrize("times", [16, 64])
def test_a_gather_moves_a_sector_for_each_element(times: int) -> None:
    selected: Expr = ("load", "I", FLAT)
    found = report([("A", (selected,))], {"A": (ITEMS * times,), "I": (ITEMS,)})
    assert found.dram_bytes.read == pytest.approx(ITEMS * (32 + 4), rel=0.02)
    assert not found.compulsory_is_exact


def test_a_gather_from_a_table_that_stays_in_l2_moves_the_table() -> None:
    table = 1 << 16
    found = report([("A", (("load", "I", FLAT),))], {"A": (table,), "I": (ITEMS,)})
    assert found.dram_bytes.read == pytest.approx((table + ITEMS) * 4, rel=0.02)


def test_a_gather_from_a_table_that_stays_in_l1_loads_it_once_in_each_sm() -> None:
    table = 256
    found = report([("A", (("load", "I", FLAT),))], {"A": (table,), "I": (ITEMS,)})
    sms = load("h100-sxm").sm_count
    assert found.l2_bytes == pytest.approx(ITEMS * 8 + table * 4 * sms, rel=0.001)


@pytest.mark.parametrize("fields", [(6, 7, 8, 9), (6, 9), (1, 13), (0, 4, 8)])
def test_fields_of_a_record_that_is_no_multiple_of_a_sector(fields: tuple[int, ...]) -> None:
    """Fields of records of 80 bytes, which begin in the middle of a sector or at its start."""
    found = report([("A", (FLAT, field)) for field in fields], {"A": (ITEMS, 20)})
    of_two_records = {(80 * record + 4 * field) // 32 for record in (0, 1) for field in fields}
    read = ITEMS // 2 * len(of_two_records) * 32
    assert found.compulsory_sector_bytes == read + ITEMS * 4
    assert found.compulsory_sectors_are_exact
    assert found.dram_bytes.read == pytest.approx(read)


@pytest.mark.parametrize("divisor", [2, 4, 32])
def test_neighbours_that_read_one_element_move_one_sector(divisor: int) -> None:
    index: Expr = ("*", ("//", FLAT, divisor), 16)
    found = report([("A", (index,))], {"A": (ITEMS // divisor * 16,)})
    assert found.dram_bytes.read == pytest.approx(ITEMS // divisor * 32)


def test_a_gather_of_rows_moves_the_rows() -> None:
    row: Expr = ("load", "I", "bx")
    found = report([("A", (row, "tx"))], {"A": (BLOCKS * 4, THREADS), "I": (ITEMS,)})
    assert found.dram_bytes.read == pytest.approx(ITEMS * (4 + 4), rel=0.02)


def test_an_array_in_place_moves_twice() -> None:
    found = report([("B", (FLAT,))], {})
    assert found.compulsory_bytes == 2 * 4 * ITEMS
    assert found.dram_bytes.total == 2 * 4 * ITEMS
    assert found.roofline_time_s == pytest.approx(8 * ITEMS / load("h100-sxm").dram.bytes_per_s)


def test_what_the_kernel_has_written_itself_is_no_bound_of_its_time() -> None:
    buffers = (Buffer("B", "B", "float32", (ITEMS,), is_parameter=True),)
    body = (
        Store("first", (), (Access("B", "write", (FLAT,)),)),
        Store("then", (), (Access("B", "read", (FLAT,)), Access("B", "write", (FLAT,)))),
    )
    found = analyze(launched(body, buffers, BLOCKS, THREADS), load("h100-sxm"), {})
    assert found.compulsory_bytes == 8 * ITEMS
    assert found.roofline_time_s == pytest.approx(4 * ITEMS / load("h100-sxm").dram.bytes_per_s)


def test_both_sides_of_a_diagonal_are_counted() -> None:
    """Tiles below the diagonal and their mirrors: no array is too large to keep them apart."""
    size, tile = 16384, 32
    tiles = size // tile
    row: Expr = ("+", ("*", "by", tile), ("//", "tx", 8))
    column: Expr = ("+", ("*", "bx", tile), ("%", "tx", 8))
    buffers = tuple(
        Buffer(name, name, "float16", (size, size), is_parameter=True) for name in ("A", "C")
    )
    both = (Access("A", "read", (row, column)), Access("A", "read", (column, row)))
    body = Branch(
        ("<", "bx", "by"),
        (Load("s", (), (*both, Access("C", "write", (row, column)))),),
    )
    facts = launched((body,), buffers, tiles, THREADS)
    rows = Loop("grid", "by", 0, tiles, facts.body, tag="blockIdx.y")
    facts = replace(facts, body=(rows,), launch=Launch((tiles, tiles), (THREADS,)))
    found = analyze(facts, load("h100-sxm"), {})
    pairs = tiles * (tiles - 1) // 2
    assert found.compulsory_is_exact
    assert found.compulsory_bytes == 3 * pairs * 32 * 8 * 2
    assert found.dram_bytes.read is not None
    assert found.dram_bytes.read >= 2 * pairs * 32 * 8 * 2


SPLIT = 1 << 17


@pytest.mark.parametrize(
    "position",
    [FLAT, ("+", "tx", ("*", "bx", THREADS))],
)
def test_segments_share_an_array(position: Expr) -> None:
    """``for j in range(P[i], P[i + 1])``: together the segments take the array once."""
    first, last = ("load", "P", position), ("load", "P", ("+", 1, FLAT))
    elements = 64 * SPLIT
    buffers = (
        Buffer("P", "P", "int32", (SPLIT + 1,), is_parameter=True),
        Buffer("V", "V", "float32", (elements,), is_parameter=True),
    )
    read = Load("s", (), (Access("V", "read", ("j",)),))
    rows = Loop("serial", "j", first, ("-", last, first), (read,))
    found = analyze(launched((rows,), buffers, SPLIT // THREADS, THREADS), load("h100-sxm"), {})
    assert found.global_bytes.read is not None
    assert found.global_bytes.read == pytest.approx(4 * elements, rel=0.05)
    assert any("P is data" in note.message for note in found.caveats)


def tile(name: str, row: Expr, column: Expr, target: str) -> Copy:
    accesses = (
        Access(name, "read", (row, column), (128, 64), route="tile"),
        Access(target, "write", (0, 0), (128, 64), route="tile"),
    )
    return Copy("copy", (), accesses, "block")


def two_loops(again: tuple[str, str]) -> KernelReport:
    """Rows of A and all of B, tile by tile, and then the rows of `again` in a second loop."""
    size = 4096
    shapes = {"A": (16384, size), "B": (128, size), "D": (16384, size), "E": (128, size)}
    buffers = [Buffer(n, n, "float16", s, is_parameter=True) for n, s in shapes.items()]
    buffers += [Buffer(n, n, "float16", (128, 64), "shared.dyn") for n in ("s", "t")]
    loops = tuple(
        Loop(
            "serial",
            f"k{number}",
            0,
            size // 64,
            (
                tile(rows, ("*", "bx", 128), ("*", f"k{number}", 64), "s"),
                tile(all_, 0, ("*", f"k{number}", 64), "t"),
            ),
        )
        for number, (rows, all_) in enumerate((("A", "B"), again))
    )
    return analyze(launched(loops, tuple(buffers), 128, 128), load("h100-sxm"), {})


def test_a_second_loop_shares_what_all_blocks_read() -> None:
    """B comes once for all blocks in each loop, A for each of them."""
    rows, shared = 16384 * 4096 * 2, 128 * 4096 * 2
    same, other = two_loops(("A", "B")), two_loops(("D", "E"))
    for report_ in (same, other):
        assert report_.dram_bytes.read == pytest.approx(2 * (rows + shared), rel=0.02)


@pytest.mark.parametrize("before", [True, False])
def test_a_tile_that_each_iteration_loads_again_stays_in_l2(before: bool) -> None:
    size = 4096
    names = {"Q": (128 * 128, 64), "K": (size * 16, 64)}
    buffers = [Buffer(n, n, "float16", s, is_parameter=True) for n, s in names.items()]
    buffers += [Buffer(n, n, "float16", (128, 64), "shared.dyn") for n in ("s", "t")]
    query = tile("Q", ("*", "bx", 128), 0, "s")
    keys = tile("K", ("+", ("*", ("//", "bx", 8), size), ("*", "k", 128)), 0, "t")
    loop = Loop("serial", "k", 0, size // 128, (query, keys))
    body = (query, loop) if before else (loop,)
    found = analyze(launched(body, tuple(buffers), 128, 128), load("h100-sxm"), {})
    assert found.dram_bytes.read == pytest.approx((128 * 128 + size * 16) * 64 * 2, rel=0.02)
