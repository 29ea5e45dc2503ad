"""Measured kernels to which nothing is fitted, by kind: what the confidence in a band comes from.

``accuracy_page.py`` writes them to ``server/tirlens/model/reporting/measured_kinds.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import mean

from measured import cpu
from measured.figures import APART
from measured.predict import Scored
from tirlens.hardware import load

HEAD = """\
# Measured kernels to which nothing is fitted, by architecture, framework and class of the bound:
# families, and the mean share of their times inside of the bands. Of unfitted sources no row is
# fitted. Written by `python tests/measured/accuracy_page.py`.
"""

Kind = tuple[str, str, str]


@dataclass(frozen=True)
class Row:
    """A measured kernel; `family` names its family on its device."""

    kind: Kind
    source: str
    family: str
    is_fitted: bool
    in_band: bool


def gpu_rows(rows: Iterable[Scored]) -> Iterator[Row]:
    """The scored rows of GPUs, less those whose time is the launch or the harness."""
    for row in rows:
        item = row.measurement
        if item.klass not in APART:
            yield Row(
                (row.architecture, row.framework, row.bound_class),
                item.source,
                f"{item.device_id} {item.family}",
                item.half == "fitted",
                row.band_s[0] <= item.measured_s <= row.band_s[1],
            )


def cpu_rows() -> Iterator[Row]:
    """The rows of the measured CPUs."""
    unfitted = {cpu.HELD_OUT, cpu.SET_2_SCORED, *cpu.ASIDE_OF.values()}
    for name in cpu.MACHINES:
        path, measured = cpu.machine(name)
        device = load(path)
        for row in cpu.rows(device, measured):
            yield Row(
                (device.arch, "tvm", row.bound_class),
                "cpu",
                f"{name} {row.workload}",
                row.part not in unfitted,
                row.band_s[0] <= row.measured_s <= row.band_s[1],
            )


def table(rows: Iterable[Row]) -> str:
    """The table as TOML."""
    rows = list(rows)
    fitted_sources = {row.source for row in rows if row.is_fitted}
    others = [row for row in rows if not row.is_fitted]
    text = f"{HEAD}\n[unfitted_sources]\n"
    text += _group(row for row in others if row.source not in fitted_sources)
    for kind in sorted({row.kind for row in others}):
        names = zip(("architecture", "framework", "bound"), kind, strict=True)
        text += "\n[[kinds]]\n" + "".join(f'{name} = "{value}"\n' for name, value in names)
        text += _group(row for row in others if row.kind == kind)
    return text


def _group(rows: Iterable[Row]) -> str:
    families: dict[str, list[bool]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(row.in_band)
    share = mean(mean(group) for group in families.values())
    return f"families = {len(families)}\nin_band = {share:.2f}\n"
