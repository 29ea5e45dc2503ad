"""The commands that a client can run by `workspace/executeCommand`.

``tirlens.report`` [uri, kernel | null] -> {title, html, json}; ``tirlens.reportPage`` [uri,
{kernel, comparison}] -> the data of the report page | null; ``tirlens.adviceEdit`` [uri, rule,
line] -> {version, range, newText, title} | null; ``tirlens.devices`` [] -> [{id, name, detail,
group}]; ``tirlens.calls`` [uri, kernel | null] -> {kernel, fixed, choices, insert} | null;
``tirlens.reanalyze`` [uri]; ``tirlens.setDevice`` [uri | null, id | null];
``tirlens.setCall`` [uri, kernel, call | null]; ``tirlens.debugInformation`` [] -> an object with
versions, interpreters, durations and the names of the loaded modules, no source.

``tirlens.show`` ["all" | "hottest" | "marked" | "off" | null] -> what is displayed now, null for
the following one; ``tirlens.hottestLine`` [uri, line | null] -> {line, character, kernel, share,
time_s} | null; ``tirlens.heat`` [uri] -> [the same], for the marks of lines;
``tirlens.pinBaseline`` [uri | null, revision | null] -> its name | null;
``tirlens.clearBaseline`` [uri | null]; ``tirlens.setRoom`` [uri, columns, characters of a lens],
how wide the editor of a file is, null for unknown.  Lines are 0-based.

A URI may be that of a notebook's cell: `line` is then a line of the cell. Answers that lead to a
line have the ``uri`` of its cell; a report's lines are those of all Python cells, one below the
other.
"""

from __future__ import annotations

import asyncio
import platform
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import TYPE_CHECKING, Any, cast

from pygls.exceptions import JsonRpcInvalidParams

from tirlens.version import __version__

if TYPE_CHECKING:
    from tirlens.ide.report_page.schema import Page
    from tirlens.lsp.notebooks import Part
    from tirlens.lsp.server import Server
    from tirlens.session.hottest import HotLine

Function = Callable[..., Any]


async def report(
    server: Server, uri: object = None, kernel: object = None
) -> dict[str, Any] | None:
    """A file's kernels as a page of HTML and as the contract's JSON; None before any analysis."""
    from tirlens import hardware
    from tirlens.ide.report_page import page_data, static_page
    from tirlens.session.page_view import PageRequest, PageView
    from tirlens.session.report_data import report_json

    document = server.document(text(uri, "uri"))
    if document is None or document.analysis is None:
        return None
    analysis, view = document.analysis, PageView(document, document.analysis)
    used = analysis.report.devices
    device = used[0] if used else hardware.load(hardware.DEFAULT_DEVICE)

    def answer() -> dict[str, Any]:
        return {
            "title": document.path.name,
            "html": static_page(page_data(view.page(PageRequest(), with_text=True))),
            "json": report_json(analysis, device),
        }

    return await asyncio.to_thread(answer)


async def report_page(server: Server, uri: object = None, wanted: object = None) -> Page | None:
    """The data of the report page of a file; None before any analysis."""
    from tirlens.ide.report_page import page_data
    from tirlens.session.page_view import PageRequest, PageView

    document = server.document(text(uri, "uri"))
    if document is None or document.analysis is None:
        return None
    given = cast("dict[str, Any]", wanted) if isinstance(wanted, dict) else {}
    kernel, comparison = given.get("kernel"), given.get("comparison")
    request = PageRequest(
        kernel if isinstance(kernel, int) else None,
        comparison if isinstance(comparison, str) else "",
    )
    view = PageView(document, document.analysis)
    return await asyncio.to_thread(lambda: page_data(view.page(request)))


def advice_edit(
    server: Server, uri: object = None, rule: object = None, line: object = None
) -> dict[str, Any] | None:
    """The edit of an advice at an analysed line, in the current text; None where it has none."""
    from tirlens.session import view

    parts = server.parts(text(uri, "uri"))
    if parts is None or not isinstance(line, int):
        return None
    found = view.rewriting(parts.document, text(rule, "rule"), line)
    if found is None:
        return None
    part, range_ = parts.place(found.span, server.client.encoding)
    return {
        "uri": part.uri,
        "version": part.version,
        "title": found.title,
        "newText": found.new_text,
        "range": [
            [range_.start.line, range_.start.character],
            [range_.end.line, range_.end.character],
        ],
    }


