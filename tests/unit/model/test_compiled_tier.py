"""What the compiler made of a kernel is believed before the model's estimate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm, launched, modelled, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.report import KernelReport
from tirlens_worker.facts import (
    Access,
    Buffer,
    CompiledLaunch,
    KernelFacts,
    LocalAccess,
    Loop,
    LoweredLaunch,
    Span,
    Store,
)

A100 = load("a100-80-sxm")
BLOCKS, THREADS, ELEMENTS = 1024, 128, 64
#: Line 5 fills an array of 64 floats a thread, line 7 reads it in another order.
FILL, USE = 5, 7


def local_array() -> KernelFacts:
    """Each thread fills a local array in one loop, and adds its elements up in another."""
    buffers = (
        Buffer("a", "a", "float32", (ELEMENTS,), "local"),
        Buffer("s", "s", "float32", (2,), "local"),
        Buffer("y", "y", "float32", (BLOCKS * THREADS,), "global"),
    )
    fill = Store("a[j] = ...", (), (Access("a", "write", ("j",)),), sites=site(FILL))
    use = Store(
        "s[0] += a[k]",
        (),
        (Access("a", "read", ("k",)), Access("s", "read", (0,)), Access("s", "write", (0,))),
        sites=site(USE),
    )
    index = ("+", ("*", "bx", THREADS), "tx")
    last = Store(
        "y = s", (), (Access("s", "read", (0,)), Access("y", "write", (index,))), sites=site(9)
    )
    body = (
        Loop("serial", "j", 0, ELEMENTS, (fill,), sites=site(4)),
        Loop("serial", "k", 0, ELEMENTS, (use,), sites=site(6)),
        last,
    )
    return launched(body, buffers, BLOCKS, THREADS)


def access(
    line: int, mode: str, width: int, number: int, loops: int, is_spill: bool
) -> LocalAccess:
    span = Span(line, 0, line, 0)
    return LocalAccess(span, mode, number, number * width, loops, is_spill)  # type: ignore[arg-type]


def compiled(facts: KernelFacts, **changes: object) -> KernelFacts:
    launch = replace(CompiledLaunch("sm_80", 40, 0, 0, 0, ()), **changes)  # type: ignore[arg-type]
    return replace(facts, compiled=(launch,))


IN_STACK = (access(FILL, "write", 16, 16, 0, False), access(USE, "read", 4, 8, 1, False))


def report(facts: KernelFacts) -> KernelReport:
    return analyze(facts, A100)


@pytest.mark.parametrize(
    ("registers", "blocks"),
    [(32, 16), (64, 8), (72, 7), (128, 4), (168, 3), (255, 2)],
)
def test_registers_give_the_resident_blocks(registers: int, blocks: int) -> None:
    found = report(compiled(local_array(), registers_per_thread=registers))
    assert found.registers_per_thread == registers
    assert found.occupancy is not None and found.occupancy.blocks_per_sm == blocks
    assert found.launch_facts == "compiled"


def test_the_compiled_registers_are_those_of_the_launch() -> None:
    """setmaxnreg moves registers between the warps of a block, which has as many as before."""
    hopper = load("h100-sxm")
    lowered = LoweredLaunch("sm_90", 384, 65_536, 240, "wgmma")
    facts = replace(gemm(), lowered=(lowered,), compiled=(CompiledLaunch("sm_90", 168, 0, 0),))
    found = analyze(facts, hopper)
    assert (found.threads_per_block, found.registers_per_thread) == (384, 168)
    assert found.occupancy is not None and found.occupancy.blocks_per_sm == 1


def test_facts_for_another_architecture_change_nothing() -> None:
    facts = replace(local_array(), compiled=(CompiledLaunch("sm_90", 255, 4096, 512),))
    assert report(facts) == report(local_array())


def test_an_array_in_local_memory() -> None:
    """Each element of the array is stored and loaded once: the sum beside it is in a register."""
    facts = compiled(local_array(), stack_bytes=4 * ELEMENTS, local_accesses=IN_STACK)
    kernel = modelled(facts, A100)
    fill, use, last = (kernel.busy.spills[leaf] for leaf in kernel.leaves)
    moved = 4 * ELEMENTS * THREADS * BLOCKS
    assert (fill.read_bytes, fill.stored_bytes) == (0, moved)
    assert (use.read_bytes, use.stored_bytes) == (moved, 0)
    assert last.read_bytes == last.stored_bytes == 0
    local = kernel.context.compiled.thread.local_memory
    instructions = [local[leaf].instructions for leaf in kernel.leaves]
    # 16 bytes of an instruction that stores, 4 of one that loads.
    assert instructions == [moved / 16, moved / 4, 0]
    slower, before = report(facts), report(compiled(local_array()))
    assert slower.time_s is not None and before.time_s is not None
    assert slower.time_s > before.time_s
    assert any(
        "256 bytes of arrays a thread are in local memory" in c.message for c in slower.caveats
    )


@pytest.mark.parametrize("is_atomic", [False, True])
def test_an_array_that_a_line_updates_is_loaded_and_stored_once(is_atomic: bool) -> None:
    place = ("j",)
    modes = ("atomic",) if is_atomic else ("read", "write")
    update = Store("a[j] += 1", (), tuple(Access("a", m, place) for m in modes), sites=site(FILL))  # type: ignore[arg-type]
    facts = launched(
        (Loop("serial", "j", 0, ELEMENTS, (update,), sites=site(4)),),
        (Buffer("a", "a", "float32", (ELEMENTS,), "local"),),
        BLOCKS,
        THREADS,
    )
    both = (IN_STACK[0], access(FILL, "read", 4, 8, 1, False))
    kernel = modelled(compiled(facts, stack_bytes=4 * ELEMENTS, local_accesses=both), A100)
    (update_leaf,) = kernel.leaves
    moved = 4 * ELEMENTS * THREADS * BLOCKS
    spills = kernel.busy.spills[update_leaf]
    assert (spills.read_bytes, spills.stored_bytes) == (moved, moved)
    local = kernel.context.compiled.thread.local_memory
    assert local[update_leaf].instructions == moved / 4 + moved / 16


def test_a_frame_that_l1_does_not_hold_is_read_from_l2() -> None:
    # Four blocks of 128 threads are resident.
    few = compiled(local_array(), registers_per_thread=128, local_accesses=IN_STACK)
    small, large = (
        replace(few, compiled=(replace(few.compiled[0], stack_bytes=frame),))
        for frame in (256, 1024)
    )
    missed = [
        sum(
            one.missed_bytes / max(one.read_bytes, 1.0) for one in modelled(facts, A100).busy.spills
        )
        for facts in (small, large)
    ]
    assert missed[0] < 0.1 and missed[1] > 0.9


@pytest.mark.parametrize(("loops", "executions"), [(0, 1), (1, ELEMENTS), (2, ELEMENTS)])
def test_spills_are_executed_as_often_as_the_loops_around_them(loops: int, executions: int) -> None:
    spilled = (access(USE, "write", 4, 3, loops, True), access(USE, "read", 4, 2, loops, True))
    facts = compiled(local_array(), stack_bytes=12, spill_bytes=20, local_accesses=spilled)
    kernel = modelled(facts, A100)
    _, use, _ = (kernel.busy.spills[leaf] for leaf in kernel.leaves)
    each = executions * THREADS * BLOCKS
    assert (use.read_bytes, use.stored_bytes) == (8 * each, 12 * each)
    assert any(caveat.is_spill for caveat in report(facts).caveats)


def test_the_executions_of_the_machine_code_are_believed_over_its_loops() -> None:
    """Here the loop is unrolled twice: its code has the spills of two iterations."""
    spill = replace(access(USE, "read", 4, 6, 1, True), warp_executions=ELEMENTS / 2 * THREADS / 32)
    kernel = modelled(compiled(local_array(), spill_bytes=24, local_accesses=(spill,)), A100)
    _, use, _ = (kernel.busy.spills[leaf] for leaf in kernel.leaves)
    assert use.read_bytes == 4 * 6 * ELEMENTS / 2 * THREADS * BLOCKS


def test_a_spill_at_a_line_of_no_statement() -> None:
    """It is that of the nearest statement; one outside of all may be another kernel's."""
    for line, is_counted in ((6, True), (9, True), (2, False), (10, False)):
        facts = compiled(local_array(), local_accesses=(access(line, "write", 4, 1, 0, True),))
        stored = sum(one.stored_bytes for one in modelled(facts, A100).busy.spills)
        assert stored == (4 * THREADS * BLOCKS if is_counted else 0)


