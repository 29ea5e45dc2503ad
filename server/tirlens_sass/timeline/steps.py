"""What an instruction means for the time of its warp."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ..arithmetic import matrix_operations
from ..instruction import Instruction
from ..timing import timing
from .latencies import OPERANDS_CYCLES, SCHEDULERS, Latencies

Kind = Literal[
    "plain", "load", "copy", "commit", "copy_wait", "product", "product_wait", "barrier", "call"
]
_WARP = 32
# Of L1 and shared memory (CUDA C++ Programming Guide, "Shared Memory": 32 banks of 4 bytes).
_L1_BYTES_PER_CYCLE = 128.0
_GROUP_SHAPE = re.compile(r"\d+x(\d+)x\d+$")
# The 64 rows of a product by a warpgroup and all its depth take a cycle for two columns.
_COLUMNS_PER_CYCLE = 2.0


@dataclass(frozen=True)
class Step:
    """An instruction for the time of its warp, in cycles.

    Parameters
    ----------
    index
        Its number in its function.
    stall
        Until the next instruction may issue.
    waits
        The barriers that it waits for.
    write_barrier, read_barrier
        The barriers that it releases when the result is written, and when operands are read.
    latency
        Until the result is written; None for the latency of global memory.
    unit, occupancy
        The unit that it keeps busy, and for how long.
    transfer
        For which what it loads from L2 occupies the port of the SM.
    kind
        What it does beyond that.
    pending
        Of a wait for copies or products: the groups that may be outstanding.
    """

    index: int
    stall: int
    waits: tuple[int, ...]
    write_barrier: int | None
    read_barrier: int | None
    latency: float | None
    unit: str
    occupancy: float
    transfer: float
    kind: Kind
    pending: int = 0
    ends_group: bool = False


def step_of(index: int, one: Instruction, latencies: Latencies, architecture: str) -> Step:
    """The step of an instruction."""
    control = one.control
    kind = _kind(one)
    unit, occupancy = _occupancy(one, latencies, architecture)
    return Step(
        index,
        max(control.stall_cycles if control else 1, 1),
        control.waits if control else (),
        control.write_barrier if control else None,
        control.read_barrier if control else None,
        None if kind == "load" else _latency(one, latencies),
        unit,
        occupancy,
        _bytes_of_warp(one) / latencies.bytes_per_cycle,
        kind,
        _pending(one) if kind in ("copy_wait", "product_wait") else 0,
        kind == "product" and any(operand.text.startswith("gsb") for operand in one.operands),
    )


def _kind(one: Instruction) -> Kind:
    if one.name == "LDGSTS":
        return "copy"
    if one.name == "LDGDEPBAR":
        return "commit"
    if one.name == "DEPBAR" and any(operand.text == "SB0" for operand in one.operands):
        return "copy_wait"
    if one.name.endswith("GMMA"):
        return "product"
    if one.name == "WARPGROUP" and "DEPBAR" in one.modifiers:
        return "product_wait"
    if one.name == "BAR" and "ARV" not in one.modifiers:
        return "barrier"
    if one.name == "CALL":
        return "call"
    is_global = any(access.space in ("global", "generic") for access in one.memory)
    if is_global and any(access.direction != "store" for access in one.memory):
        return "plain" if one.name in ("RED", "REDG") else "load"
    return "plain"


def _pending(one: Instruction) -> int:
    last = one.operands[-1].text if one.operands else ""
    return int(last, 0) if last[:1].isdigit() else 0


def _latency(one: Instruction, latencies: Latencies) -> float:
    unit = one.opcode.unit if one.opcode is not None else None
    if one.name == "SHFL":
        return latencies.shuffle
    if one.name == "MUFU":
        return latencies.special
    if one.name == "SYNCS":
        return latencies.phase
    if unit == "xu":
        return latencies.conversion
    if any(access.direction == "store" for access in one.memory):
        return OPERANDS_CYCLES
    if one.memory:
        return latencies.shared_memory
    # Special registers, votes, moves to the uniform datapath: no source has them.
    return latencies.special


def _bytes_of_warp(one: Instruction) -> int:
    return _WARP * max((access.bytes_per_lane or 0 for access in one.memory), default=0)


def _occupancy(one: Instruction, latencies: Latencies, architecture: str) -> tuple[str, float]:
    """The unit that an instruction occupies, and for how many cycles."""
    operations = matrix_operations(one)
    if one.name.endswith("GMMA"):
        shapes = filter(None, map(_GROUP_SHAPE.match, one.modifiers))
        columns = max((int(shape[1]) for shape in shapes), default=0)
        return "tensor", columns / _COLUMNS_PER_CYCLE
    if operations:
        name = "HMMA.TF32" if "TF32" in one.modifiers else one.name
        rate = latencies.matrix_operations.get(name)
        return "tensor", operations / rate if rate else 0.0
    if bytes_of_warp := _bytes_of_warp(one):
        return "lsu", bytes_of_warp / _L1_BYTES_PER_CYCLE
    rate = timing(one.name, architecture).threads_per_cycle
    if rate is None or one.opcode is None:
        return "", 0.0
    return one.opcode.unit or "", _WARP * SCHEDULERS / rate
