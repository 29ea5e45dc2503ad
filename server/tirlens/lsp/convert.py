"""Editor terms to the protocol's types, in the unit of columns that the client speaks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.uris import to_fs_path

from tirlens.ide.diagnostics import Diagnostic
from tirlens.ide.document_text import Edit, Encoding, to_code_points, units
from tirlens.ide.hints import Hint
from tirlens.ide.hovers import Hover
from tirlens.session.view import Lens
from tirlens_worker.facts import Span

if TYPE_CHECKING:
    from tirlens.lsp.notebooks import Part

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}
_COMMANDS = {
    "report": "tirlens.showReport",
    "call": "tirlens.chooseCall",
    "device": "tirlens.chooseDevice",
    "trust": "tirlens.manageTrust",
    "analyze": "tirlens.analyze",
    "tune": "tirlens.tuneKernel",
}


def path_below(uri: str, root: str | None) -> Path:
    """The path of a document; one without a folder (`untitled:`) is in the workspace's root."""
    path = path_of(uri)
    return path if path.is_absolute() or root is None else Path(root) / path


def path_of(uri: str) -> Path:
    """The file that `uri` names; for an unsaved buffer a name of its own."""
    path = to_fs_path(uri)
    return Path(path) if path else Path(uri.partition(":")[2] or uri)


def position(lines: Sequence[str], line: int, column: int, encoding: Encoding) -> types.Position:
    """A 1-based line and code point column as a protocol position within `lines`."""
    if line > len(lines):
        return types.Position(len(lines) - 1, units(lines[-1], encoding))
    text = lines[line - 1]
    return types.Position(line - 1, units(text[:column], encoding))


def range_of(lines: Sequence[str], span: Span, encoding: Encoding) -> types.Range:
    """A span, whose lines count from 1 and columns in code points, as a range of the protocol."""
    return types.Range(
        position(lines, span.line, span.column, encoding),
        position(lines, span.end_line, span.end_column, encoding),
    )


def place(lines: Sequence[str], at: types.Position, encoding: Encoding) -> tuple[int, int]:
    """A protocol position as a 1-based line and code point column."""
    if at.line >= len(lines):
        return len(lines), len(lines[-1])
    return at.line + 1, to_code_points(lines[at.line], at.character, encoding)


def edit(change: types.TextDocumentContentChangePartial) -> Edit:
    """A client's change of a text as lines and columns, in its own unit of columns."""
    start, end = change.range.start, change.range.end
    return Edit(start.line, start.character, end.line, end.character, change.text)


def inlay_hint(part: Part, hint: Hint, encoding: Encoding) -> types.InlayHint:
    """A hint behind the end of its line."""
    row = hint.line - part.offset - 1
    return types.InlayHint(
        position=types.Position(row, units(part.lines[row], encoding)),
        label=hint.label,
        padding_left=True,
        tooltip=hint.tooltip,
    )


def code_lens(part: Part, lens: Lens, encoding: Encoding) -> dict[str, Any]:
    """A lens whose click the client handles, or else `tirlens.lsp.clicks`; as its JSON.

    A long file has hundreds, and to make them of the protocol's types takes longer than the rest.
    """
    at = position(part.lines, lens.line - part.offset, lens.column, encoding)
    place = {"line": at.line, "character": at.character}
    name = _COMMANDS.get(lens.part.action, "")
    command: dict[str, Any] = {"title": lens.part.title, "command": name}
    if name:
        command["arguments"] = [part.document.uri, lens.kernel]
    return {"range": {"start": place, "end": place}, "command": command}


def hover(part: Part, found: Hover, encoding: Encoding) -> types.Hover:
    """A hover, which marks the first line of what it speaks of."""
    # A statement may begin in the cell before.
    line = max(min(found.span.line - part.offset, len(part.lines)), 1)
    text = part.lines[line - 1]
    # The head line is enough to mark what is spoken of; a whole loop would flood the editor.
    span = Span(line, min(found.span.column, len(text)), line, len(text))
    return types.Hover(
        contents=types.MarkupContent(types.MarkupKind.Markdown, found.markdown),
        range=range_of(part.lines, span, encoding),
    )


def diagnostic(lines: Sequence[str], item: Diagnostic, encoding: Encoding) -> types.Diagnostic:
    """A diagnostic; its code is the rule or the kind of problem."""
    return types.Diagnostic(
        range=range_of(lines, item.span, encoding),
        message=item.message,
        severity=_SEVERITIES[item.severity],
        code=item.code,
        source="tirlens",
    )


def symbols(part: Part, encoding: Encoding) -> list[types.DocumentSymbol]:
    """The kernels of a document or a cell."""
    document, lines = part.document, part.lines
    reading = document.reading
    if reading is None:
        return []
    place_now = document.map_from(reading)
    found: list[types.DocumentSymbol] = []
    for kernel in reading.source.kernels:
        extent = place_now.current_span(kernel.extent)
        if not part.has(extent.line):
            continue
        whole = range_of(lines, part.span(extent), encoding)
        line = place_now.nearest_current_line(kernel.span.line) - part.offset
        head = position(lines, line, kernel.span.column, encoding)
        # The selection must lie within the range, whatever was typed since.
        inside = whole.start.line <= head.line <= whole.end.line
        selection = types.Range(head, head) if inside else types.Range(whole.start, whole.start)
        kind = types.SymbolKind.Function
        found.append(types.DocumentSymbol(kernel.name, kind, whole, selection, detail="kernel"))
    return found
