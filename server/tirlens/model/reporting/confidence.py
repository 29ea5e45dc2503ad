"""How far a time band is to be trusted: the chance that a measured time is inside.

``measured_kinds.toml`` has the measured kernels to which nothing is fitted, by the architecture of
the device, the framework, and the class of the bound: the number of their families, and the share
of times that are in their bands (``python tests/measured/accuracy_page.py`` writes it).  Families
count, and not kernels: those of a family are right or wrong together.  What few families of a kind
say is drawn to what all of its architecture say, and that to what all kernels say whose source has
no fitted row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tirlens.toml_reader import read_toml

from ..constants import constant

WIDER_GROUP_FAMILIES = constant(
    "WIDER_GROUP_FAMILIES",
    4,
    kind="choice",
    unit="families",
    meaning="Weight of the wider group of measured kernels beside the families of a kind.",
    source='A. Agresti, B. Coull, Approximate is better than "exact" for interval estimation of '
    "binomial proportions, The American Statistician 52 (1998), who add four observations",
)


@dataclass(frozen=True)
class Confidence:
    """The chance that a measured time is in the band, and what it is known from, in sentences."""

    value: float
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class MeasuredGroup:
    """The families of a group, and the mean share of their times that are in the bands."""

    families: int
    in_band: float

    def drawn_to(self, wider: float) -> float:
        """The share of the group, where that of a wider one is `wider`."""
        total = self.in_band * self.families + wider * WIDER_GROUP_FAMILIES
        return total / (self.families + WIDER_GROUP_FAMILIES)


@dataclass(frozen=True)
class MeasuredKinds:
    """Groups by architecture, framework and class of the bound; that of unfitted sources."""

    kinds: Mapping[tuple[str, str, str], MeasuredGroup]
    unfitted_sources: MeasuredGroup

    def of_architecture(self, architecture: str) -> MeasuredGroup:
        """The group of all kernels on an architecture."""
        groups = [group for (name, _, _), group in self.kinds.items() if name == architecture]
        families = sum(group.families for group in groups)
        inside = sum(group.in_band * group.families for group in groups)
        return MeasuredGroup(families, inside / families if families else 0.0)


@cache
def confidence(architecture: str, framework: str, bound_class: str) -> Confidence:
    """The confidence in the band of a kernel of a kind."""
    known = measured_kinds()
    every, of_architecture = known.unfitted_sources, known.of_architecture(architecture)
    kind = known.kinds.get((architecture, framework, bound_class), MeasuredGroup(0, 0.0))
    wider = of_architecture.drawn_to(every.in_band)
    if kind.families:
        name = f"{framework} on {architecture} with a {bound_class} bound"
        return Confidence(kind.drawn_to(wider), (_sentence(kind, name),))
    reasons = [
        f"no kernel of {framework} on {architecture} with a {bound_class} bound was measured"
    ]
    if of_architecture.families:
        reasons.append(_sentence(of_architecture, f"all kernels on {architecture}"))
    else:
        reasons.append(_sentence(every, "sources to which nothing is fitted"))
    return Confidence(wider, tuple(reasons))


def _sentence(group: MeasuredGroup, name: str) -> str:
    families = "1 family" if group.families == 1 else f"{group.families} families"
    return f"{name}: {group.in_band:.0%} of the measured times of {families} in the band"


@cache
def measured_kinds() -> MeasuredKinds:
    """The table of the measured kinds."""
    _, table = read_toml(Path(__file__).with_name("measured_kinds.toml"))
    kinds = {
        (entry["architecture"], entry["framework"], entry["bound"]): _group(entry)
        for entry in table["kinds"]
    }
    return MeasuredKinds(kinds, _group(table["unfitted_sources"]))


def _group(entry: Mapping[str, float]) -> MeasuredGroup:
    return MeasuredGroup(int(entry["families"]), entry["in_band"])
