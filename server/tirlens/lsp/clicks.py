"""What lenses and code actions do in an editor without an extension of ours, asked in LSP.

``tirlens.showReport`` [uri, kernel | null] opens the report in the browser, or says where it is;
``tirlens.chooseDevice`` [] and ``tirlens.chooseCall`` [uri, kernel | null] let the user choose;
``tirlens.analyze`` [uri] analyses again; ``tirlens.manageTrust`` [] says how trust is given;
``tirlens.toggle`` [] displays more or less; ``tirlens.goToHottestLine`` [uri, line | null];
``tirlens.showGeneratedCode`` [uri, kernel | null] opens the CUDA source and the machine code;
``tirlens.pin`` [uri, revision | null] and ``tirlens.unpin`` [uri] set and clear the baseline.  All
of them answer at once, with null.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcInvalidParams

from tirlens.file_writer import replace_text
from tirlens.ide import labels
from tirlens.lsp import commands, generated_code

if TYPE_CHECKING:
    from tirlens.lsp.server import Server

logger = logging.getLogger(__name__)

_TRUST = (
    "An analysis runs the file. To allow it, start the server as `tirlens serve --trust-workspace`"
    ' or send {"trusted": true} in initializationOptions.'
)
_NOTHING = "Nothing is known of this file yet."
_DETAILS = {
    "all": "lenses and hints of all kernels",
    "hottest": "all lenses, and the hints of the hottest lines",
    "marked": "kernels that are marked by `# tirlens: on`",
    "off": "no lenses and no hints",
}
_INSTALL = "Install NVIDIA's compiler (350 MB)"
_SUFFIXES = {"cuda": "cu", "sass": "sass.txt"}
_running: set[asyncio.Task[None]] = set()


def show_report(server: Server, uri: object = None, kernel: object = None) -> None:
    """Open the report of a file's kernels in the browser, or say where it was written."""
    _begin(_show_report(server, commands.text(uri, "uri"), kernel))


def show_generated_code(server: Server, uri: object = None, kernel: object = None) -> None:
    """Open the CUDA source of a kernel and then its machine code, or say where they are."""
    _begin(_show_generated_code(server, commands.text(uri, "uri"), kernel))


def choose_device(server: Server, *_: object) -> None:
    """Ask the user for a device of the catalogue and estimate for it."""
    _begin(_choose_device(server))


def choose_call(server: Server, uri: object = None, kernel: object = None) -> None:
    """Ask the user for one of the calls that are known of a kernel, and write it above it."""
    from tirlens.lsp import actions
    from tirlens.session.choices import choices

    parts = server.parts(commands.text(uri, "uri"))
    name = None if kernel is None else commands.text(kernel, "kernel")
    found = choices(parts.document, name) if parts is not None else None
    if parts is None or found is None:
        _say(server, _NOTHING)
        return
    edits = {item.directive: actions.edit(parts, found, item) for item in found.choices}
    if edits:
        _begin(_choose_call(server, parts.document.uri, found.kernel, edits))
    elif found.fixed is not None:
        part = parts.at(found.fixed.line)
        size = f": {found.fixed.size}" if found.fixed.size else ""
        line = found.fixed.line - part.offset
        _say(server, f"The shapes of {found.kernel} are fixed by its source, line {line}{size}.")
    else:
        example = f"# tirlens: {found.kernel}(...)"
        _say(server, f"No call of {found.kernel} was found. Write one above it: {example}")


def manage_trust(server: Server, *_: object) -> None:
    """Say how a workspace is trusted."""
    _say(server, _TRUST)


def toggle(server: Server, *_: object) -> None:
    """Display more or less, and say how much."""
    _say(server, f"displays {_DETAILS[commands.show(server)]}.")


def go_to_hottest_line(server: Server, uri: object = None, line: object = None) -> None:
    """Place the cursor on the line that takes most of the time, or say which one it is."""
    found = commands.hottest_line(server, uri, line)
    if found is None:
        _say(server, _NOTHING)
    else:
        _begin(_go_to(server, found))


def pin(server: Server, uri: object = None, revision: object = None) -> None:
    """Pin the saved text or a git revision as the baseline, and say so."""
    _begin(_pin(server, commands.text(uri, "uri"), revision))


def unpin(server: Server, uri: object = None) -> None:
    """Clear the baseline, and say so."""
    _begin(_unpin(server, commands.text(uri, "uri")))


TABLE: dict[str, commands.Function] = {
    "tirlens.toggle": toggle,
    "tirlens.goToHottestLine": go_to_hottest_line,
    "tirlens.pin": pin,
    "tirlens.unpin": unpin,
    "tirlens.showReport": show_report,
    "tirlens.showGeneratedCode": show_generated_code,
    "tirlens.chooseDevice": choose_device,
    "tirlens.chooseCall": choose_call,
    "tirlens.analyze": commands.reanalyze,
    "tirlens.manageTrust": manage_trust,
}


async def _go_to(server: Server, found: Mapping[str, Any]) -> None:
    at = types.Position(found["line"], found["character"])
    if get_capability(server.client_capabilities, "window.show_document.support", False):
        params = types.ShowDocumentParams(
            uri=found["uri"], take_focus=True, selection=types.Range(at, at)
        )
        if (await server.window_show_document_async(params)).success:
            return
    share = labels.percent(found["share"])
    _say(server, f"Line {at.line + 1} takes {share} of {found['kernel']}.")