def test_a_compiler_that_does_not_spill_overrules_the_estimate() -> None:
    facts = gemm(tile_m=256, tile_n=256, tile_k=32, stages=2, threads=128)
    estimated = report(facts)
    found = report(compiled(facts, registers_per_thread=255))
    assert any(caveat.is_spill for caveat in estimated.caveats)
    assert not any(caveat.is_spill for caveat in found.caveats)
    assert found.time_s is not None and estimated.time_s is not None
    assert found.time_s < estimated.time_s
    assert (found.stack_bytes, found.spill_bytes) == (0, 0)


def test_static_shared_memory_of_a_kernel_without_dynamic_shared_memory() -> None:
    facts = compiled(local_array(), static_shared_bytes=40_000)
    found = report(facts)
    assert found.shared_bytes_per_block == 40_000
    assert found.occupancy is not None and found.occupancy.limiter == "shared"


def test_a_stack_frame_that_no_statement_accesses_is_no_array() -> None:
    """Sine and cosine have 32 bytes of stack for the range reduction of large arguments."""
    facts = compiled(local_array(), stack_bytes=32)
    found = report(facts)
    assert found.stack_bytes == 32
    assert not any("local memory" in caveat.message for caveat in found.caveats)
    assert found.time_s == report(compiled(local_array())).time_s
