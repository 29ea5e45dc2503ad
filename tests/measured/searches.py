"""How well configurations are ranked that an auto-tuner has measured: `predict.SEARCHES`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from measured import metrics
from measured.predict import Scored
from tirlens.tune import Ranked
from tirlens.tuning import Estimate, worth_measuring


@dataclass(frozen=True)
class Search:
    """How well the configurations of one problem that a tuner has measured on a device are ranked.

    `top_one`, `top_five` and `top_eight` are the best time over that of the configuration predicted
    best, and over the best of the five and eight. `kept` are those that `tirlens.tune.best` keeps
    of eight: fewer where their bands leave no doubt.
    """

    half: str
    device_id: str
    name: str
    errors: metrics.Errors
    tau: float
    top_one: float
    top_five: float
    top_eight: float
    kept: int


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
        # Of those that are predicted alike, the slowest are taken first.
        ranked = sorted(group, key=lambda row: (row.model_s, -row.measurement.measured_s))
        best_s = [min(row.measurement.measured_s for row in ranked[:n]) for n in (5, 8)]
        estimates = [Ranked({}, Estimate(row.model_s, row.band_s)) for row in ranked]
        found.append(
            Search(
                half,
                device,
                name,
                errors,
                tau,
                metrics.top_one(predicted, measured),
                min(measured) / best_s[0],
                min(measured) / best_s[1],
                len(worth_measuring(estimates, 8)),
            )
        )
    return found


def print_searches(rows: Iterable[Scored]) -> None:
    print(
        f"\nTILE CONFIGURATIONS, best time / time of the one chosen, of the best of several\n"
        f"{'':54}{'n':>5}{'MAPE':>8}{'median':>8}{'bias':>6}{'tau':>6}{'one':>8}{'five':>8}"
        f"{'eight':>8}{'kept':>6}"
    )
    found = searches(rows)
    for search in found:
        errors = search.errors
        print(
            f"{search.half:9}{search.device_id:14}{search.name:31}{errors.number:5}"
            f"{errors.mape:8.1%}{errors.median:8.1%}{errors.bias:6.2f}"
            f"{search.tau:6.2f}{search.top_one:8.1%}{search.top_five:8.1%}"
            f"{search.top_eight:8.1%}{search.kept:6}"
        )
    for title, group in _kinds(found):
        one, eight = (
            mean(getattr(search, name) for search in group) for name in ("top_one", "top_eight")
        )
        print(f"{title:54}{len(group):5} searches {'':28}{one:8.1%}{'':8}{eight:8.1%}")


def _kinds(found: Sequence[Search]) -> Iterator[tuple[str, list[Search]]]:
    """Searches of products on tensor cores, and of other kernels, by half."""
    for half in ("fitted", "held out"):
        for is_product, kind in ((True, "products on tensor cores"), (False, "other kernels")):
            yield (
                f"mean, {half}, {kind}",
                [
                    one
                    for one in found
                    if one.half == half and one.name.startswith("mm ") == is_product
                ],
            )