async def _pin(server: Server, uri: str, revision: object) -> None:
    try:
        name = await commands.pin_baseline(server, uri, revision)
    except JsonRpcInvalidParams as error:
        _say(server, error.message)
    else:
        _say(server, f"Kernels are compared with {name}." if name else _NOTHING)


async def _unpin(server: Server, uri: str) -> None:
    await commands.clear_baseline(server, uri)
    _say(server, "Kernels are compared with the last save only.")


async def _choose_device(server: Server) -> None:
    from tirlens import hardware

    chosen = await _ask(server, "Estimate for which device?", hardware.catalogue())
    if chosen is not None:
        server.session.set_device(None, chosen)


async def _choose_call(
    server: Server, uri: str, kernel: str, edits: Mapping[str, types.WorkspaceEdit]
) -> None:
    chosen = await _ask(server, f"Analyse {kernel} with which arguments?", tuple(edits))
    if chosen is None:
        return
    params = types.ApplyWorkspaceEditParams(edit=edits[chosen], label="TIRLens arguments")
    answer = await server.workspace_apply_edit_async(params)
    if answer.applied:
        server.session.reanalyze(uri)


async def _ask(server: Server, message: str, answers: Sequence[str]) -> str | None:
    params = types.ShowMessageRequestParams(
        type=types.MessageType.Info,
        message=message,
        actions=[types.MessageActionItem(title=answer) for answer in answers],
    )
    chosen = await server.window_show_message_request_async(params)
    return chosen.title if chosen is not None and chosen.title in answers else None


async def _show_report(server: Server, uri: str, kernel: object) -> None:
    report = await commands.report(server, uri, kernel)
    if report is None:
        _say(server, _NOTHING)
        return
    try:
        file = await asyncio.to_thread(_store, uri, report["html"], "reports/{}.html")
    except OSError as error:
        _say(server, f"The report cannot be written: {error}")
        return
    if get_capability(server.client_capabilities, "window.show_document.support", False):
        params = types.ShowDocumentParams(uri=file.as_uri(), external=True)
        if (await server.window_show_document_async(params)).success:
            return
    _say(server, f"The report is in {file}")


def _store(uri: str, text: str, name: str) -> Path:
    """Write a text where the next one of the same file takes its place; its name has the file."""
    from platformdirs import user_cache_path

    file = user_cache_path("tirlens") / name.format(hashlib.sha256(uri.encode()).hexdigest()[:16])
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_text(file, text)
    return file


async def _show_generated_code(server: Server, uri: str, kernel: object) -> None:
    for language in ("cuda", "sass"):
        found = await generated_code.generated_code(server, uri, kernel, language)
        if found is None:
            _say(server, _NOTHING)
            return
        if language == "sass" and found["missing_tools"]:
            if await _offer_toolchain(server, uri, found["missing_tools"]):
                await _show_generated_code(server, uri, kernel)
            return
        code = next(iter(found["kernels"]), None)
        text = code and code["texts"].get(language)
        if code is None or text is None:
            own = [code["error"], code["resources_error"]] if code is not None else []
            reasons = (reason for reason in [*own, *found["problems"]] if reason)
            _say(server, next(reasons, _NOTHING))
            return
        rows = zip(text["text"].splitlines(), text["lines"], strict=False)
        margin = "/*{:>5} */ {}" if language == "cuda" else "{:>5} | {}"
        lines = (margin.format(line if line > 0 else "", row).rstrip() for row, line in rows)
        name = f"{code['kernel']}.{_SUFFIXES[language]}"
        await _open(server, uri, name, "".join(f"{line}\n" for line in lines))


async def _offer_toolchain(server: Server, uri: str, missing: Sequence[str]) -> bool:
    """Install the tools of machine code if the user agrees; whether they are installed."""
    message = f"TIRLens: no machine code: {' and '.join(missing)} not found."
    if await _ask(server, message, [_INSTALL]) is None:
        return False
    _say(server, "NVIDIA's compiler is being installed.")
    try:
        folder = await generated_code.install_toolchain(server, uri)
    except JsonRpcInvalidParams as error:
        _say(server, error.message)
        return False
    _say(server, f"NVIDIA's compiler is in {folder}")
    return True


async def _open(server: Server, uri: str, name: str, text: str) -> None:
    """Write a text that is made of a file, and open it, or say where it is."""
    try:
        file = await asyncio.to_thread(_store, uri, text, f"code/{{}}/{name}")
    except OSError as error:
        _say(server, f"{name} cannot be written: {error}")
        return
    if get_capability(server.client_capabilities, "window.show_document.support", False):
        params = types.ShowDocumentParams(uri=file.as_uri(), take_focus=False)
        if (await server.window_show_document_async(params)).success:
            return
    _say(server, f"{name} is {file}")


def _say(server: Server, message: str) -> None:
    params = types.ShowMessageParams(type=types.MessageType.Info, message=f"TIRLens: {message}")
    server.window_show_message(params)


def _begin(work: Coroutine[Any, Any, None]) -> None:
    """The client may wait for the command's answer before it asks its user."""
    task = asyncio.ensure_future(work)
    _running.add(task)
    task.add_done_callback(_log_failure)


def _log_failure(task: asyncio.Task[None]) -> None:
    _running.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.info("The client declined: %s", error)
