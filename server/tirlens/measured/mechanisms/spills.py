"""Registers that are spilled to local memory, which the prediction does not expect."""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.mechanisms.mechanism import Mechanism, Question
from tirlens.quantity_text import bytes_

_SECTORS = (
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
)
_INSTRUCTIONS = (
    "smsp__inst_executed_op_local_ld.sum",
    "smsp__inst_executed_op_local_st.sum",
)
_SECTOR_BYTES = 32
#: Less traffic than this part of the issued bytes of global memory is no cause.
LEAST_PART = 0.02


def check(question: Question) -> Iterator[Mechanism]:
    """Traffic of local memory in a slower kernel that has no spill by the prediction."""
    if not question.is_slower or any(caveat.is_spill for caveat in question.report.caveats):
        return
    sectors = question.sum_counters(*_SECTORS)
    issued = question.report.global_bytes.total
    if sectors and issued and sectors * _SECTOR_BYTES >= LEAST_PART * issued:
        moved = sectors * _SECTOR_BYTES
        text = f"{bytes_(moved)} of local memory: registers spill, none by the prediction"
        yield Mechanism("spills", text, moved, 0.0, "bytes", _SECTORS, moved / issued)
        return
    instructions = question.sum_counters(*_INSTRUCTIONS)
    executed = question.counter("smsp__inst_executed.sum")
    if instructions and executed and instructions >= LEAST_PART * executed[1]:
        text = (
            f"{instructions:,.0f} loads and stores of local memory, "
            f"{instructions / executed[1]:.0%} of all instructions: registers spill, none by the "
            "prediction"
        )
        share = instructions / executed[1]
        yield Mechanism("spills", text, instructions, 0.0, "instructions", _INSTRUCTIONS, share)
