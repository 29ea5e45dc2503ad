"""Counts of well-known kernels against their closed forms."""

from __future__ import annotations

from fractions import Fraction

import pytest

from support.counts import arith_totals, compulsory_bytes, count
from support.generate import SPAN, kernel
from tirlens.model.counting.kernel_counts import statement_counts
from tirlens_worker.facts import Access, Arith, Branch, Buffer, Let, Load, Loop, Span, Store, While

from .test_formula import tiled_gemm


def operation(amount=1, per="thread", guard=None):
    return Store("s", arith=(Arith("add", "float32", amount, guard),), per=per, sites=(SPAN,))


def nest(loops, body):
    for kind, name, extent in reversed(loops):
        body = (Loop(kind, name, 0, extent, body, sites=(SPAN,)),)
    return body


def total(facts, bindings=None):
    return arith_totals(count(facts, bindings).root)["add", "float32", None]


def test_batch_in_the_third_grid_dimension():
    loops = [("grid", "bz", 6), ("grid", "by", 4), ("grid", "bx", 8), ("block", "tx", 128)]
    assert total(kernel(nest(loops, (operation(64, "block"),)))) == 6 * 4 * 8 * 64


@pytest.mark.parametrize(("threads", "steps"), [(256, 8), (256, 4096), (1024, 60_000), (7, 90)])
def test_a_tree_of_sums_ends_though_its_loop_goes_on(threads, steps):
    condition = ("<", ("*", ("<<", 2, "step"), "t"), threads)
    loops = [("grid", "bx", 3), ("block", "t", threads), ("serial", "step", steps)]
    facts = kernel(nest(loops, (Branch(condition, (operation(),)),)))
    halves = ((threads - 1) // (2 << step) for step in range(min(steps, 64)))
    assert total(facts) == 3 * (steps + sum(halves))


@pytest.mark.parametrize(("sequence", "tile"), [(4096, 128), (65536, 64)])
def test_causal_attention_stops_at_the_diagonal(sequence, tile):
    blocks = sequence // tile
    bound = ("min", blocks, ("//", ("+", ("*", ("+", "bx", 1), tile), tile - 1), tile))
    loops = [
        ("grid", "h", 32),
        ("grid", "bx", blocks),
        ("block", "tx", 128),
        ("serial", "k", bound),
    ]
    facts = kernel(nest(loops, (operation(tile * tile, "block"),)))
    assert total(facts) == 32 * (blocks * (blocks + 1) // 2) * tile * tile


def test_causal_mask_counts_elements_below_the_diagonal():
    row, column = ("+", ("*", "bx", 128), "i"), ("+", ("*", "k", 128), "j")
    loops = [("grid", "bx", 32), ("serial", "k", ("+", "bx", 1))]
    loops += [("parallel", "i", 128), ("parallel", "j", 128)]
    facts = kernel(nest(loops, (Branch((">=", row, column), (operation(),)),)))
    assert total(facts) == 4096 * 4097 // 2


@pytest.mark.parametrize(
    ("condition", "times"),
    [
        (("==", "stage", "s"), 1),  # a scalar that data gives is equal to one trip's number
        (("==", ("%", ("load", "counter", 0), 3), "s"), 1),
        ((">", "stage", 0), 3),
        (("==", ("%", ("load", "counter", 0), 5), 0), Fraction(3, 5)),
        (("!=", ("%", ("load", "counter", 0), 5), 0), Fraction(12, 5)),
        (("==", "stage", 0), 3),
    ],
)
def test_conditions_on_data_hold_or_take_turns(condition, times):
    loops = [("grid", "bx", 10), ("serial", "s", 3)]
    counts = count(kernel(nest(loops, (Branch(condition, (operation(),), sites=(SPAN,)),))), {})
    assert arith_totals(counts.root)["add", "float32", None] == 10 * times
    assert any("depends on data" in caveat.message for caveat in counts.caveats)


@pytest.mark.parametrize(
    ("then", "orelse", "said"),
    [
        ((operation(4),), (), "as always holding (0 to 120 FLOP, if it never or always holds)"),
        (
            (operation(4),),
            (operation(1),),
            "(30 to 120 FLOP, if it never or always holds)",
        ),
        (
            (operation(1),),
            (operation(4),),
            "(30 to 120 FLOP, if it never or always holds)",
        ),
        ((operation(2),), (operation(2),), "as always holding"),
        ((operation("n"),), (), "as always holding"),
    ],
)
def test_a_branch_on_data_has_one_note_with_its_range(then, orelse, said):
    condition = (">", ("load", "counter", 0), 0)
    branch = Branch(condition, then, orelse, sites=(SPAN,))
    counts = count(kernel(nest([("grid", "bx", 10), ("serial", "s", 3)], (branch,))), {})
    (note,) = counts.caveats
    assert note.message.startswith("counter[0] > 0 depends on data: counted")
    assert note.message.endswith(said)


def test_persistent_blocks_share_the_tiles():
    tile = ("+", "bx", ("*", "w", 132))
    body = (Let("tile", tile), Branch(("<", "tile", 1000), (operation(),)))
    facts = kernel(nest([("grid", "bx", 132), ("persistent", "w", 8)], body))
    assert total(facts) == 1000


@pytest.mark.parametrize("first", [0, 5])
def test_what_depends_on_the_tile_and_on_the_block_of_a_persistent_kernel(first):
    tile = ("+", "bx", ("*", "w", 132))
    row, column = ("//", ("//", "tile", 4), 9), ("%", "tile", 4)
    inner = (
        Branch(("<", column, 3), (Loop("serial", "k", 0, ("+", row, 1), (operation(),)),)),
        Branch(("<", ("+", "bx", "w"), 7), (operation(),)),
        Load("s", accesses=(Access("A", "read", (row, ("%", tile, 5))),), per="block"),
    )
    body = (Let("tile", tile), Branch(("<", "tile", 1000), inner, (operation(1000),)))
    waves = nest([("block", "tx", 2), ("persistent", "w", 8)], body)
    blocks = Loop("grid", "bx", first, 132, waves, sites=(SPAN,))
    facts = kernel((blocks,), buffers=(Buffer("A", "A", "float32", (99, 99)),))
    expected, touched = 0, set()
    for bx in range(first, first + 132):
        for w in range(8):
            number = bx + w * 132
            if number >= 1000:
                expected += 2 * 1000
                continue
            expected += 2 * (number // 36 + 1) * (number % 4 < 3) + 2 * (bx + w < 7)
            touched.add((number // 36, number % 5))
    assert total(facts) == expected
    found = compulsory_bytes(facts, {})
    assert found is not None and found.exact and found.bytes == 4 * len(touched)


def test_producer_and_consumer_warps_each_run_their_branch_once_a_block():
    body = (Branch(("<", "tx", 128), (operation(3, "block"),), (operation(5, "block"),)),)
    facts = kernel(nest([("grid", "bx", 10), ("block", "tx", 256)], body))
    assert total(facts) == 10 * 3 + 10 * 5


def test_an_unbound_variable_is_asked_for():
    facts = kernel(nest([("serial", "i", "m")], (operation(),)), variables=("m",))
    counts = count(facts, {})
    assert counts.needs == ("m",) and next(statement_counts(counts.root)).executions is None
    assert total(facts, {"m": 7}) == 7


def test_an_extent_from_data_is_bounded_or_unknown():
    bounded = ("min", ("load", "B", "i"), 16)
    facts = kernel(nest([("serial", "i", 4), ("serial", "j", bounded)], (operation(),)))
    assert total(facts) == 64 and "depend on data" in count(facts).caveats[0].message
    facts = kernel(nest([("serial", "i", 4), ("serial", "j", ("load", "B", "i"))], (operation(),)))
    assert total(facts) is None and "bind j" in count(facts).caveats[0].message
    assert total(facts, {"j": 5}) == 20


def test_a_condition_on_data_counts_as_true_with_a_caveat():
    facts = kernel((Branch(("<", ("load", "B", 0), 3), (operation(),)),))
    assert total(facts) == 1
    assert [caveat.message for caveat in count(facts).caveats] == [
        (
            "B[0] < 3 depends on data: counted as always holding"
            " (0 to 1 FLOP, if it never or always holds)"
        ),
    ]


def test_a_while_loop_is_unknown_until_it_is_bound():
    facts = kernel((While(("<", ("load", "B", 0), 3), (operation(),)),))
    assert total(facts) is None and "while_1" in count(facts).caveats[0].message
    assert total(facts, {"while_1": 9}) == 9


def test_beyond_64_bits():
    loops = [("grid", name, 2**40) for name in ("a", "b")]
    assert total(kernel(nest(loops, (operation(),)))) == 2**80


def test_compulsory_bytes_of_a_gemm_are_its_three_matrices():
    m, n, k = 1000, 1001, 77
    found = compulsory_bytes(tiled_gemm(m, n, k, ()), {})
    assert found is not None and found.exact and found.bytes == 2 * (m * k + k * n + m * n)


def test_a_flat_index_over_a_large_array_is_one_range():
    access = Access("X", "read", (("+", ("*", "bx", 1024), "tx"),))
    body = nest([("grid", "bx", 2**20), ("block", "tx", 1024)], (Store("s", (), (access,)),))
    facts = kernel(body, (Buffer("X", "X", "float16", (2**30,)),))
    assert compulsory_bytes(facts, {}).bytes == 2**31


def test_both_sides_of_a_mask_write_all_of_a_large_array():
    """Two triangles of which neither is a box, and that are too large to be drawn."""
    store = Store("s", (), (Access("Y", "write", ("by", "bx")),))
    band = Branch(("<", "by", ("+", "bx", 9)), (store,), (store,))
    mask = Branch(("<", "bx", "by"), (store,), (band,))
    facts = kernel(
        nest([("grid", "by", 4096), ("grid", "bx", 4096)], (mask,)),
        (Buffer("Y", "Y", "float16", (4096, 8192)),),
    )
    found = compulsory_bytes(facts, {})
    assert found is not None and found.exact and found.bytes == 2 * 4096 * 4096


def test_each_statement_has_a_caveat_for_its_condition_on_data():
    guard = ("and", ("<", ("load", "B", 0), 3), ("<", "i", 4))

    def guarded(line):
        arith = (Arith("add", "float32", 1, guard),)
        return Store("s", arith=arith, sites=(Span(line, 0, line, 9),))

    facts = kernel(nest([("serial", "i", 9)], (guarded(5), guarded(6))))
    assert total(facts) == 8
    assert [(caveat.message, caveat.span.line) for caveat in count(facts).caveats] == [
        ("B[0] < 3 depends on data: counted as always holding", line) for line in (5, 6)
    ]
