"""The model's registers, blocks and instructions beside those of the compiler.

    python tests/measured/against_compiler.py [PATTERN]

Reads `compiled.csv` and `facts/compiled.json.gz`.  Instructions are those of one warp for straight
code, and those of a turn of the main loop where there is one, each for the same work: what both
have to do exactly alike (products, else bytes of global memory, else special functions) tells how
many turns of the model's loop are one of the compiler's.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "server")]

from tirlens.hardware import Device, load  # noqa: E402
from tirlens.model.analyze import analyze, workload_of  # noqa: E402
from tirlens.model.gpu.kernel import compile_for  # noqa: E402
from tirlens.model.gpu.occupancy.occupancy import BlockResources, occupancy  # noqa: E402
from tirlens.model.gpu.units.unit_times import leaf_requests  # noqa: E402
from tirlens.model.tree.compiled import Compiled  # noqa: E402
from tirlens.model.tree.context import CONCURRENT_KINDS, GRID_KINDS  # noqa: E402
from tirlens.model.tree.node import leaves_of  # noqa: E402
from tirlens_worker.codec import from_json  # noqa: E402
from tirlens_worker.facts import KernelFacts, Loop  # noqa: E402

DEVICES = {"sm_80": "a100-80-sxm", "sm_90a": "h200", "sm_100a": "b200"}

# Which unit executes an opcode, in the model's words.
UNITS: Mapping[str, str] = {
    **dict.fromkeys(("FADD", "FMUL", "FFMA", "FFMA2", "FADD2", "FMUL2", "FSWZADD"), "fma"),
    **dict.fromkeys(("HADD2", "HMUL2", "HFMA2", "HMUL2", "BFMA", "FADD32I", "FMUL32I"), "fma"),
    **dict.fromkeys(("DADD", "DMUL", "DFMA", "DSETP", "DMNMX"), "fp64"),
    "MUFU": "sfu",
    **dict.fromkeys(("F2F", "F2I", "I2F", "FRND", "F2IP", "I2FP"), "cvt"),
    **dict.fromkeys(("LDG", "LD"), "ldg"),
    **dict.fromkeys(("STG", "ST"), "stg"),
    **dict.fromkeys(("LDS", "LDSM"), "lds"),
    **dict.fromkeys(("STS", "STSM"), "sts"),
    **dict.fromkeys(("LDL", "STL"), "local"),
    **dict.fromkeys(("LDGSTS", "UTMALDG", "UTMASTG", "UBLKCP"), "async"),
    **dict.fromkeys(("ATOM", "ATOMG", "ATOMS", "RED"), "atomic"),
    **dict.fromkeys(("SHFL", "REDUX", "VOTE", "VOTEU", "MATCH"), "shuffle"),
    **dict.fromkeys(("HMMA", "IMMA", "QMMA", "DMMA", "OMMA"), "mma"),
    **dict.fromkeys(("HGMMA", "QGMMA", "IGMMA", "BGMMA"), "mma"),
    **dict.fromkeys(("BAR", "SYNCS", "BSSY", "BSYNC", "BRA", "EXIT", "CALL", "RET"), "control"),
    **dict.fromkeys(("WARPSYNC", "WARPGROUP", "DEPBAR", "LDGDEPBAR", "NOP", "YIELD"), "control"),
    **dict.fromkeys(("MEMBAR", "FENCE", "ERRBAR", "CCTL", "BREAK", "ELECT"), "control"),
    **dict.fromkeys(
        ("LDC", "ULDC", "LDCU", "S2R", "S2UR", "CS2R", "R2UR", "NANOSLEEP"), "constant"
    ),
    **dict.fromkeys(("MOV", "MOV32I"), "move"),
}
INTEGER = "int"
# Kernels of fewer instructions a warp say nothing of their counts.
FEWEST = 20
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
QUIET = GRID_KINDS | CONCURRENT_KINDS | {"unroll"}
# What a statement's instructions are; the rest are the way into a kernel, branches and barriers.
COMPARED = ("fma", "fp64", "int", "sfu", "cvt", "ldg", "stg", "lds", "sts", "shuffle")


@dataclass(frozen=True)
class Counted:
    """Instructions of a warp by unit, and the work that they do."""

    units: Counter[str]
    global_bytes: float
    products: float


def real(histogram: str) -> Counted:
    """What a histogram of opcodes says."""
    units: Counter[str] = Counter()
    bytes_, products = 0.0, 0.0
    for entry in histogram.split():
        name, _, number = entry.rpartition(":")
        base, _, rest = name.partition(".")
        unit = UNITS.get(base, "uniform" if base.startswith("U") else INTEGER)
        if name in ("IMAD.MOV",):
            unit = "move"
        units[unit] += int(number)
        if unit in ("ldg", "stg"):
            bytes_ += 32 * int(number) * WIDTHS.get(rest, 4)
        if base in ("HGMMA", "QGMMA", "IGMMA", "HMMA", "IMMA", "QMMA"):
            m, n, k = _shape(base, rest)
            # A warp has a fourth of what its warpgroup multiplies.
            products += int(number) * m * n * k / (4 if base[1] == "G" else 1)
    return Counted(units, bytes_, products)


def _shape(base: str, text: str) -> tuple[int, int, int]:
    if base[1] == "G":
        found = re.search(r"(\d+)x(\d+)x(\d+)", text)
        assert found, text
        return int(found[1]), int(found[2]), int(found[3])
    found = re.search(r"(16|8)8?(\d\d)", text)
    digits = re.sub(r"\D", "", text)
    return 16, 8, int(digits.removeprefix("168")) if digits.startswith("168") else 16


def predicted(items: Iterable[Any], compiled: Compiled, device: Device, warps: float) -> Counted:
    """The model's instructions of one of so many warps."""
    units: Counter[str] = Counter()
    bytes_, products = 0.0, 0.0
    for leaf in leaves_of(items):
        row, route = compiled.instructions[leaf], compiled.routes[leaf]
        for (unit, name), number in row.operations.items():
            units["fp64" if unit == "fma" and name == "fp64" else unit] += number / 32
        requests = leaf_requests(leaf, row, route, device)
        units[INTEGER] += row.index * requests.max_instructions + row.predicate / 32
        units["index"] += row.index * requests.max_instructions
        known, anew = row.mapping.requests, row.mapping.issued_shares
        loaded: set[Any] = set()
        for number, entry in enumerate(leaf.count.accesses):
            request = known[number] if number < len(known) else None
            if request is None or not entry.elements or entry.access.route in ("tma", "async"):
                continue
            if route.copy == "tma":
                continue
            place = (entry.access.mode, entry.access.buffer, entry.access.indices)
            if place in loaded:
                continue
            loaded.add(place)
            many = entry.elements / (32 * request.vector) * (anew[number] if anew else 1.0)
            where = "g" if entry.buffer.scope == "global" else "s"
            units[("ld" if entry.access.mode == "read" else "st") + where] += many
            if where == "g":
                bytes_ += entry.bytes or 0
        for entry in leaf.count.arith:
            if entry.arith.op == "mma":
                products += entry.total or 0
    for name in units:
        units[name] /= warps
    return Counted(units, bytes_ / warps, products / warps)


