"""The JSON of rankings and sweeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tirlens.tuning.configurations import Arguments, value_of
from tirlens.tuning.ranking import Configuration, Estimate, Ranking
from tirlens.tuning.sweep import Point, Sweep

SCHEMA_VERSION = 1


def ranking_json(rankings: Sequence[Ranking], most: int | None) -> dict[str, Any]:
    """What ``tirlens tune --format json`` writes; the ranking of the first device is on top."""
    first, *others = rankings
    data: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **_ranking(first, most)}
    if others:
        data["devices"] = [_ranking(one, most) for one in rankings]
    return data


def arguments_json(arguments: Arguments) -> dict[str, Any]:
    """Numbers, texts and booleans as such; other values as Python expressions."""
    return {name: value_of(text) for name, text in arguments.items()}


def _ranking(ranking: Ranking, most: int | None) -> dict[str, Any]:
    return {
        "kernel": ranking.kernel,
        "call": ranking.call,
        "assumed": dict(ranking.assumed),
        "origin": ranking.origin,
        "device": {"id": ranking.device.id, "name": ranking.device.name},
        "evaluated": len(ranking.configurations),
        "refused": ranking.refused,
        "left_out": ranking.left_out,
        "seconds": round(ranking.duration_s, 3),
        "configurations": [configuration_json(one) for one in ranking.configurations[:most]],
    }


def configuration_json(one: Configuration) -> Mapping[str, Any]:
    """One entry of ``configurations``."""
    return {
        "rank": one.rank,
        "arguments": arguments_json(one.arguments),
        "call": one.call,
        **_estimate(one.estimate),
    }


def sweep_json(found: Sweep) -> dict[str, Any]:
    """What ``tirlens sweep --format json`` writes."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kernel": found.kernel,
        "call": found.call,
        "device": {"id": found.device.id, "name": found.device.name},
        "tuned": found.is_tuned,
        "seconds": round(found.duration_s, 3),
        "points": [point_json(point) for point in found.points],
        "crossovers": [
            {
                "before": dict(one.before.sizes),
                "after": dict(one.after.sizes),
                "bounds": [one.before.estimate.bound, one.after.estimate.bound],
            }
            for one in found.crossovers
        ],
    }


def point_json(point: Point) -> dict[str, Any]:
    """One entry of ``points``; `arguments` are those of the best configuration."""
    return {
        "bindings": dict(point.sizes),
        "call": point.call,
        "arguments": arguments_json(point.arguments),
        "efficiency": point.efficiency,
        **_estimate(point.estimate),
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "time_s": estimate.time_s,
        "time_band_s": list(estimate.time_band_s) if estimate.time_band_s else None,
        "roofline_time_s": estimate.roofline_time_s,
        "bound": estimate.bound,
        "status": "refused" if estimate.is_refused else "ok",
        "reason": estimate.reason or None,
        "occupancy": asdict(estimate.occupancy) if estimate.occupancy else None,
        "shared_bytes_per_block": estimate.shared_bytes_per_block,
        "registers_per_thread": estimate.registers_per_thread,
        "spill_bytes": estimate.spill_bytes,
        "launch_facts": estimate.launch_facts,
    }
