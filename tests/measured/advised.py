"""What the advice promises beside what its change has saved: ``python tests/measured/advised.py``.

A pair is two measured kernels of one problem on one device, the second the first with what a rule
proposes.  Printed by rule: how many pairs there are, on how many firsts the rule speaks and on how
many seconds it still does, what share of the time is left as promised (by the rule), as modelled
(both kernels predicted) and as measured, geometric means over the pairs on which it speaks, and how
often it advised what made the kernel slower.  `--rows` lists the pairs.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from statistics import geometric_mean
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "server"), str(HERE.parent)]

from measured.cpu import MACHINES  # noqa: E402
from measured.tables import board, measurements  # noqa: E402
from tirlens.advice import Question, advise, rewrite  # noqa: E402
from tirlens.hardware import Device, load  # noqa: E402
from tirlens.model import analyze  # noqa: E402
from tirlens.model.report import Advice  # noqa: E402
from tirlens.source.edits import LoopKind, Threads  # noqa: E402
from tirlens_worker.codec import from_json  # noqa: E402
from tirlens_worker.facts import KernelFacts, Loop, Node, Span, Statement  # noqa: E402

#: A kernel that takes this much longer after the change is slower, less is the measurement's noise.
SLOWER = 1.05

# Steps of the tutorials by operation: what a rule proposes of the first makes the second of it.
STEPS = (
    ("uncoalesced", "gemm v00", "gemm v01"),
    ("uncoalesced", "gemm 1", "gemm 2"),
    ("bank-conflict", "transpose with bank conflicts", "transpose with padding"),
    ("not-vectorized", "naive mul", "oneflow mul"),
    ("not-vectorized", "add float1", "add float4"),
    ("not-pipelined", "matmul v4", "matmul v6"),
    ("l2-reuse", "matmul v6", "matmul v6b"),
)
# Parameters of the swept kernels that a rule changes.
PARAMETERS = {"threads": "threads", "stages": "stages", "num_stages": "stages"}
# The schedules of a CPU workload: after each first one, the seconds that are the rule's change.
SCHEDULES = (
    ("loop-order", "naive", ("order ikj", "order kij", "rows first", "pixels")),
    ("loop-order", "order ijk", ("order ikj", "order kij")),
    ("loop-order", "order jik", ("order ikj",)),
    ("loop-order", "order jki", ("order ikj", "order kij")),
    ("loop-order", "columns", ("rows",)),
    ("loop-order", "columns first", ("naive", "plain")),
    ("loop-order", "channels first", ("plain",)),
    ("not-parallel", "naive", ("parallel",)),
    ("not-parallel", "plain", ("parallel",)),
    ("not-parallel", "serial", ("parallel",)),
)


@dataclass(frozen=True)
class Measured:
    """A kernel and how long it took, in seconds, on one device."""

    name: str
    device: Device
    facts: KernelFacts
    bindings: Mapping[str, int]
    time_s: float

    @cached_property
    def evaluated(self) -> tuple[float, Mapping[str, Advice]] | None:
        """The predicted time, and of each rule that speaks the advice that saves most."""
        report = analyze(self.facts, self.device, self.bindings)
        if report.time_s is None:
            return None
        found: dict[str, Advice] = {}
        for one in advise(Question(self.facts, self.device, self.bindings, report=report)):
            known = found.get(one.rule)
            if known is None or (one.saving_s or 0.0) > (known.saving_s or 0.0):
                found[one.rule] = one
        return report.time_s, found


@dataclass(frozen=True)
class Pair:
    """A rule's change as measured.  Shares of the first kernel's time that are left after it.

    `promised` is None where the rule does not speak of the first; `repeats` tells that it speaks of
    the first and of the second.
    """

    rule: str
    name: str
    promised: float | None
    modelled: float
    measured: float
    repeats: bool

    @property
    def harms(self) -> bool:
        """Whether the rule advises what makes the kernel slower."""
        return self.promised is not None and self.measured > SLOWER


def pairs() -> Iterator[Pair]:
    """Every pair of the measured tables."""
    for rule, first, second in (*_tutorials(), *_searched(), *_swept(), *_schedules()):
        before, after = first.evaluated, second.evaluated
        if before is not None and after is not None:
            advice = before[1].get(rule)
            yield Pair(
                rule=rule,
                name=f"{first.name} -> {second.name} on {first.device.id}",
                promised=None if advice is None else 1 - (advice.saving_s or 0.0) / before[0],
                modelled=after[0] / before[0],
                measured=second.time_s / first.time_s,
                repeats=advice is not None and rule in after[1],
            )


_Change = tuple[str, Measured, Measured]


def _tutorials() -> Iterator[_Change]:
    for file in ("tutorials_tvm", "tutorials_tilelang"):
        rows = _kernels(file)
        for rule, first, second in STEPS:
            for row, kernel in rows:
                if row["op"] != first:
                    continue
                alike = [
                    other
                    for another, other in rows
                    if another["op"] == second
                    and all(another[k] == row[k] for k in ("source", "gpu", "shape", "dtype"))
                ]
                # A source that has measured its steps twice lists them in the same order.
                if alike:
                    yield rule, kernel, alike[0]


def _searched() -> Iterator[_Change]:
    """Convolutions of the searches whose rows are padded, beside the same ones without."""
    rows = [(row, kernel) for row, kernel in _kernels("sweeps") if "convolution" in row["op"]]
    padded: dict[str, Measured] = {}
    for row, kernel in rows:
        config = json.loads(row["config"])
        if config.pop("use_padding", 0) == 1:
            padded[_key(row, config)] = kernel
    for row, kernel in rows:
        config = json.loads(row["config"])
        if config.pop("use_padding", None) == 0 and (after := padded.get(_key(row, config))):
            yield "bank-conflict", kernel, after


def _key(row: Mapping[str, str], config: Mapping[str, Any]) -> str:
    return json.dumps([row["op"], row["gpu"], row["shape"], config], sort_keys=True)


def _swept() -> Iterator[_Change]:
    """Swept kernels of which one parameter differs.

    The second has what the rule proposes, or the next greater value where it is silent.
    """
    for parameter, rule in PARAMETERS.items():
        groups: dict[str, dict[int, Measured]] = {}
        for row, kernel in _kernels("h100_sweep"):
            if match := re.search(rf"\b{parameter}=(\d+)", row["call"]):
                key = row["call"].replace(match[0], "")
                groups.setdefault(key, {})[int(match[1])] = kernel
        for group in groups.values():
            for value, first in group.items():
                advised = _advised_value(first, rule)
                if advised is None:
                    advised = min((other for other in group if other > value), default=value)
                if advised != value and advised in group:
                    yield rule, first, group[advised]


def _advised_value(kernel: Measured, rule: str) -> int | None:
    advice = None if kernel.evaluated is None else kernel.evaluated[1].get(rule)
    match None if advice is None else advice.change:
        case Threads(threads=threads):
            return threads
        case LoopKind(stages=stages):
            return stages
        case _:
            return None


def _schedules() -> Iterator[_Change]:
    for machine in MACHINES:
        device = load(str(HERE / f"{machine}.toml"))
        content = gzip.decompress((HERE / "facts" / f"{machine}.json.gz").read_bytes())
        groups: dict[str, dict[str, Measured]] = {}
        for row in json.loads(content):
            name = f"{row['workload']}, {row['schedule']}"
            facts = _placed(from_json(KernelFacts, row["facts"]))
            kernel = Measured(name, device, facts, {}, row["time_s"])
            groups.setdefault(row["workload"], {})[row["schedule"]] = kernel
        for group in groups.values():
            for rule, first, seconds in SCHEDULES:
                if first in group:
                    after = [group[second] for second in seconds if second in group]
                    yield from ((rule, group[first], one) for one in after)
            for schedule, kernel in group.items():
                other = group.get(f"{schedule} parallel")
                if other and _statements(other.facts.body) == _statements(kernel.facts.body):
                    yield "not-parallel", kernel, other


def _statements(body: Iterable[Node]) -> int:
    """How many statements there are: of pairs, one may keep an index in memory besides."""
    return sum(
        _statements(node.body) if isinstance(node, Loop) else isinstance(node, Statement)
        for node in body
    )


@cache
def _kernels(file: str) -> tuple[tuple[Mapping[str, str], Measured], ...]:
    """The rows of a table that stand for one kernel, and these."""
    content = json.loads(gzip.decompress((HERE / "facts" / f"{file}.json.gz").read_bytes()))
    facts = [_placed(from_json(KernelFacts, item)) for item in content["facts"]]
    table = measurements(content["table"])
    with (HERE / content["table"]).open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    found: list[tuple[Mapping[str, str], Measured]] = []
    for entry in content["rows"]:
        item, launches = table.get(entry["row"]), entry["alternatives"]
        if item is None or len(launches) != 1 or len(launches[0]) != 1:
            continue
        row = rows[entry["row"]]
        kernel = Measured(
            name=row.get("op") or row["call"],
            device=board(item.device_id),
            facts=facts[launches[0][0]],
            bindings=entry.get("bindings", {}),
            time_s=item.measured_s - item.harness_s,
        )
        found.append((row, kernel))
    return tuple(found)


def _placed(facts: KernelFacts) -> KernelFacts:
    """`facts`, whose statements are kept without lines, on one line: advice is given at a line."""

    def edit(node: Node) -> Node:
        if isinstance(node, Loop | Statement) and not node.sites:
            return replace(node, sites=(Span(1, 0, 1, 0),))
        return node

    return rewrite.change(facts, edit)


def _left(shares: Iterable[float | None]) -> str:
    values = [share for share in shares if share is not None]
    return f"{geometric_mean(values):9.2f}" if values else f"{'':9}"


def main() -> None:
    """Print the table."""
    found = sorted(pairs(), key=lambda pair: (pair.rule, pair.name))
    if "--rows" in sys.argv:
        for pair in found:
            promised = f"{'silent':>7}" if pair.promised is None else f"{pair.promised:7.2f}"
            print(f"{pair.rule:15}{promised}{pair.modelled:7.2f}{pair.measured:7.2f}  {pair.name}")
    print(
        f"{'rule':15}{'pairs':>6}{'speaks':>8}{'repeats':>8}"
        f"{'promised':>9}{'modelled':>9}{'measured':>9}{'harms':>7}   silent: measured"
    )
    for rule in sorted({pair.rule for pair in found}):
        group = [pair for pair in found if pair.rule == rule]
        speaks = [pair for pair in group if pair.promised is not None]
        silent = [pair for pair in group if pair.promised is None]
        print(
            f"{rule:15}{len(group):6}{len(speaks):8}{sum(pair.repeats for pair in group):8}"
            f"{_left(pair.promised for pair in speaks)}{_left(pair.modelled for pair in speaks)}"
            f"{_left(pair.measured for pair in speaks)}{sum(pair.harms for pair in group):7}"
            f"   {_left(pair.measured for pair in silent)}"
        )


if __name__ == "__main__":
    main()
