"""Figures of groups of scored rows: errors, the share inside the band, rank correlation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from . import metrics
from .predict import Scored

# Classes that stand beside the families and are in no average.
APART = ("tiny", "ranked only")
# Families of fewer rows have one to three pairs, of which each wrong one weighs as a family.
FEW = 4
HALVES = ("fitted", "held out")
# Sources whose families are averaged apart, by what their names start with.
AVERAGED = {
    "tileops/": "TileOPs",
    "tirx_kernels/": "TIRx",
    "neusight/": "NeuSight",
    "tutorial_": "tutorials",
    "": "all",
}


@dataclass(frozen=True)
class Figures:
    """One line of the table: the errors of the model, and the MAPE of the others.

    `band_width` is the mean half-width of the time band over the model's own time.
    """

    errors: metrics.Errors
    inside_band: float
    band_width: float
    tau: float | None
    sheet: float | None
    calibrated: float | None
    analyzer: float | None


def figures(group: Sequence[Scored]) -> Figures:
    """The figures of a group of at least one row."""
    predicted = [row.model_s for row in group]
    measured = [row.measurement.measured_s for row in group]
    errors = metrics.errors(predicted, measured)
    assert errors is not None
    return Figures(
        errors=errors,
        inside_band=mean(
            row.band_s[0] <= row.measurement.measured_s <= row.band_s[1] for row in group
        ),
        band_width=mean(
            (row.band_s[1] - row.band_s[0]) / 2 / (row.model_s - row.measurement.harness_s)
            for row in group
        ),
        tau=metrics.kendall_tau(predicted, measured),
        sheet=_mape(group, lambda row: row.datasheet_s),
        calibrated=_mape(group, lambda row: row.calibrated_s),
        analyzer=_mape(group, lambda row: row.analyzer_s),
    )


def _mape(group: Sequence[Scored], of: Callable[[Scored], float | None]) -> float | None:
    pairs = [
        (predicted, row.measurement.measured_s)
        for row in group
        if (predicted := of(row)) is not None
    ]
    found = metrics.errors([p for p, _ in pairs], [m for _, m in pairs]) if pairs else None
    return None if found is None else found.mape


Key = tuple[str, ...]


def grouped(rows: Iterable[Scored], by: Callable[[Scored], Key]) -> dict[Key, list[Scored]]:
    groups: dict[Key, list[Scored]] = {}
    for row in rows:
        groups.setdefault(by(row), []).append(row)
    return dict(sorted(groups.items()))


def by_class(row: Scored) -> Key:
    item = row.measurement
    return item.half, item.device_id, item.klass


def by_source(row: Scored) -> Key:
    item = row.measurement
    return item.half, item.klass if item.klass in APART else item.source


def by_kind(row: Scored) -> Key:
    return row.measurement.half, row.measurement.klass


def by_family(row: Scored) -> Key:
    item = row.measurement
    return item.half, item.device_id, item.klass if item.klass in APART else item.family


def average(
    groups: Mapping[Key, Sequence[Scored]], half: str, source: str = ""
) -> dict[str, float | None]:
    """The plain mean over the families of a half, of one source or of all, less what is apart."""
    chosen = [
        figures(group)
        for (group_half, _, family), group in groups.items()
        if group_half == half and family not in APART and family.startswith(source)
    ]

    def over(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return mean(known) if known else None

    return {
        "families": len(chosen),
        "mape": over(item.errors.mape for item in chosen),
        "median": over(item.errors.median for item in chosen),
        "inside_band": over(item.inside_band for item in chosen),
        "band_width": over(item.band_width for item in chosen),
        "tau": over(item.tau for item in chosen),
        "sheet": over(item.sheet for item in chosen),
        "calibrated": over(item.calibrated for item in chosen),
        "analyzer": over(item.analyzer for item in chosen),
    }


def contests(rows: Iterable[Scored]) -> list[tuple[str, list[Scored]]]:
    """The problems that several kernels or configurations were measured on, on one device."""
    problems = grouped(rows, lambda row: (row.measurement.device_id, row.measurement.problem))
    return [
        (f"{device} {problem}", group)
        for (device, problem), group in problems.items()
        if len({row.model_s for row in group}) > 1
    ]


def bounds(rows: Iterable[Scored]) -> dict[Key, dict[str, int]]:
    """How often each class is predicted, by half and the class that is known from the time."""
    found: dict[Key, dict[str, int]] = {}
    for row in rows:
        if row.known_class is not None:
            told = found.setdefault((row.measurement.half, row.known_class), {})
            told[row.bound_class] = told.get(row.bound_class, 0) + 1
    return dict(sorted(found.items()))


def ranks(families: Mapping[Key, Sequence[Scored]], half: str) -> dict[str, float]:
    """Rank correlation within the families of a half, of which a pair alone weighs as one of many.

    `families` is the mean over all, `larger` over those of at least FEW rows, `pairs` that of all
    pairs within families.
    """
    chosen = [
        group for (of, _, name), group in families.items() if of == half and name not in APART
    ]
    found = [
        (
            len(group),
            *metrics.ordered_pairs(
                [row.model_s for row in group], [row.measurement.measured_s for row in group]
            ),
        )
        for group in chosen
    ]
    taus = [(rows, agree / pairs) for rows, agree, pairs in found if pairs]
    return {
        "families": mean(tau for _, tau in taus),
        "larger": mean(tau for rows, tau in taus if rows >= FEW),
        "pairs": sum(agree for _, agree, _ in found) / sum(pairs for *_, pairs in found),
    }
