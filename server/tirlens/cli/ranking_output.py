"""Rankings as a table, and as Python to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from rich import box
from rich.table import Table
from rich.text import Text

from tirlens.cli.output import console
from tirlens.ide import labels
from tirlens.tuning import Configuration, Ranking, ranking_text
from tirlens.tuning.ranking import overlapping

_DEFAULT_TOP = 20
# Refused configurations of which a table gives the reasons.
_MOST_REASONS = 5


def write_table(
    file: TextIO, color: bool | None, rankings: Sequence[Ranking], top: int | None
) -> None:
    """A table for each ranking, with a line on what is in it before and on refusals behind it."""
    screen = console(file, color)
    for number, ranking in enumerate(rankings):
        if number:
            screen.print()
        screen.print(Text(ranking_text.heading(ranking), style="bold"))
        screen.print(Text(f"  {_conditions(ranking)}"))
        if ranking.timed:
            screen.print(_table(ranking, top or _DEFAULT_TOP))
        for line in _notes(ranking):
            screen.print(Text(line))


def write_python(file: TextIO, rankings: Sequence[Ranking], top: int | None) -> None:
    """The best configurations as lists of dictionaries, by device where there are several."""
    if len(rankings) == 1:
        file.write(f"configs = {_python_list(rankings[0], top)}\n")
        return
    file.write("configs = {\n")
    for ranking in rankings:
        body = _python_list(ranking, top).replace("\n", "\n    ")
        file.write(f"    {ranking.device.id!r}: {body},\n")
    file.write("}\n")


def _python_list(ranking: Ranking, top: int | None) -> str:
    lines = [
        f"    {python_dict(one.arguments)},  # {labels.seconds(one.estimate.time_s)}\n"
        for one in ranking.timed[:top]
    ]
    return f"[  # {ranking_text.heading(ranking)}\n{''.join(lines)}]"


def python_dict(arguments: Mapping[str, str]) -> str:
    """A configuration as the display of a dictionary."""
    return "{" + ", ".join(f'"{name}": {value}' for name, value in arguments.items()) + "}"


def _conditions(ranking: Ranking) -> str:
    assumed = ", ".join(f"{name}={value}?" for name, value in ranking.assumed.items())
    return f"call: {ranking.call}" + (f" (assumed: {assumed})" if assumed else "")


def _table(ranking: Ranking, top: int) -> Table:
    rows = ranking.timed[:top]
    names = list(dict.fromkeys(name for one in rows for name in one.arguments))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("rank", justify="right")
    for name in names:
        table.add_column(Text(name), justify="right")
    for heading in ("time", "band", "slower"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("bound")
    for heading in ("blocks/SM", "shared", "spilled"):
        table.add_column(heading, justify="right", no_wrap=True)
    best_s = rows[0].estimate.time_s
    for one in rows:
        cells = [one.arguments.get(name, "") for name in names]
        table.add_row(str(one.rank), *map(Text, cells), *map(Text, _figures(one, best_s)))
    return table


def _figures(one: Configuration, best_s: float | None) -> list[str]:
    estimate = one.estimate
    band = estimate.time_band_s
    slower = estimate.time_s / best_s if estimate.time_s and best_s else None
    blocks = estimate.occupancy.blocks_per_sm if estimate.occupancy else None
    return [
        labels.seconds(estimate.time_s),
        f"{labels.seconds(band[0])} to {labels.seconds(band[1])}" if band else "",
        "" if slower is None or one.rank == 1 else f"{labels.number(slower)}x",
        estimate.bound or "",
        "" if blocks is None else str(blocks),
        labels.bytes_(estimate.shared_bytes_per_block),
        labels.bytes_(estimate.spill_bytes) if estimate.spill_bytes else "",
    ]


def _notes(ranking: Ranking) -> list[str]:
    lines: list[str] = []
    close = len(overlapping(ranking.timed))
    if close > 1:
        lines.append(
            f"{close} of {len(ranking.timed)} have a band that overlaps the best one's: "
            "only a measurement tells them apart"
        )
    unknown = [
        one for one in ranking.configurations
        if one.estimate.time_s is None and not one.estimate.is_refused
    ]  # fmt: skip
    if unknown:
        lines.append(
            f"no time is known of {labels.count(len(unknown), 'configuration')}: "
            f"{unknown[0].estimate.reason}"
        )
    reasons: dict[str, list[Configuration]] = {}
    for one in ranking.configurations:
        if one.estimate.is_refused:
            reasons.setdefault(one.estimate.reason, []).append(one)
    by_number = sorted(reasons.items(), key=lambda item: -len(item[1]))
    for reason, ones in by_number[:_MOST_REASONS]:
        lines.append(f"refused: {len(ones)} such as {python_dict(ones[0].arguments)}: {reason}")
    if len(by_number) > _MOST_REASONS:
        rest = sum(len(ones) for _, ones in by_number[_MOST_REASONS:])
        lines.append(f"refused: {rest} for other reasons: --format json has them")
    return lines