@dataclass(frozen=True)
class Kernel:
    name: str
    family: str
    arch: str
    facts: KernelFacts
    row: Mapping[str, str]


def kernels(pattern: str = "") -> Iterator[Kernel]:
    with (HERE / "compiled.csv").open(encoding="utf-8") as file:
        rows = {row["kernel"]: row for row in csv.DictReader(file)}
    content = json.loads(gzip.decompress((HERE / "facts/compiled.json.gz").read_bytes()))
    for entry in content:
        row = rows.get(entry["name"])
        if row is not None and re.search(pattern, entry["name"] + " " + entry["family"]):
            facts = from_json(KernelFacts, entry["facts"])
            yield Kernel(entry["name"], entry["family"], entry["arch"], facts, row)


@dataclass(frozen=True)
class Comparison:
    """One kernel: what the model says, and what the compiler made.

    `blocks` are resident blocks with the model's registers, `blocks_real` with the compiler's, all
    else alike.  `model` and `real` are instructions by unit of a warp, for straight code or for a
    turn of the main loop; None where nothing tells how the two correspond.
    """

    name: str
    registers: int
    registers_real: int
    blocks: int
    blocks_real: int
    spills: bool
    spill_bytes: int
    threads: int
    threads_real: int
    part: str
    model: Mapping[str, float] | None
    real: Mapping[str, float] | None


def compared(kernel: Kernel) -> Comparison | None:
    """The comparison of one kernel; None where the model has no launch for it."""
    device = load(DEVICES[kernel.arch])
    report = analyze(kernel.facts, device)
    if report.registers_per_thread is None or report.threads_per_block is None:
        return None
    row = kernel.row
    registers, threads = int(row["registers"]), int(row["threads"])
    shared = report.shared_bytes_per_block or 0
    part, model, made = instructions(kernel, device)
    return Comparison(
        kernel.name,
        report.registers_per_thread,
        registers,
        report.occupancy.blocks_per_sm if report.occupancy else 0,
        _blocks(device, threads, shared, registers),
        any("spill" in note.message for note in report.caveats),
        int(row["spill_bytes"]),
        report.threads_per_block,
        threads,
        part,
        model,
        made,
    )


