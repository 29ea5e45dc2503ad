"""How well configurations are ranked that an auto-tuner has measured: `predict.SEARCHES`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from measured import metrics
from measured.predict import Scored


@dataclass(frozen=True)
class Search:
    """How well the configurations of one problem that a tuner has measured on a device are ranked.

    `top_one` and `top_five` are the best time over that of the configuration predicted best, and
    over the best of the five.
    """

    half: str
    device_id: str
    name: str
    errors: metrics.Errors
    tau: float
    top_one: float
    top_five: float


def searches(rows: Iterable[Scored]) -> list[Search]:
    """By half, device and problem; `rows` are those of `predict.SEARCHES`."""
    groups: dict[tuple[str, str, str], list[Scored]] = {}
    for row in rows:
        item = row.measurement
        key = item.half, item.device_id, item.name.split(" {")[0]
        groups.setdefault(key, []).append(row)
    found: list[Search] = []
    for (half, device, name), group in sorted(groups.items()):
        predicted = [row.model_s for row in group]
        measured = [row.measurement.measured_s for row in group]
        errors = metrics.errors(predicted, measured)
        tau = metrics.kendall_tau(predicted, measured)
        assert errors is not None and tau is not None
        five = sorted(zip(predicted, measured, strict=True), key=lambda it: (it[0], -it[1]))[:5]
        found.append(
            Search(
                half,
                device,
                name,
                errors,
                tau,
                metrics.top_one(predicted, measured),
                min(measured) / min(m for _, m in five),
            )
        )
    return found


def print_searches(rows: Iterable[Scored]) -> None:
    print(
        f"\nTILE CONFIGURATIONS, best time / time of the one chosen, of the best of five chosen\n"
        f"{'':54}{'n':>5}{'MAPE':>8}{'median':>8}{'bias':>6}{'tau':>6}{'one':>8}{'five':>8}"
    )
    for search in searches(rows):
        errors = search.errors
        print(
            f"{search.half:9}{search.device_id:14}{search.name:31}{errors.number:5}"
            f"{errors.mape:8.1%}{errors.median:8.1%}{errors.bias:6.2f}"
            f"{search.tau:6.2f}{search.top_one:8.1%}{search.top_five:8.1%}"
        )
