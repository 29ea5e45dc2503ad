"""``advise``: what to change in the kernels of a file, with edits that were tried."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tirlens.file_reader import read_bytes
from tirlens.file_writer import replace_text
from tirlens.ide import labels
from tirlens.model.report import KernelReport
from tirlens.source.edits import Replacement
from tirlens.tools.answers import Page, optional
from tirlens.tools.applied import (
    Item,
    analyse_with_advice,
    items_of,
    text_with_edits,
    without_edits,
)
from tirlens.tools.arguments import argument
from tirlens.tools.errors import ToolError
from tirlens.tools.folders import Place
from tirlens.tools.problems import no_figures
from tirlens.tools.subject import Subject
from tirlens.tools.workbench import Workbench


@dataclass(frozen=True)
class Advise(Subject, Page):
    """The request."""

    write: bool = argument(
        "Write the edits of apply to the file. Needs the server's option --write", False
    )


@dataclass(frozen=True)
class KernelTime:
    """The predicted time of a kernel as it is, and of the best known structure for its job."""

    name: str
    line: int
    time_s: float | None
    time_band_s: tuple[float, float] | None
    confidence: float | None
    reachable_time_s: float | None = None
    reachable_by: str = ""


@dataclass(frozen=True)
class Edit:
    """`new_text` in place of the text between two positions; lines from 1, columns from 0."""

    line: int
    column: int
    end_line: int
    end_column: int
    new_text: str


@dataclass(frozen=True)
class AdviceItem:
    """What to change; with an `edit` where the framework has accepted one."""

    id: str
    kernel: str
    line: int
    message: str
    saving_s: float | None
    edit: Edit | None = None


@dataclass(frozen=True)
class AdviceList:
    """The answer: one page of advice, the largest saving first."""

    kernels: tuple[KernelTime, ...]
    advice: tuple[AdviceItem, ...]
    total: int
    next_offset: int | None = None
    written: tuple[str, ...] = optional()


async def advise(bench: Workbench, request: Advise) -> AdviceList:
    """Advise on the text with the edits of the request, which are written if it says so."""
    place = bench.folders.file(request.file)
    before = ""
    if request.write:
        _check_write(bench, request)
        before = await bench.text_of(place)
    text = await text_with_edits(bench, request)
    analysed = await analyse_with_advice(bench, without_edits(request), text)
    written: tuple[str, ...] = ()
    if request.write and text is not None:
        await asyncio.to_thread(_write, place, before, text)
        written = request.apply or ()
    kernels = analysed.report.kernels
    if not kernels:
        raise no_figures(analysed.report, analysed.place.name)
    page = request.cut(list(items_of(analysed.report)))
    return AdviceList(
        tuple(map(_time, kernels)),
        tuple(map(_item, page.items)),
        page.total,
        page.next_offset,
        written,
    )


def _check_write(bench: Workbench, request: Advise) -> None:
    if not bench.writes:
        raise ToolError(
            "read-only",
            "Files are not written. Make the edit of the answer yourself; the user allows writing "
            "with the option --write of tirlens mcp.",
            {"write": False},
        )
    if not request.apply or request.text is not None:
        raise ToolError(
            "argument", "write needs the ids of edits as apply, of the file without text."
        )


def _write(place: Place, before: str, text: str) -> None:
    """Write `text` to a file whose text was `before`, with the ends of lines that it has.

    Raises
    ------
    ToolError
        The file has changed since, has mixed ends of lines, or cannot be written.
    """
    try:
        content = read_bytes(place.path).decode("utf-8")
        if "\r" in content:
            text = text.replace("\n", "\r\n")
            before = before.replace("\n", "\r\n")
        if content != before:
            raise ToolError(
                "no-edit",
                f"{place.name} was not written: it has changed meanwhile, or its lines have "
                "different ends. Call advise again, or make the edit yourself.",
            )
        replace_text(place.path, text)
    except OSError as error:
        message = f"{place.name} cannot be written: {error.strerror}."
        raise ToolError("no-file", message) from None


def _time(report: KernelReport) -> KernelTime:
    return KernelTime(
        labels.title(report),
        report.span.line,
        report.time_s,
        report.time_band_s,
        report.confidence,
        report.reachable_time_s,
        report.reachable_by,
    )


def _item(item: Item) -> AdviceItem:
    advice = item.advice
    return AdviceItem(
        item.id,
        labels.title(item.kernel),
        advice.span.line,
        advice.message,
        advice.saving_s,
        _edit(advice.offered_edit),
    )


def _edit(edit: Replacement | None) -> Edit | None:
    if edit is None:
        return None
    span = edit.span
    return Edit(span.line, span.column, span.end_line, span.end_column, edit.new_text)