def devices(_: Server) -> list[dict[str, str]]:
    """The catalogue to choose from, by vendor, kind and generation, the fastest first."""
    from tirlens import hardware
    from tirlens.ide import labels
    from tirlens.ide.device_list import core_name, device_groups

    found: list[dict[str, str]] = []
    for group, members in device_groups(map(hardware.load, hardware.catalogue())):
        for device, peak in members:
            rate = labels.rate(device.dram.bytes_per_s, "B")
            parts = [f"{device.sm_count} {core_name(device)}", f"{rate} DRAM"]
            if peak is not None:
                name, flop_per_s = peak
                parts.append(f"{labels.rate(flop_per_s, 'FLOP')} {name}")
            detail = ", ".join(parts)
            found.append({"id": device.id, "name": device.name, "detail": detail, "group": group})
    return found


def calls(server: Server, uri: object = None, kernel: object = None) -> dict[str, Any] | None:
    """The calls known of a kernel, and where a directive with one goes; None without a kernel."""
    from tirlens.session.choices import choices

    parts = server.parts(text(uri, "uri"))
    name = None if kernel is None else text(kernel, "kernel")
    found = choices(parts.document, name) if parts is not None else None
    if parts is None or found is None:
        return None
    part = parts.at(found.line)
    fixed = found.fixed
    return {
        "kernel": found.kernel,
        "fixed": None if fixed is None else {"size": fixed.size, "line": fixed.line},
        "choices": [
            {"directive": item.directive, "source": item.source, "current": item.current}
            for item in found.choices
        ],
        "insert": {
            "uri": part.uri,
            "line": found.line - part.offset - 1,
            "indentation": found.indentation,
            "replaces": found.replaces,
        },
    }


def reanalyze(server: Server, uri: object = None) -> None:
    """Run a file again, though its text is the same."""
    server.session.reanalyze(server.notebooks.owner(text(uri, "uri")))


async def set_device(server: Server, uri: object = None, device: object = None) -> None:
    """Estimate for a device, in one file or all; None goes back to what the file says.

    Raises:
        JsonRpcInvalidParams: there is no such device.
    """
    from tirlens import hardware

    where = None if uri is None else server.notebooks.owner(text(uri, "uri"))
    name = None if device is None else text(device, "device")
    if name is not None:
        try:
            # The name may be a file's.
            await asyncio.to_thread(hardware.load, name)
        except hardware.DeviceError as error:
            raise JsonRpcInvalidParams(str(error)) from error
    server.session.set_device(where, name)


def set_call(
    server: Server, uri: object = None, kernel: object = None, call: object = None
) -> None:
    """Analyse a kernel by this call; None goes back to the file's own."""
    expression = None if call is None else text(call, "call")
    where = server.notebooks.owner(text(uri, "uri"))
    server.session.set_call(where, text(kernel, "kernel"), expression)


def show(server: Server, detail: object = None) -> str:
    """Display this much of the analyses, or what follows the present choice; what it is now.

    Raises:
        JsonRpcInvalidParams: there is no such choice.
    """
    from tirlens.settings import DETAILS

    if detail is not None and detail not in DETAILS:
        raise JsonRpcInvalidParams(f"expected one of {', '.join(DETAILS)}")
    return server.session.show(None if detail is None else text(detail, "detail"))


def hottest_line(server: Server, uri: object = None, line: object = None) -> dict[str, Any] | None:
    """The line that takes most of the kernel at the 0-based `line`, else of the slowest one."""
    from tirlens.session import hottest

    name = text(uri, "uri")
    parts, part = server.parts(name), server.part(name)
    if parts is None:
        return None
    at = part.offset + line + 1 if isinstance(line, int) and part is not None else None
    found = hottest.hottest_line(parts.document, at)
    return found and _hot_line(server, parts.at(found.line), found)


