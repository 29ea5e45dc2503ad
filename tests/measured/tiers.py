"""Predicted over measured times by tier: by the source, by the compiler's registers, by its code,
by its schedule.

    python tests/measured/tiers.py

The kernels are those of `facts/h100_compiled.json.gz` (`compiled_times.py`), which have what
tilelang and NVIDIA's compiler made of them. Nothing is fitted to those of `h100_examples.csv`.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "server")]

from measured.figures import APART  # noqa: E402
from measured.tables import board, measurements  # noqa: E402
from support.stored_facts import stored  # noqa: E402
from tirlens.model import analyze  # noqa: E402
from tirlens_worker.codec import from_json  # noqa: E402
from tirlens_worker.facts import CompiledLaunch, KernelFacts  # noqa: E402

DEVICE = "h100-sxm"
HELD_OUT = "h100_examples"


def _without_executions(facts: KernelFacts) -> tuple[CompiledLaunch, ...]:
    return tuple(replace(one, executed=(), line_clocks=()) for one in facts.compiled)


def _without_schedule(facts: KernelFacts) -> tuple[CompiledLaunch, ...]:
    return tuple(replace(one, line_clocks=()) for one in facts.compiled)


#: What is known of the compiler's work in each tier.
TIERS: Mapping[str, Callable[[KernelFacts], tuple[CompiledLaunch, ...]]] = {
    "source and lowering": lambda facts: (),
    "with the compiler's registers and spills": _without_executions,
    "with the executions of its code": _without_schedule,
    "with the schedule of its code": lambda facts: facts.compiled,
}


@dataclass(frozen=True)
class TieredRow:
    """A measured kernel: its table, its family, the ratio and whether it is in the band by tier."""

    table: str
    family: str
    call: str
    ratios: Mapping[str, float]
    is_in_band: Mapping[str, bool]


def rows(table: str) -> Iterator[TieredRow]:
    """The compiled kernels of a table of measurements."""
    device, measured = board(DEVICE), measurements(f"{table}.csv")
    for entry in stored("h100_compiled"):
        one = measured.get(entry["row"]) if entry["table"] == table else None
        if one is None or one.klass in APART:
            continue
        facts = from_json(KernelFacts, entry["facts"])
        ratios: dict[str, float] = {}
        in_band: dict[str, bool] = {}
        for tier, known in TIERS.items():
            report = analyze(replace(facts, compiled=known(facts)), device, by_line=False)
            assert report.time_s is not None and report.time_band_s is not None
            low, high = report.time_band_s
            ratios[tier] = (report.time_s + one.harness_s) / one.measured_s
            in_band[tier] = low <= one.measured_s - one.harness_s <= high
        yield TieredRow(table, one.family, facts.call, ratios, in_band)


@dataclass(frozen=True)
class TierErrors:
    """The mean errors of a tier: of rows, of families, the median; and the share in the band."""

    rows: float
    families: float
    median: float
    in_band: float


def errors(found: Sequence[TieredRow], tier: str) -> TierErrors:
    families: dict[str, list[float]] = defaultdict(list)
    for row in found:
        families[row.family].append(abs(row.ratios[tier] - 1))
    all_errors = [error for one in families.values() for error in one]
    return TierErrors(
        mean(all_errors),
        mean(map(mean, families.values())),
        median(all_errors),
        mean(row.is_in_band[tier] for row in found),
    )


def table(found: Sequence[TieredRow]) -> str:
    """A table in Markdown with a row for each tier."""
    lines = [
        "| tier | rows | mean error | of families | median error | in the band |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for tier in TIERS:
        one = errors(found, tier)
        shares = (one.rows, one.families, one.median)
        cells = " | ".join(f"{share:.1%}" for share in shares)
        lines.append(f"| {tier} | {len(found)} | {cells} | {one.in_band:.0%} |")
    return "\n".join(lines)


def main() -> None:
    for name in (HELD_OUT, "h100_sweep"):
        found = list(rows(name))
        print(f"{name}\n{table(found)}\n")
        for row in sorted(found, key=lambda one: next(iter(one.ratios.values()))):
            marks = (
                f"{row.ratios[tier]:.2f}{'' if row.is_in_band[tier] else '!'}" for tier in TIERS
            )
            print(*marks, row.family, row.call[:90])


if __name__ == "__main__":
    main()
