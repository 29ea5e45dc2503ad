"""The instructions that the machine code has for each line take the place of the estimated ones.

A block of 64 threads executes three statements: line 5 multiplies and adds in a loop of line 4,
line 6 takes an exponential in the same loop, and line 9 stores.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm, launched, modelled, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.tree.compiled import Instructions
from tirlens_worker.facts import (
    Access,
    Arith,
    Buffer,
    CompiledLaunch,
    ExecutedInstructions,
    KernelFacts,
    Loop,
    Pipe,
    Span,
    Store,
)

H100 = load("h100-sxm")
BLOCKS, WARPS, TRIPS = 1000, 2, 64
THREADS = 32 * WARPS


def chain() -> KernelFacts:
    buffers = (
        Buffer("s", "s", "float32", (2,), "local"),
        Buffer("y", "y", "float32", (BLOCKS * THREADS,), "global"),
    )
    both = (Access("s", "read", (0,)), Access("s", "write", (0,)))
    fused = Store("s = s * s + s", (Arith("fma", "float32", 1),), both, sites=site(5))
    power = Store("s = exp2(s)", (Arith("exp2", "float32", 1),), both, sites=site(6))
    index = ("+", ("*", "bx", THREADS), "tx")
    last = Store(
        "y = s", (), (Access("s", "read", (0,)), Access("y", "write", (index,))), sites=site(9)
    )
    loop = Loop("serial", "k", 0, TRIPS, (fused, power), sites=site(4))
    return launched((loop, last), buffers, BLOCKS, THREADS)


def executed(line: int, pipe: Pipe, warps: float | None) -> ExecutedInstructions:
    return ExecutedInstructions(Span(line, 0, line, 0), pipe, warps)


def rows(facts: KernelFacts, *found: ExecutedInstructions) -> list[Instructions]:
    """The instructions of each statement as it is compiled, by the threads of one block."""
    if found:
        facts = replace(facts, compiled=(CompiledLaunch("sm_90", 32, executed=found),))
    kernel = modelled(facts, H100)
    return [kernel.context.compiled.instructions[leaf] for leaf in kernel.leaves]


def operations(row: Instructions) -> float:
    return sum(row.operations.values())


EACH = BLOCKS * THREADS * TRIPS


def test_what_is_compiled_without_its_executions_is_estimated() -> None:
    facts = replace(chain(), compiled=(CompiledLaunch("sm_90", 32),))
    assert rows(facts) == rows(chain())


@pytest.mark.parametrize("number", [1, 3])
def test_operations_are_those_of_the_code(number: int) -> None:
    """`number` instructions of each pipe for each execution of the warps."""
    fused, power, last = rows(
        chain(),
        executed(5, "fma", WARPS * TRIPS * number),
        executed(6, "special", WARPS * TRIPS * number),
    )
    assert operations(fused) == EACH * number
    assert sum(n for (unit, _), n in power.operations.items() if unit == "sfu") == EACH * number
    assert last == rows(chain())[2]


def test_operations_that_the_code_has_at_no_line_are_estimated() -> None:
    fused, power, _ = rows(chain(), executed(5, "other", 1.0), executed(6, "other", 1.0))
    assert (fused.operations, power.operations) == tuple(
        row.operations for row in rows(chain())[:2]
    )


def test_other_integers_are_addresses_and_predicates() -> None:
    (fused, *_) = rows(chain(), executed(5, "fma", WARPS), executed(5, "integer", 10.0))
    assert (fused.predicate, fused.index) == (10 * 32 * BLOCKS, 0)


@pytest.mark.parametrize("pipe", ["multiply", "other", "special", "product_wait"])
def test_what_no_operation_uses_takes_issue_slots(pipe: Pipe) -> None:
    (fused, *_) = rows(chain(), executed(5, "fma", WARPS * TRIPS), executed(5, pipe, 7.0))
    assert fused.skipped == 7 * 32 * BLOCKS


def test_loads_and_stores_are_those_of_the_mapping() -> None:
    found = rows(chain(), executed(9, "memory", 100.0), executed(9, "other", 1.0))[2]
    assert found.mapping == rows(chain())[2].mapping
    assert found.skipped == 32 * BLOCKS


def test_the_line_of_a_loop_has_the_code_of_the_statements_inside() -> None:
    """They share each pipe as they share its estimate, and control as all instructions."""
    fused, power, _ = rows(
        chain(),
        executed(4, "fma", WARPS * TRIPS),
        executed(4, "special", WARPS * TRIPS),
        executed(4, "other", 6.0),
    )
    units = [
        [
            sum(n for (unit, _), n in row.operations.items() if unit == name)
            for name in ("fma", "sfu")
        ]
        for row in (fused, power)
    ]
    assert units[0][0] + units[1][0] == pytest.approx(EACH)
    assert (units[0][1], units[1][1]) == (0, EACH)
    assert fused.skipped + power.skipped == pytest.approx(6 * 32 * BLOCKS)
    assert 0 < fused.skipped < power.skipped


def test_a_line_that_the_kernel_does_not_have_changes_nothing() -> None:
    unknown = ExecutedInstructions(None, "fma", 1e6)
    assert rows(chain(), executed(30, "fma", 1e6), unknown) == rows(chain())


@pytest.mark.parametrize("line", [5, 4])
def test_a_statement_of_which_the_code_depends_on_data_stays_estimated(line: int) -> None:
    """The control of a loop that depends on data says nothing of the statements inside."""
    known = [executed(5, "other", 3.0), executed(6, "special", WARPS * TRIPS)]
    fused, power, _ = rows(chain(), *known, executed(line, "integer", None))
    assert fused == rows(chain())[0] if line == 5 else fused.skipped == 3 * 32 * BLOCKS
    assert power.predicate == 0


def test_more_instructions_take_more_time() -> None:
    few, many = (
        modelled(
            replace(
                chain(),
                compiled=(
                    CompiledLaunch("sm_90", 32, executed=(executed(5, "integer", 64.0 * number),)),
                ),
            ),
            H100,
        )
        for number in (1, 50)
    )
    assert few.time.total_s < many.time.total_s
    leaf = few.leaves[0]
    ratio = many.busy.unit_s[leaf]["int"] / few.busy.unit_s[leaf]["int"]
    assert ratio == pytest.approx(50)


def test_products_that_the_compiler_serialises_are_waited_for_one_by_one() -> None:
    """A tile of 64 x 128 x 64 by one warpgroup is four wgmma, which end together or one by one."""
    facts = gemm(tile_m=64)
    blocks, iterations = 64 * 32, 64

    def compiled(waits: int) -> KernelFacts:
        found = executed(7, "product_wait", 4.0 * iterations * waits)
        return replace(facts, compiled=(CompiledLaunch("sm_90", 168, executed=(found,)),))

    together, alone = (modelled(compiled(waits), H100) for waits in (1, 4))
    waits = [
        [one.product_waits for one in kernel.context.compiled.instructions]
        for kernel in (together, alone)
    ]
    assert max(waits[0]) == 1 and max(waits[1]) == 4
    sm = H100.microarchitecture
    least_s = 3 * (sm.shared_clk + sm.mma_clk) / H100.clock_hz * iterations
    waves = blocks / (H100.sm_count * together.launch.block.blocks_per_sm)
    assert 0 < alone.time.total_s - together.time.total_s <= least_s * (waves + 1)
    (told,) = (one for one in analyze(compiled(4), H100).caveats if one.message.startswith("ptxas"))
    assert told.span is not None and told.span.line == 7
    assert told.message.endswith("4 waits where one would do")
    assert not any(one.message.startswith("ptxas") for one in analyze(compiled(1), H100).caveats)
