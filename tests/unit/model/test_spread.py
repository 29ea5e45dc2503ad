"""How statements lie on threads: what tilelang's generated CUDA shows, and bank conflicts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched, leaves, workload
from tirlens.model.gpu.mapping.active_threads import find_activity
from tirlens.model.gpu.mapping.array_mappings import have_no_more_wavefronts
from tirlens.model.gpu.mapping.thread_mapping import map_to_threads
from tirlens.model.tree.context import EnclosingLoop, LoopContext, PathStep
from tirlens.model.tree.thread_mapping import MemoryRequest, ThreadMapping
from tirlens_worker.facts import Access, Arith, Buffer, Expr, Gemm, Loop, Node, Store

THREADS = 256


def tile_place(*extents: int, conditions: tuple[Expr, ...] = ()) -> LoopContext:
    """Inside a block of 256 threads and tile loops ``i0``, ``i1`` ... of these extents."""
    around = [
        EnclosingLoop("bx", "grid", 64, "blockIdx.x"),
        EnclosingLoop("tx", "block", THREADS, "threadIdx.x"),
        *(EnclosingLoop(f"i{n}", "parallel", extent) for n, extent in enumerate(extents)),
    ]
    ranges = {loop.var: (0, (loop.extent or 1) - 1) for loop in around}
    return LoopContext(tuple(around), ranges, {}, conditions)


def thread_place(threads: int = 32) -> LoopContext:
    around = (EnclosingLoop("tx", "block", threads, "threadIdx.x"),)
    return LoopContext(around, {"tx": (0, threads - 1)}, {})


def of_tile(
    index: Expr, place: LoopContext, dtype: str = "float16", guard: Expr | None = None
) -> ThreadMapping:
    buffer = Buffer("A", "A", dtype, (1 << 20,))
    access = Access("A", "read", (index,), guard=guard)
    return map_to_threads(Store("s", (), (access,), "block"), place, {"A": buffer}, THREADS)


FLAT: Expr = ("+", ("*", ("+", ("*", "bx", 256), "i0"), 8), "i1")


@pytest.mark.parametrize(
    "index, extents, dtype, vector, repeats",
    [
        (FLAT, (256, 8), "float16", 8, 1),  # uint4: eight halves
        (FLAT, (256, 8), "float32", 4, 2),  # float4, twice
        (FLAT, (256, 8), "int8", 8, 1),  # no more than the inner loop has
        (("*", FLAT, 2), (256, 8), "float16", 1, 8),  # not contiguous
        ("i0", (1280,), "float16", 1, 5),  # 1280 elements do not fill 256 vectors of two
        (("+", FLAT, 1), (256, 8), "float16", 1, 8),  # not aligned
        (("select", ("<", "i1", 4), FLAT, 0), (256, 8), "float16", 1, 8),  # chosen by a condition
        (("load", "B", FLAT), (256, 8), "float16", 1, 8),  # depends on data
    ],
)
def test_the_vector_is_what_the_compiler_makes(
    index: Expr, extents: tuple[int, ...], dtype: str, vector: int, repeats: int
) -> None:
    found = of_tile(index, tile_place(*extents), dtype)
    assert (found.vector, found.repeats) == (vector, repeats)


@pytest.mark.parametrize(
    ("row", "column", "vector"),
    [
        (("load", "T", "bx"), "i1", 8),  # a page begins where a row does
        (("load", "expert", 0), "i1", 8),  # and so does what a variable of all threads names
        (("load", "T", "i0"), "i1", 1),  # each row somewhere else
        (0, ("+", ("load", "T", "bx"), "i1"), 1),  # somewhere in a row
    ],
)
def test_a_loaded_page_is_read_in_vectors(row: Expr, column: Expr, vector: int) -> None:
    """CUDA source of tilelang 0.1.15 for paged attention: 16 bytes of a page a thread and load."""
    buffers = {
        "T": Buffer("T", "T", "int32", (64,)),
        "expert": Buffer("expert", "expert", "int32", (1,), "local"),
        "P": Buffer("P", "P", "float16", (4096, 128)),
    }
    access = Access("P", "read", (("+", row, "i0"), column))
    statement = Store("s", (), (access,), "block")
    assert map_to_threads(statement, tile_place(64, 128), buffers, THREADS).vector == vector


def test_a_condition_inside_a_vector_makes_it_scalar_and_one_on_whole_vectors_does_not() -> None:
    assert of_tile(FLAT, tile_place(256, 8), guard=("<", FLAT, 1000)).vector == 8
    assert of_tile(FLAT, tile_place(256, 8), guard=("<", FLAT, 1001)).vector == 1
    on_data = of_tile(FLAT, tile_place(256, 8), guard=("<", ("load", "A", FLAT), 1))
    assert on_data.vector == 1 and on_data.is_serial


def test_a_scalar_loop_is_dealt_out_thread_by_thread() -> None:
    """Lane and memory stay neighbours where nothing is vectorised: 64 bytes are two sectors."""
    found = of_tile(FLAT, tile_place(256, 8), guard=("<", ("load", "A", FLAT), 1))
    assert found.requests == (MemoryRequest(1, 2.0, 1.0, lines=1),)


def test_a_full_vector_takes_a_pass_for_each_line() -> None:
    assert of_tile(FLAT, tile_place(256, 8)).requests == (MemoryRequest(8, 16.0, 4.0, lines=4),)


@pytest.mark.parametrize(
    "index, sectors",
    [("tx", 4), (("*", "tx", 2), 8), (("*", "tx", 32), 32), (7, 1), (("//", "tx", 16), 1)],
)
def test_sectors_of_a_warp(index: Expr, sectors: int) -> None:
    buffer = Buffer("A", "A", "float32", (4096,))
    statement = Store("s", (), (Access("A", "read", (index,)),))
    (requests,) = map_to_threads(statement, thread_place(), {"A": buffer}, 32).requests
    assert requests is not None and requests.sectors == sectors


@pytest.mark.parametrize(
    "columns, index, lanes, passes",
    [
        (32, ("tx", 0), 1, 32),  # a column: one bank
        (33, ("tx", 0), 1, 1),  # padded by one word
        (32, (0, "tx"), 1, 1),
        (32, (0, 5), 1, 1),  # one word for all
        (16, ("tx", 0), 4, 16),  # 16 bytes of rows of 64: 4 of 8 lanes of a phase meet
        (128, (0, ("*", "tx", 4)), 4, 4),  # four phases without a conflict
    ],
)
def test_bank_conflicts(columns: int, index: tuple[Expr, ...], lanes: int, passes: int) -> None:
    buffer = Buffer("S", "S", "float32", (64, columns), "shared")
    access = Access("S", "read", index, lanes=lanes)
    found = map_to_threads(Store("s", (), (access,)), thread_place(), {"S": buffer}, 32)
    assert found.requests[0] is not None and found.requests[0].wavefronts == passes


def test_roles_have_their_own_threads() -> None:
    place = tile_place(4, conditions=(("not", ("<", "tx", 128)), ("==", "bx", 0)))
    assert find_activity(place, THREADS).threads == 128
    assert find_activity(tile_place(4), THREADS).threads == THREADS


@pytest.mark.parametrize(
    "condition, threads",
    [
        # A warp a token: of one token's block one warp has work.
        (("<", ("+", ("*", "bx", 8), ("//", "tx", 32)), 1), 32),
        (("<", ("+", ("*", "bx", 8), ("//", "tx", 32)), 100), THREADS),
        (("<", "bx", 1), THREADS),
        (("<", "tx", ("load", "n", 0)), THREADS),
        (("<", "tx", "unknown"), THREADS),
    ],
)
def test_blocks_in_which_some_work_tell_how_many_threads_do(condition: Expr, threads: int) -> None:
    assert find_activity(tile_place(4, conditions=(condition,)), THREADS).threads == threads


@pytest.mark.parametrize(
    "index, scope, written, serial",
    [
        ("bx", "global", (), False),
        ("i0", "global", (), True),
        # A sum in shared memory that is there before the tile loop, and one that turns with it.
        (16, "shared", ("g",), False),
        (16, "shared", ("i0",), True),
    ],
)
def test_a_condition_waits_for_data_that_come_anew(
    index: Expr, scope: str, written: tuple[str, ...], serial: bool
) -> None:
    """A mask up to the length of the block's sequence asks for one number, not one an element."""
    buffers = {
        "n": Buffer("n", "n", "int32", (64,), scope),
        "S": Buffer("S", "S", "float32", (64, 64), "local.fragment"),
    }
    guard: Expr = ("<", "i0", ("load", "n", index))
    access = Access("S", "read", ("i0", "i1"), guard=guard)
    statement = Store("s", (), (access,), "block")
    loops = {"n": frozenset(written)}
    found = map_to_threads(statement, tile_place(64, 64), buffers, THREADS, written=loops)
    assert found.is_serial is serial