def _blocks(device: Device, threads: int, shared: int, registers: int) -> int:
    found = occupancy(device, BlockResources(threads, shared, registers))
    return found.blocks_per_sm if found else 0


def instructions(
    kernel: Kernel, device: Device
) -> tuple[str, Mapping[str, float] | None, Mapping[str, float] | None]:
    """Which part is compared, and a warp's instructions in it: the model's and the compiler's."""
    found = workload_of(kernel.facts)
    if found is None or found.needs:
        return "", None, None
    items, compiled = found.tree, compile_for(found, device)
    blocks = math.prod(found.counts.launch.grid or (1,))
    warps = blocks * max(math.prod(found.counts.launch.threads or (1,)) / 32, 1)
    if not kernel.row["loop"]:
        made = real(kernel.row["code"])
        return "code", predicted(items, compiled, device, warps).units, made.units
    made = real(kernel.row["loop"])
    loop = _main_loop(items, compiled, device, warps)
    if loop is None:
        return "loop", None, None
    model = predicted([loop], compiled, device, warps)
    for mine, theirs in (
        (model.products, made.products),
        (model.global_bytes, made.global_bytes),
        (model.units["sfu"], made.units["sfu"]),
        (model.units["lds"], made.units["lds"]),
    ):
        if mine and theirs:
            share = theirs / mine
            return "loop", {name: n * share for name, n in model.units.items()}, made.units
    return "loop", None, None


def _main_loop(items: Iterable[Any], compiled: Compiled, device: Device, warps: float) -> Any:
    """The innermost loop that turns, of most instructions."""
    loops: list[Any] = []

    def visit(item: Any) -> bool:
        inside = [visit(child) for child in item.children]
        turns = isinstance(item.source, Loop) and item.source.kind not in QUIET
        if turns and (item.count.trips or 2) > 1 and not any(inside):
            loops.append(item)
            return True
        return any(inside)

    for item in items:
        visit(item)
    return max(
        loops,
        key=lambda loop: sum(predicted([loop], compiled, device, warps).units.values()),
        default=None,
    )


def error(found: Comparison) -> float | None:
    """The model's instructions of statements over the compiler's; None where it has hardly any."""
    if found.model is None or found.real is None:
        return None
    model, made = (
        sum(units.get(unit, 0.0) for unit in COMPARED) for units in (found.model, found.real)
    )
    return model / made if made >= FEWEST else None


def summary(found: Iterable[Comparison]) -> dict[str, float]:
    """The shares and medians that `test_compiled.py` holds."""
    known = list(found)
    ratios = [ratio for ratio in map(error, known) if ratio is not None]
    off = [abs(item.registers / item.registers_real - 1) for item in known]
    return {
        "kernels": len(known),
        "blocks right": mean(item.blocks == item.blocks_real for item in known),
        "spills right": mean(item.spills == (item.spill_bytes > 0) for item in known),
        "median error of registers": median(off),
        "kernels with instructions": len(ratios),
        "median error of instructions": median(abs(ratio - 1) for ratio in ratios),
    }


def line(found: Comparison) -> str:
    """One kernel of the table: the model's figures before the compiler's."""
    ratio = error(found)
    units = ""
    if found.model is not None and found.real is not None:
        both = ((unit, found.model.get(unit, 0.0), found.real.get(unit, 0.0)) for unit in COMPARED)
        units = " ".join(f"{unit} {a:.0f}/{b:.0f}" for unit, a, b in both if a or b)
    return (
        f"{found.name[:60]:60s} registers {found.registers:3d}/{found.registers_real:3d}"
        f" blocks {found.blocks:2d}/{found.blocks_real:2d} spills {int(found.spills)}"
        f"/{found.spill_bytes:<5d}{found.part:5s}"
        f"{'' if ratio is None else format(ratio, '5.2f'):5s} {units}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    found = [one for one in map(compared, kernels(parser.parse_args().pattern)) if one is not None]
    for one in found:
        print(line(one))
    for name, value in summary(found).items():
        print(f"{name:30s}{value:8.3f}" if value < 1 else f"{name:30s}{value:4.0f}")


if __name__ == "__main__":
    main()
