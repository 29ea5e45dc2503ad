"""The SASS reader on compiled kernels, compared with what nvdisasm says of the same code."""

from __future__ import annotations

import doctest
from collections.abc import Iterable
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tirlens_sass
from sass import oracles
from tirlens_sass import OPCODES, UNITS, Control, Encoding, Function, Listing, Registers, read
from tirlens_sass.control_flow import Block, find_loops, immediate_dominators

EXAMPLE = """
\t.target\tsm_80
\t.section\t.text.total,"ax",@progbits
        .type           total,@function
        .other          total,@"STO_CUDA_ENTRY STV_DEFAULT"
total:
.L_x_0:
\t//## File "total.cu", line 3
        /*0000*/    IADD3 R2, P0, R2, 0x4, RZ ;         /* 0x0000000402027810 */
                                                       /* 0x000fe20007f1e0ff */
        /*0010*/    LDG.E R5, [R2.64] ;                 /* 0x0000000402057981 */
                                                       /* 0x000ea4000c1e1900 */
        /*0020*/    FADD R4, R4, R5 ;                   /* 0x0000000504047221 */
                                                       /* 0x004fca0000000000 */
        /*0030*/    @P1 BRA `(.L_x_0) ;                 /* 0xffffffc000001947 */
                                                       /* 0x000fea000383ffff */
        /*0040*/    EXIT ;                              /* 0x000000000000794d */
                                                       /* 0x000fea0003800000 */
"""


@cache
def listing(recorded: str) -> Listing:
    return read(oracles.text(recorded, "sass"))


def sections(found: Listing) -> list[list[Function]]:
    """The functions of each section, in the order of the text."""
    grouped: dict[str, list[Function]] = {}
    for function in found.functions:
        grouped.setdefault(function.kernel, []).append(function)
    return list(grouped.values())


def expand(found: Iterable[Registers]) -> oracles.Set:
    """Registers one by one; those of convergence barriers nvdisasm does not list."""
    return frozenset(
        (one.file, one.first + index)
        for one in found
        if one.file != "B"
        for index in range(one.count or 1)
    )


def test_the_example_of_the_documentation() -> None:
    example = EXAMPLE.replace("[R2.64]", "[R2]")  # Without the descriptor in uniform registers.
    found = doctest.testmod(tirlens_sass, extraglobs={"LISTING": example})
    assert found.attempted >= 8
    assert found.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("recorded", oracles.RECORDED)
def test_registers_are_those_of_the_live_ranges(recorded: str) -> None:
    ranges = oracles.live_ranges(oracles.text(recorded, "ranges"))
    compared = 0
    for functions, expected in zip(sections(listing(recorded)), ranges, strict=True):
        for one in (one for function in functions for one in function.instructions):
            # Ranges end before the padding. A call has there what the function reads and writes,
            # a bit mask of predicates nothing, and a predicate of a copy is said to be written.
            if one.address not in expected or one.name in ("CALL", "R2P"):
                continue
            assert one.registers is not None
            if any(part.count is None for part in one.registers.reads + one.registers.writes):
                continue
            reads, writes = expected[one.address]
            assert expand(one.registers.reads) == reads, one.text
            if one.name != "LDGSTS":
                assert expand(one.registers.writes) == writes, one.text
            compared += 1
    total = sum(len(section) for section in ranges)
    assert compared > 0.95 * total


@pytest.mark.slow
@pytest.mark.parametrize("recorded", oracles.RECORDED)
def test_successors_are_those_of_the_graph(recorded: str) -> None:
    graphs = oracles.graphs(oracles.text(recorded, "graph"))
    functions = {function.name: function for function in listing(recorded).functions}
    assert functions.keys() == graphs.keys()
    for name, (blocks, edges) in graphs.items():
        function = functions[name]
        found: dict[int, set[int]] = {}
        for block in function.blocks:
            for index in range(block.first, block.last):
                found[index] = {index + 1}
            found[block.last] = {function.blocks[next_].first for next_ in block.successors}
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        expected: dict[int, set[int]] = {}
        place = 0
        for label, length in blocks:
            place = function.labels.get(label, place)
            first[label], last[label] = place, place + length - 1
            expected |= {index: {index + 1} for index in range(place, place + length - 1)}
            place += length
            expected[place - 1] = set()
        for start, end in edges:
            expected[last[start]].add(first[end])
        assert {index: found[index] for index in expected} == expected


@pytest.mark.parametrize("recorded", oracles.RECORDED)
def test_every_instruction_is_known_and_in_one_block(recorded: str) -> None:
    assert not listing(recorded).unknown_opcodes
    for function in listing(recorded).functions:
        covered = [n for block in function.blocks for n in range(block.first, block.last + 1)]
        assert covered == list(range(len(function.instructions)))
        addresses = [one.address for one in function.instructions]
        assert addresses == list(range(addresses[0], addresses[0] + 16 * len(addresses), 16))
        assert function.irreducible_edges == ()


