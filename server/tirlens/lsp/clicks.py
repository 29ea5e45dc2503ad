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
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcInvalidParams

from tirlens.ide import labels
from tirlens.lsp import commands, dialogs, generated_code

if TYPE_CHECKING:
    from tirlens.lsp.server import Server

_TRUST = (
    "An analysis runs the file. To allow it, start the server as `tirlens serve --trust-workspace`"
    ' or send {"trusted": true} in initializationOptions.'
)
_DETAILS = {
    "all": "lenses and hints of all kernels",
    "hottest": "all lenses, and the hints of the hottest lines",
    "marked": "kernels that are marked by `# tirlens: on`",
    "off": "no lenses and no hints",
}
_INSTALL = "Install NVIDIA's compiler (350 MB)"
_SUFFIXES = {"cuda": "cu", "sass": "sass.txt"}


def show_report(server: Server, uri: object = None, kernel: object = None) -> None:
    """Open the report of a file's kernels in the browser, or say where it was written."""
    dialogs.begin(_show_report(server, commands.text(uri, "uri"), kernel))


def show_generated_code(server: Server, uri: object = None, kernel: object = None) -> None:
    """Open the CUDA source of a kernel and then its machine code, or say where they are."""
    dialogs.begin(_show_generated_code(server, commands.text(uri, "uri"), kernel))


def choose_device(server: Server, *_: object) -> None:
    """Ask the user for a device of the catalogue and estimate for it."""
    dialogs.begin(_choose_device(server))


def choose_call(server: Server, uri: object = None, kernel: object = None) -> None:
    """Ask the user for one of the calls that are known of a kernel, and write it above it."""
    from tirlens.lsp import actions
    from tirlens.session.choices import choices

    parts = server.parts(commands.text(uri, "uri"))
    name = None if kernel is None else commands.text(kernel, "kernel")
    found = choices(parts.document, name) if parts is not None else None
    if parts is None or found is None:
        dialogs.say(server, dialogs.NOTHING)
        return
    edits = {item.directive: actions.edit(parts, found, item) for item in found.choices}
    if edits:
        dialogs.begin(_choose_call(server, parts.document.uri, found.kernel, edits))
    elif found.fixed is not None:
        part = parts.at(found.fixed.line)
        size = f": {found.fixed.size}" if found.fixed.size else ""
        line = found.fixed.line - part.offset
        dialogs.say(
            server, f"The shapes of {found.kernel} are fixed by its source, line {line}{size}."
        )
    else:
        example = f"# tirlens: {found.kernel}(...)"
        dialogs.say(server, f"No call of {found.kernel} was found. Write one above it: {example}")


def manage_trust(server: Server, *_: object) -> None:
    """Say how a workspace is trusted."""
    dialogs.say(server, _TRUST)


def toggle(server: Server, *_: object) -> None:
    """Display more or less, and say how much."""
    dialogs.say(server, f"displays {_DETAILS[commands.show(server)]}.")


def go_to_hottest_line(server: Server, uri: object = None, line: object = None) -> None:
    """Place the cursor on the line that takes most of the time, or say which one it is."""
    found = commands.hottest_line(server, uri, line)
    if found is None:
        dialogs.say(server, dialogs.NOTHING)
    else:
        dialogs.begin(_go_to(server, found))


def pin(server: Server, uri: object = None, revision: object = None) -> None:
    """Pin the saved text or a git revision as the baseline, and say so."""
    dialogs.begin(_pin(server, commands.text(uri, "uri"), revision))


def unpin(server: Server, uri: object = None) -> None:
    """Clear the baseline, and say so."""
    dialogs.begin(_unpin(server, commands.text(uri, "uri")))


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
    dialogs.say(server, f"Line {at.line + 1} takes {share} of {found['kernel']}.")


async def _pin(server: Server, uri: str, revision: object) -> None:
    try:
        name = await commands.pin_baseline(server, uri, revision)
    except JsonRpcInvalidParams as error:
        dialogs.say(server, error.message)
    else:
        dialogs.say(server, f"Kernels are compared with {name}." if name else dialogs.NOTHING)


async def _unpin(server: Server, uri: str) -> None:
    await commands.clear_baseline(server, uri)
    dialogs.say(server, "Kernels are compared with the last save only.")


async def _choose_device(server: Server) -> None:
    from tirlens import hardware

    chosen = await dialogs.ask(server, "Estimate for which device?", hardware.catalogue())
    if chosen is not None:
        server.session.set_device(None, chosen)


async def _choose_call(
    server: Server, uri: str, kernel: str, edits: Mapping[str, types.WorkspaceEdit]
) -> None:
    chosen = await dialogs.ask(server, f"Analyse {kernel} with which arguments?", tuple(edits))
    if chosen is None:
        return
    params = types.ApplyWorkspaceEditParams(edit=edits[chosen], label="TIRLens arguments")
    answer = await server.workspace_apply_edit_async(params)
    if answer.applied:
        server.session.reanalyze(uri)


async def _show_report(server: Server, uri: str, kernel: object) -> None:
    report = await commands.report(server, uri, kernel)
    if report is None:
        dialogs.say(server, dialogs.NOTHING)
        return
    try:
        file = await asyncio.to_thread(dialogs.store, uri, report["html"], "reports/{}.html")
    except OSError as error:
        dialogs.say(server, f"The report cannot be written: {error}")
        return
    if get_capability(server.client_capabilities, "window.show_document.support", False):
        params = types.ShowDocumentParams(uri=file.as_uri(), external=True)
        if (await server.window_show_document_async(params)).success:
            return
    dialogs.say(server, f"The report is in {file}")


async def _show_generated_code(server: Server, uri: str, kernel: object) -> None:
    for language in ("cuda", "sass"):
        found = await generated_code.generated_code(server, uri, kernel, language)
        if found is None:
            dialogs.say(server, dialogs.NOTHING)
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
            dialogs.say(server, next(reasons, dialogs.NOTHING))
            return
        rows = zip(text["text"].splitlines(), text["lines"], strict=False)
        margin = "/*{:>5} */ {}" if language == "cuda" else "{:>5} | {}"
        lines = (margin.format(line if line > 0 else "", row).rstrip() for row, line in rows)
        name = f"{code['kernel']}.{_SUFFIXES[language]}"
        await dialogs.open_text(server, uri, name, "".join(f"{line}\n" for line in lines))


async def _offer_toolchain(server: Server, uri: str, missing: Sequence[str]) -> bool:
    """Install the tools of machine code if the user agrees; whether they are installed."""
    message = f"TIRLens: no machine code: {' and '.join(missing)} not found."
    if await dialogs.ask(server, message, [_INSTALL]) is None:
        return False
    dialogs.say(server, "NVIDIA's compiler is being installed.")
    try:
        folder = await generated_code.install_toolchain(server, uri)
    except JsonRpcInvalidParams as error:
        dialogs.say(server, error.message)
        return False
    dialogs.say(server, f"NVIDIA's compiler is in {folder}")
    return True