def test_matrix_results_are_stored_in_pairs() -> None:
    """Eight rows of four lanes with two neighbours each: eight sectors of half the bytes."""
    buffers = {
        "C": Buffer("C", "C", "float16", (128, 128)),
        "acc": Buffer("acc", "acc", "float32", (128, 128), "local.fragment"),
    }
    accesses = (Access("acc", "read", ("i0", "i1")), Access("C", "write", ("i0", "i1")))
    statement = Store("s", (Arith("cast", "float32"),), accesses, "block")
    found = map_to_threads(statement, tile_place(128, 128), buffers, THREADS, frozenset({"acc"}))
    assert (found.vector, found.requests[1]) == (2, MemoryRequest(2, 8.0, 8.0, lines=8))


def test_a_warp_of_a_small_block_has_no_more_lanes_than_threads() -> None:
    """16 threads load 16 neighbours of 8 bytes, two of their 32 banks apart, in one pass."""
    buffer = Buffer("S", "S", "float32", (16, 2), "shared")
    statement = Store("s", (), (Access("S", "read", ("tx", 0), lanes=2),))
    (found,) = map_to_threads(statement, thread_place(16), {"S": buffer}, 16).requests
    assert found == MemoryRequest(2, 0.0, 1.0, lanes=16)
    assert found.elements_per_warp == 32