def heat(server: Server, uri: object = None) -> list[dict[str, Any]]:
    """The lines to mark by their shares of the time; none unless the settings ask for them."""
    from tirlens.session import hottest

    part = server.part(text(uri, "uri"))
    if part is None:
        return []
    display = server.session.display_of(part.document)
    hot = hottest.heat(part.document, display)
    return [_hot_line(server, part, item) for item in hot if part.has(item.line)]


def _hot_line(server: Server, part: Part, found: HotLine) -> dict[str, Any]:
    from tirlens.lsp import convert

    line = found.line - part.offset
    at = convert.position(part.lines, line, found.column, server.client.encoding)
    return {
        "uri": part.uri,
        "line": at.line,
        "character": at.character,
        "kernel": found.kernel,
        "share": found.share,
        "time_s": found.time_s,
    }


async def pin_baseline(server: Server, uri: object = None, revision: object = None) -> str | None:
    """Pin the saved text of a file (null: all open ones), or a git revision; the baseline's name.

    Raises:
        JsonRpcInvalidParams: there is no such revision, or the baseline cannot be stored.
    """
    from tirlens.repository import GitError

    where = None if uri is None else server.notebooks.owner(text(uri, "uri"))
    name = None if revision is None else text(revision, "revision")
    if name is not None and not server.session.configuration.trusted:
        raise JsonRpcInvalidParams("git is not run in an untrusted workspace")
    try:
        return await server.session.pin(where, name)
    except (GitError, OSError) as error:
        raise JsonRpcInvalidParams(str(error)) from error


async def clear_baseline(server: Server, uri: object = None) -> None:
    """Compare with no pinned version any more, in one file or all open ones."""
    where = None if uri is None else server.notebooks.owner(text(uri, "uri"))
    await server.session.clear_baseline(where)


def set_room(
    server: Server, uri: object = None, columns: object = None, lens_characters: object = None
) -> None:
    """Fit hints and lenses of a file into so many columns and characters; null for unknown.

    Raises:
        JsonRpcInvalidParams: they are no numbers.
    """
    from tirlens.session.display import Room

    name = server.notebooks.owner(text(uri, "uri"))
    if columns is None or lens_characters is None:
        server.session.set_room(name, None)
    elif isinstance(columns, int) and isinstance(lens_characters, int):
        server.session.set_room(name, Room(max(columns, 1), max(lens_characters, 1)))
    else:
        raise JsonRpcInvalidParams("expected the columns of a text and the characters of a lens")


def _version(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def debug_information(server: Server) -> dict[str, Any]:
    """What the report of a defect needs: versions, interpreters, durations, loaded modules."""
    session = server.session
    workers = [
        {
            "interpreter": str(client.interpreter.path),
            "why": client.interpreter.why,
            "python": client.interpreter.python,
            "frameworks": dict(client.interpreter.frameworks),
            "pid": client.pid,
        }
        for client in session.analyses.queues.clients
    ]
    packages = ("pygls", "lsprotocol", "numpy", "rich", "platformdirs")
    installed = {name: _version(name) for name in packages}
    return {
        "tirlens": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version for name, version in installed.items() if version},
        "uptime_s": time.monotonic() - server.started,
        "trusted": session.configuration.trusted,
        "open_files": len(session.documents),
        "workers": workers,
        "durations_s": list(session.analyses.requests.durations_s),
        "modules": sorted(sys.modules),
    }


TABLE: dict[str, Function] = {
    "tirlens.setRoom": set_room,
    "tirlens.report": report,
    "tirlens.reportPage": report_page,
    "tirlens.adviceEdit": advice_edit,
    "tirlens.devices": devices,
    "tirlens.calls": calls,
    "tirlens.reanalyze": reanalyze,
    "tirlens.setDevice": set_device,
    "tirlens.setCall": set_call,
    "tirlens.show": show,
    "tirlens.hottestLine": hottest_line,
    "tirlens.heat": heat,
    "tirlens.pinBaseline": pin_baseline,
    "tirlens.clearBaseline": clear_baseline,
    "tirlens.debugInformation": debug_information,
}


def text(value: object, name: str) -> str:
    """`value`, if it is text.

    Raises:
        JsonRpcInvalidParams: it is none.
    """
    if not isinstance(value, str):
        raise JsonRpcInvalidParams(f"{name} must be text")
    return value