@pytest.mark.parametrize("recorded", oracles.RECORDED)
def test_guards_are_those_of_the_encoding(recorded: str) -> None:
    for one in (one for f in listing(recorded).functions for one in f.instructions):
        assert one.encoding is not None
        expected = (one.guard.number, one.guard.is_negated) if one.guard else (7, False)
        assert one.encoding.guard == expected, one.text


@pytest.mark.parametrize("recorded", oracles.RECORDED)
def test_what_is_waited_for_was_announced(recorded: str) -> None:
    """Arithmetic has a fixed latency and no barrier; a barrier that is waited for is set."""
    for function in listing(recorded).functions:
        announced: set[int | None] = set()
        waited: set[int | None] = set()
        for one in function.instructions:
            assert one.control is not None
            if one.name in ("FFMA", "FADD", "FMUL", "IADD3", "LOP3", "MOV"):
                assert one.control.write_barrier is None, one.text
            announced |= {one.control.write_barrier, one.control.read_barrier}
            waited |= set(one.control.waits)
        if function.is_kernel:
            assert waited <= announced


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_nested_loops(architecture: str) -> None:
    """The loop over j is unrolled to two loops over k, each around one over i of 4 products."""
    (function,) = (
        f for f in listing(f"control_flow.{architecture}").kernels if f.name == "product"
    )
    parents = [loop.parent for loop in function.loops]
    assert parents == [None, None, 0, 1]
    inner = {"FFMA": [2] * 8, "BAR": [1] * 4}
    for name, depths in inner.items():
        places = [n for n, one in enumerate(function.instructions) if one.name == name]
        loops = [function.loop_of(place) for place in places]
        assert [loop.depth for loop in loops if loop is not None] == depths


def test_what_is_read_of_a_product_on_hopper() -> None:
    (kernel,) = listing("matmul.sm_90a").kernels
    products = [one for one in kernel.instructions if one.name == "HGMMA"]
    assert {one.full_name for one in products} == {"HGMMA.64x128x16.F32"}
    assert {part.count for one in products if one.registers for part in one.registers.writes} == {
        64
    }
    loads = [one for one in kernel.instructions if one.name == "UTMALDG"]
    assert {access.space for one in loads for access in one.memory} == {"global", "shared"}
    assert {access.bytes_per_lane for one in loads for access in one.memory} == {None}
    stores = [access for one in kernel.instructions for access in one.memory if one.name == "STG"]
    assert stores and {access.bytes_per_lane for access in stores} <= {4, 8, 16}
    lines = {one.source.file for one in kernel.instructions if one.source is not None}
    assert "matmul.cu" in lines


def test_an_unknown_opcode_is_reported() -> None:
    found = read(EXAMPLE.replace("FADD", "FNEW9"))
    assert found.unknown_opcodes == {"FNEW9": 1}
    (kernel,) = found.kernels
    one = kernel.instructions[2]
    assert one.opcode is None and one.registers is None and one.text == "FNEW9 R4, R4, R5"


@pytest.mark.parametrize("text", ["", "\t.target\tsm_80\n /*0000*/  EXIT ;\n"])
def test_what_is_no_listing_is_refused(text: str) -> None:
    with pytest.raises(tirlens_sass.ListingError):
        read(text)


def test_units_have_a_meaning() -> None:
    assert {opcode.unit for opcode in OPCODES.values()} <= {*UNITS, None}
    assert all(opcode.sources for opcode in OPCODES.values())


# On a machine that is busy with other things.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
BARRIER = st.none() | st.integers(0, 5)
WORD = st.integers(0, 2**64 - 1)


@unhurried
@given(
    WORD,
    WORD,
    st.builds(
        Control,
        stall_cycles=st.integers(0, 15),
        yields=st.booleans(),
        write_barrier=BARRIER,
        read_barrier=BARRIER,
        wait_mask=st.integers(0, 63),
        reuse=st.integers(0, 15),
    ),
)
def test_scheduling_round_trips(low: int, high: int, control: Control) -> None:
    scheduled = Encoding(low, high).with_control(control)
    assert scheduled.control == control
    # Nothing else has changed.
    field = (1 << 21) - 1 << 41
    assert scheduled.low == low and scheduled.high & ~field == high & ~field


@unhurried
@given(st.integers(1, 9).flatmap(lambda n: st.lists(
    st.lists(st.integers(0, n - 1), max_size=2, unique=True), min_size=n, max_size=n)))  # fmt: skip
def test_loops_nest(successors: list[list[int]]) -> None:
    """On any graph: loops are nested or apart, and each block of one is dominated by its header."""
    blocks = [Block(n, n, n, tuple(following)) for n, following in enumerate(successors)]
    dominators = immediate_dominators(blocks)
    loops = find_loops(blocks)
    for loop in loops:
        for block in loop.blocks:
            while block != loop.header:
                assert dominators[block] != block, "the header does not dominate it"
                block = dominators[block]
        if loop.parent is not None:
            assert loop.blocks < loops[loop.parent].blocks
    for one in loops:
        for other in loops:
            common = one.blocks & other.blocks
            assert not common or common in (one.blocks, other.blocks)