def test_a_tile_of_fewer_vectors_than_lanes_is_one_request() -> None:
    (found,) = of_tile("i0", tile_place(8), "float32").requests
    assert found == MemoryRequest(1, 1.0, 1.0, lines=1, lanes=8)


def test_a_vector_of_the_program_is_cut_into_instructions_of_16_bytes() -> None:
    buffer = Buffer("A", "A", "float32", (32, 64))
    access = Access("A", "read", ("tx", 0), lanes=64)
    found = map_to_threads(Store("s", (), (access,)), thread_place(), {"A": buffer}, 32)
    assert found.requests == (MemoryRequest(4, 32.0, 32.0, lines=32),)


@pytest.mark.parametrize(
    "index, lanes",
    [
        (("+", ("*", "tx", 8), "v"), 4),
        (("//", "v", 4), 1),  # all the same
        (("%", ("+", "tx", "v"), 6), 1),  # neighbours in the first lane alone
        (("+", "tx", ("*", "v", 32)), 1),
    ],
)
def test_a_vectorized_loop_is_one_instruction_where_it_runs_along_the_memory(
    index: Expr, lanes: int
) -> None:
    place = thread_place()
    inside = (*place.loops, EnclosingLoop("v", "vectorized", 4))
    place = LoopContext(inside, {**place.ranges, "v": (0, 3)}, {})
    buffer = Buffer("A", "A", "float32", (1 << 20,))
    statement = Store("s", (), (Access("A", "read", (index,)),))
    assert map_to_threads(statement, place, {"A": buffer}, 32).vector == lanes


