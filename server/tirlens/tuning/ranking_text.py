"""Rankings of configurations in words, and as a table in Markdown."""

from __future__ import annotations

from tirlens.ide import labels
from tirlens.tuning.ranking import Configuration, Ranking

_MOST_ROWS = 100


def heading(ranking: Ranking) -> str:
    """``matmul on h100-sxm: 9 configurations, 1 refused``."""
    return (
        f"{ranking.kernel} on {ranking.device.id}: "
        f"{labels.count(len(ranking.configurations), 'configuration')}, {ranking.refused} refused"
    )


def summary(ranking: Ranking) -> str:
    """The heading, with the best configuration and its time."""
    if not ranking.timed:
        reason = next((one.estimate.reason for one in ranking.configurations), "")
        return f"{heading(ranking)}. No time is known: {reason}"
    best = ranking.timed[0]
    time = labels.estimate(best.estimate.time_s, best.estimate.time_band_s)
    return f"{heading(ranking)}. Predicted best: {_values(best)}: {time}."


def markdown(ranking: Ranking) -> str:
    """All configurations with a time, at most 100, and the reasons of those without one."""
    rows = ranking.timed[:_MOST_ROWS]
    names = list(dict.fromkeys(name for one in rows for name in one.arguments))
    titles = ["rank", *names, "time", "band", "bound", "shared memory"]
    lines = [f"# {heading(ranking)}", "", f"Call: `{ranking.call}`", ""]
    lines += [_row(titles), _row(["--:"] * len(titles))]
    for one in rows:
        estimate = one.estimate
        band = estimate.time_band_s
        lines.append(
            _row(
                [
                    str(one.rank),
                    *(one.arguments.get(name, "") for name in names),
                    labels.seconds(estimate.time_s),
                    f"{labels.seconds(band[0])} to {labels.seconds(band[1])}" if band else "",
                    estimate.bound or "",
                    labels.bytes_(estimate.shared_bytes_per_block),
                ]
            )
        )
    others = [one for one in ranking.configurations if one.estimate.time_s is None]
    if others:
        lines += ["", "Without a time:", ""]
        lines += [f"- {_values(one)}: {one.estimate.reason}" for one in others[:_MOST_ROWS]]
    return "\n".join(lines) + "\n"


def _values(one: Configuration) -> str:
    return ", ".join(f"{name}={value}" for name, value in one.arguments.items())


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
