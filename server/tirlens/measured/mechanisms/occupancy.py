"""Resident blocks by the registers and shared memory of the launch, and resident warps."""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.mechanisms.mechanism import Mechanism, Question, disagreement
from tirlens.model.gpu.occupancy.occupancy import BlockResources, occupancy
from tirlens.quantity_text import bytes_, percent

REGISTERS = ("launch__registers_per_thread", "registers_per_thread")
SHARED = ("launch__shared_mem_per_block", "launch__shared_mem_per_block_allocated")
_PARTS_OF_SHARED = (
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
)
_ACTIVE_WARPS = "sm__warps_active.avg.pct_of_peak_sustained_active"
#: Resident warps below this part of the prediction disagree.
LEAST_PART = 0.75


def check(question: Question) -> Iterator[Mechanism]:
    """Fewer resident blocks of a slower kernel, or more of a faster one."""
    yield from _by_resources(question)
    yield from _by_warps(question)


def _by_resources(question: Question) -> Iterator[Mechanism]:
    report = question.report
    predicted, threads = report.occupancy, question.threads or report.threads_per_block
    registers, shared = _registers(question), _shared_memory(question)
    if predicted is None or threads is None or (registers is None and shared is None):
        return
    known_registers = registers[1] if registers else report.registers_per_thread
    known_shared = shared[1] if shared else report.shared_bytes_per_block
    if known_registers is None or known_shared is None:
        return
    resources = BlockResources(threads, int(known_shared), int(known_registers))
    measured = occupancy(question.device, resources)
    if measured is None or measured.blocks_per_sm == predicted.blocks_per_sm:
        return
    if (measured.blocks_per_sm < predicted.blocks_per_sm) != question.is_slower:
        return
    causes: list[str] = []
    if registers is not None and report.registers_per_thread not in (None, int(registers[1])):
        causes.append(f"{registers[1]:.0f} registers a thread, not {report.registers_per_thread}")
    if shared is not None and report.shared_bytes_per_block not in (None, int(shared[1])):
        causes.append(
            f"{bytes_(shared[1])} of shared memory a block, not "
            f"{bytes_(report.shared_bytes_per_block or 0)}"
        )
    if not causes:
        return
    names = tuple(found[0] for found in (registers, shared) if found is not None)
    yield Mechanism(
        "occupancy",
        f"{' and '.join(causes)}: blocks on an SM: {measured.blocks_per_sm}, "
        f"not {predicted.blocks_per_sm}",
        measured.blocks_per_sm,
        predicted.blocks_per_sm,
        "blocks",
        names,
        disagreement(measured.blocks_per_sm, predicted.blocks_per_sm),
    )


def _by_warps(question: Question) -> Iterator[Mechanism]:
    active = question.counter(_ACTIVE_WARPS)
    predicted = question.report.occupancy
    if active is None or predicted is None or not question.is_slower:
        return
    measured = active[1] / 100
    if measured >= LEAST_PART * predicted.fraction:
        return
    yield Mechanism(
        "resident-warps",
        f"{percent(measured)} of the warp slots are filled, not "
        f"{percent(predicted.fraction)}: blocks start late, or end at different times",
        measured,
        predicted.fraction,
        "fraction",
        (active[0],),
        disagreement(measured, predicted.fraction),
    )


def _registers(question: Question) -> tuple[str, float] | None:
    found = question.counter(*REGISTERS)
    if found is None and question.registers is not None:
        return "registers", float(question.registers)
    return found


def _shared_memory(question: Question) -> tuple[str, float] | None:
    found = question.counter(*SHARED)
    if found is not None:
        return found
    parts = question.sum_counters(*_PARTS_OF_SHARED)
    if parts is not None:
        return _PARTS_OF_SHARED[1], parts
    return None if question.shared_bytes is None else ("shared", float(question.shared_bytes))