@pytest.mark.parametrize(
    "around, guard, vector",
    [
        (("<", "tx", 7), None, 4),  # one choice for all lanes
        (("<", ("+", ("*", "tx", 4), "v"), 13), None, 1),  # the last vector alone is cut
        (("<", "n", 3), None, 1),  # by the name of something made of the lane
        (1, ("<", "v", 3), 1),
        (1, ("<", "tx", 7), 4),
        (1, ("<", ("//", ("+", ("*", "tx", 4), "v"), 16), 7), 4),  # a row of several vectors
    ],
)
def test_lanes_told_apart_are_scalars(around: Expr, guard: Expr | None, vector: int) -> None:
    place = thread_place()
    inside = (*place.loops, EnclosingLoop("v", "vectorized", 4))
    place = LoopContext(inside, {**place.ranges, "v": (0, 3)}, {"n": ("+", "v", 1)}, (around,))
    buffer = Buffer("A", "A", "float32", (1 << 20,))
    index: Expr = ("+", ("*", "tx", 4), "v")
    accesses = (Access("A", "read", (index,), guard=guard), Access("A", "write", (index,)))
    found = map_to_threads(Store("s", (), accesses), place, {"A": buffer}, 32)
    assert (found.vector, [one and one.vector for one in found.requests]) == (vector, [vector] * 2)


def test_a_vectorized_loop_around_another_is_the_vector_of_tvm() -> None:
    """CUDA of TVM 0.27: ``for (k..8) *(float4*)(B + t * 32 + k * 4) = ...``."""
    assert of_nest(("v", 4), ("k", 8), ("+", ("*", "tx", 32), ("+", ("*", "k", 4), "v"))) == 4


@pytest.mark.parametrize("extent", [-4, 0, 1, None])
@pytest.mark.parametrize("framework", ["tvm", "tilelang"])
def test_a_vectorized_loop_without_lanes_is_none(extent: int | None, framework: str) -> None:
    place = thread_place()
    inside = (*place.loops, EnclosingLoop("v", "vectorized", extent))
    place = LoopContext(inside, {**place.ranges, "v": (0, 0)}, {})
    statement = Store("s", (), (Access("A", "read", (("+", "tx", "v"),)),))
    buffers = {"A": Buffer("A", "A", "float32", (1 << 20,))}
    assert map_to_threads(statement, place, buffers, 32, framework=framework).vector == 1


def test_lanes_of_loops_of_their_own_length_are_scalars() -> None:
    longer: PathStep = ("k", 0, ("+", "v", 1))
    index: Expr = ("+", ("*", "tx", 32), ("+", ("*", "k", 4), "v"))
    assert of_nest(("v", 4), ("k", 8), index, steps=(longer,)) == 1


@pytest.mark.parametrize(
    "outer, inner, read, condition, vector",
    [
        (4, 8, ("+", ("*", "inner", 4), "outer"), None, 1),
        (8, 4, ("+", ("*", "outer", 4), "inner"), None, 4),
        (8, 4, ("+", ("*", "outer", 4), "inner"), ("<", ("+", ("*", "outer", 4), "inner"), 30), 2),
        (8, 4, ("+", ("*", "inner", 4), ("//", "outer", 2)), None, 1),
        (8, 4, ("*", "outer", 4), None, 4),  # one is loaded for all
        (7, 4, ("+", ("*", "outer", 5), "inner"), None, 1),  # aligned in the first turn alone
    ],
)
def test_tilelang_plans_its_vectors_along_the_innermost_loop(
    outer: int, inner: int, read: Expr, condition: Expr | None, vector: int
) -> None:
    """CUDA source of tilelang 0.1.15 for a store of ``A[t * 32 + read]``, guarded or not."""
    written: Expr = ("+", ("*", "outer", 4), "inner") if outer > 4 else read
    found = of_nest(
        ("outer", outer),
        ("inner", inner),
        ("+", ("*", "tx", 32), read),
        ("+", ("*", "tx", 32), written),
        conditions=() if condition is None else (condition,),
        framework="tilelang",
    )
    assert found == vector


