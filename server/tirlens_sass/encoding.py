"""The 128-bit encoding of an instruction: what nvdisasm does not print, decoded from its bits.

From Volta on (sm_70 to sm_120) an instruction has two words of 64 bits. The compiler's scheduling
is in the upper one: the hardware does not check fixed latencies, it waits as these bits say.

Sources: Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking",
arXiv:1804.06826, section 2.1; cloudcores/CuAssembler, "UserGuide.md", "Control Codes".
"""

from __future__ import annotations

from dataclasses import dataclass

#: Barriers of a warp on which instructions of variable latency report.
BARRIERS = 6
_NO_BARRIER = 7
# Position of the control information in the upper word, and the widths of its fields.
_SHIFT = 41
_GUARD_SHIFT, _GUARD_BITS, _GUARD_NEGATED = 12, 0x7, 1 << 15


@dataclass(frozen=True)
class Control:
    """The scheduling of one instruction.

    Parameters
    ----------
    stall_cycles
        Cycles until the warp may issue its next instruction, 0 to 15.
    yields
        Whether the scheduler prefers another warp for the next issue.
    write_barrier
        The barrier (0 to 5) that is released when the result is written; None without one.
    read_barrier
        The barrier that is released when the operands are read; None without one.
    wait_mask
        The barriers that must be released before the instruction issues: bit i is barrier i.
    reuse
        The operands that are kept in the register reuse cache: bit i is source operand i.
    """

    stall_cycles: int
    yields: bool
    write_barrier: int | None
    read_barrier: int | None
    wait_mask: int
    reuse: int

    @property
    def waits(self) -> tuple[int, ...]:
        """The barriers of `wait_mask`."""
        return tuple(barrier for barrier in range(BARRIERS) if self.wait_mask >> barrier & 1)


@dataclass(frozen=True)
class Encoding:
    """The two words of an instruction."""

    low: int
    high: int

    @property
    def control(self) -> Control:
        """The scheduling; meaningful for sm_70 and later."""
        bits = self.high >> _SHIFT
        return Control(
            stall_cycles=bits & 0xF,
            yields=not bits >> 4 & 1,
            write_barrier=_barrier(bits >> 5 & 0x7),
            read_barrier=_barrier(bits >> 8 & 0x7),
            wait_mask=bits >> 11 & 0x3F,
            reuse=bits >> 17 & 0xF,
        )

    @property
    def guard(self) -> tuple[int, bool]:
        """The number of the guard predicate (7 is always true), and whether it is negated.

        The guard of an instruction of the uniform datapath may be a uniform predicate; its file is
        not in these bits.
        """
        return self.low >> _GUARD_SHIFT & _GUARD_BITS, bool(self.low & _GUARD_NEGATED)

    def with_control(self, control: Control) -> Encoding:
        """The same instruction with another scheduling.

        Raises
        ------
        ValueError
            A field of `control` is out of its range.
        """
        fields = (
            (control.stall_cycles, 4),
            (int(not control.yields), 1),
            (_barrier_bits(control.write_barrier), 3),
            (_barrier_bits(control.read_barrier), 3),
            (control.wait_mask, 6),
            (control.reuse, 4),
        )
        bits = shift = 0
        for value, width in fields:
            if not 0 <= value < 1 << width:
                raise ValueError(f"{control} has a field out of its range")
            bits |= value << shift
            shift += width
        mask = (1 << shift) - 1 << _SHIFT
        return Encoding(self.low, self.high & ~mask | bits << _SHIFT)


def _barrier(bits: int) -> int | None:
    return None if bits == _NO_BARRIER else bits


def _barrier_bits(barrier: int | None) -> int:
    if barrier is not None and not 0 <= barrier < BARRIERS:
        raise ValueError(f"there is no barrier {barrier}")
    return _NO_BARRIER if barrier is None else barrier
