"""Cycles between an instruction of fixed latency and those that use its result, by stall counts.

    python tests/sass/distances.py LISTING...

The hardware does not check fixed latencies: the compiler keeps the consumer away by the stall
counts of the instructions between. The least distance over much code is therefore the latency.
``IMAD.WIDE`` is left out: it makes its result in two halves and reads the second one later, so that
distances of 2 and 3 cycles are right. Listings may be compressed with xz.
"""

from __future__ import annotations

import lzma
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tirlens_sass import Instruction, Listing, read

#: Consumers that read their operands when they are issued, by the file of the register.
_CONSUMERS = {"R": ("fma", "alu", "fp16"), "UR": ("uniform",), "P": ("alu",)}
Distances = dict[tuple[str, str], Counter[int]]


def find_distances(listing: Listing) -> Distances:
    """How often each distance in cycles occurs, by the opcode of the producer and the file.

    Only results of arithmetic that sets no scoreboard barrier, in the same basic block.
    """
    found: Distances = {}
    for function in listing.functions:
        for block in function.blocks:
            part = function.instructions[block.first : block.last + 1]
            for producer, file, cycles in _pairs(part):
                found.setdefault((producer, file), Counter())[cycles] += 1
    return found


def _pairs(instructions: tuple[Instruction, ...]) -> Iterator[tuple[str, str, int]]:
    time = 0
    last: dict[tuple[str, int], tuple[int, Instruction]] = {}
    for one in instructions:
        use, control = one.registers, one.control
        if use is None or control is None:
            return
        unit = one.opcode.unit if one.opcode is not None and not _is_split(one) else None
        for part in use.reads:
            if unit not in _CONSUMERS.get(part.file, ()):
                continue
            if one.guard is not None and (part.file, part.first) == (
                one.guard.file,
                one.guard.number,
            ):
                continue
            for number in range(part.first, part.first + (part.count or 1)):
                issued, producer = last.get((part.file, number), (0, None))
                if producer is not None:
                    yield producer.name, part.file, time - issued
        for part in use.writes:
            for number in range(part.first, part.first + (part.count or 1)):
                last.pop((part.file, number), None)
                if one.guard is None and control.write_barrier is None and not _is_split(one):
                    last[part.file, number] = time, one
        time += max(control.stall_cycles, 1)


def _is_split(instruction: Instruction) -> bool:
    return "WIDE" in instruction.modifiers


def main() -> None:
    """Print the least distances by architecture, opcode and file."""
    total: dict[tuple[str, str, str], Counter[int]] = {}
    for name in sys.argv[1:]:
        data = Path(name).read_bytes()
        text = (lzma.decompress(data) if name.endswith(".xz") else data).decode()
        listing = read(text)
        for (opcode, file), counts in find_distances(listing).items():
            total.setdefault((listing.architecture, opcode, file), Counter()).update(counts)
    for key in sorted(total):
        least = sorted(total[key].items())[:3]
        print(*key, sum(total[key].values()), *(f"{cycles}: {n}" for cycles, n in least), sep="\t")


if __name__ == "__main__":
    main()
