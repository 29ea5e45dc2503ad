"""The operations of a kernel, their main class, and what is not known of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tirlens.hardware.spec import Device

from ..report import CaveatNote, Work
from ..roofline import dominant_class, peak
from ..tree.node import Leaf, known_sum


def sum_work(leaves: Sequence[Leaf], formula: Mapping[str, str]) -> Work:
    """The operations of the statements of a kernel; `formula` is in its dynamic dimensions."""
    by_class: dict[str, int] = {}
    for leaf in leaves:
        for name, flop in leaf.arith.flop_by_class.items():
            by_class[name] = by_class.get(name, 0) + flop
    return Work(
        flop=known_sum([leaf.flop for leaf in leaves]),
        useful_flop=known_sum([leaf.useful_flop for leaf in leaves]),
        masked_flop=known_sum([leaf.masked_flop for leaf in leaves]),
        flop_by_class=by_class,
        int_ops=sum([leaf.arith.int_ops for leaf in leaves]),
        formula=formula,
    )


def unknown_cost_notes(
    leaves: Sequence[Leaf], noted: Collection[str | None]
) -> Iterator[CaveatNote]:
    """A caveat for each function of unknown cost that is not `noted` at its line already."""
    unknown = {name for leaf in leaves for name in leaf.arith.unknown}
    for name in sorted(unknown.difference(noted)):
        yield CaveatNote(f"the cost of {name!r} is not known; it is left out")


def main_peak(work: Work, leaves: Sequence[Leaf], device: Device) -> tuple[int, float] | None:
    """The kernel's main operations of one class, and their peak per second; None: not known.

    The peak of integers outside of matrix units is that of their fewest instructions at the rate of
    ``int32``, which only files of GPUs have.
    """
    operations = work.operations
    if operations.are_integer and operations.int_ops:
        found = device.peaks.get("int32") if device.kind == "gpu" else None
        if found is None or operations.integer_flop:
            return None
        instructions = sum(leaf.arith.least_int_instructions for leaf in leaves)
        return operations.int_ops, operations.int_ops / instructions * found.flop_per_s
    name = dominant_class(device, work.flop_by_class)
    return (work.flop_by_class[name], peak(device, name).flop_per_s) if name else None