def of_nest(
    outer: tuple[str, int],
    inner: tuple[str, int],
    read: Expr,
    written: Expr | None = None,
    conditions: tuple[Expr, ...] = (),
    steps: tuple[PathStep, ...] = (),
    framework: str = "tvm",
) -> int:
    """The vector of ``B[written] = A[read]`` in a vectorized loop with a serial one in it."""
    place = thread_place()
    loops = (
        EnclosingLoop(outer[0], "vectorized", outer[1]),
        EnclosingLoop(inner[0], "serial", inner[1]),
    )
    ranges = {**place.ranges, **{loop.var: (0, (loop.extent or 1) - 1) for loop in loops}}
    place = LoopContext((*place.loops, *loops), ranges, {}, conditions, steps)
    buffers = {name: Buffer(name, name, "float32", (1 << 20,)) for name in "AB"}
    accesses = Access("A", "read", (read,)), Access("B", "write", (written or read,))
    statement = Store("s", (), accesses)
    return map_to_threads(statement, place, buffers, 32, framework=framework).vector


def test_an_element_of_a_long_vector_type_takes_several_instructions() -> None:
    buffer = Buffer("A", "A", "bfloat16x128", (64,))
    statement = Store("s", (), (Access("A", "read", ("tx",)),))
    found = map_to_threads(statement, thread_place(), {"A": buffer}, 32)
    assert found.requests == (MemoryRequest(1 / 16, 32.0, 32.0, lines=32),)


def test_rows_lie_as_far_apart_as_strides_say() -> None:
    buffer = Buffer("A", "A", "float32", (32, 8), "shared", (32, 1))
    statement = Store("s", (), (Access("A", "read", ("tx", 0)),))
    found = map_to_threads(statement, thread_place(), {"A": buffer}, 32)
    assert found.requests == (MemoryRequest(1, 0.0, 32.0),)


@pytest.mark.parametrize(
    ("pitch", "is_multiplied", "wavefronts"),
    [
        (64, False, 32),
        (64, True, 1),
        (66, False, 1),
    ],
)
def test_a_product_has_its_tiles_swizzled(pitch: int, is_multiplied: bool, wavefronts: int) -> None:
    """32 lanes store a column: rows of 128 bytes are in one bank, those of 132 in one each.

    The tiles of a product are swizzled, so that their columns are in all banks, too.
    """
    shape = (64, pitch)
    buffers = (
        Buffer("A", "A", "float16", (64, 64), is_parameter=True),
        Buffer("S", "S", "float16", shape, "shared.dyn"),
        Buffer("C", "C", "float32", (64, 64), "local.fragment"),
    )
    accesses = (Access("A", "read", ("i", "j")), Access("S", "write", ("j", "i")))
    node: Node = Store("S[j, i] = A[i, j]", (), accesses, "block")
    for name in "ji":
        node = Loop("parallel", name, 0, 64, (node,))
    operand = Access("S", "read", (0, 0), shape, route="mma")
    product = Gemm("T.gemm(S, S, C)", (), (operand, operand), "block", m_n_k=(64, 64, 64))
    kernel = launched((node, product) if is_multiplied else (node,), buffers)
    _, stored = workload(kernel).mapped.mappings[leaves(kernel)[0]].requests
    assert stored is not None
    assert (stored.vector, stored.wavefronts) == (1, wavefronts)


CONFLICT = MemoryRequest(4, 0.0, 8.0)


@pytest.mark.parametrize(
    ("one", "other", "is_at_most"),
    [
        ((CONFLICT,), (CONFLICT,), True),
        ((replace(CONFLICT, wavefronts=4.0),), (CONFLICT,), True),
        ((CONFLICT,), (replace(CONFLICT, wavefronts=4.0),), False),
        # Shorter vectors are more instructions, each with fewer wavefronts.
        ((replace(CONFLICT, vector=2, wavefronts=4.0),), (CONFLICT,), False),
        ((None, CONFLICT), (None, CONFLICT), True),
        ((None,), (CONFLICT,), False),
        ((CONFLICT,), (None,), False),
        ((CONFLICT,), (CONFLICT, None), False),
    ],
)
def test_requests_with_fewer_conflicts(
    one: tuple[MemoryRequest | None, ...], other: tuple[MemoryRequest | None, ...], is_at_most: bool
) -> None:
    mappings = [ThreadMapping(4, 2.0, False, requests) for requests in (one, other)]
    assert have_no_more_wavefronts(mappings[:1], mappings[1:]) == is_at_most
    repeated = replace(mappings[0], repeats=4.0)
    assert not have_no_more_wavefronts([repeated], mappings[1:])
