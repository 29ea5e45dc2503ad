"""Code actions: write what is advised, and the directive with the values in use.

Others run a command, so that nothing is available only in a lens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lsprotocol import types

from tirlens.ide import labels
from tirlens.ide.document_text import Encoding
from tirlens.lsp import welcome
from tirlens.lsp.notebooks import Parts
from tirlens.model.report import Advice
from tirlens.session import view
from tirlens.session.choices import Choice, Choices, choices, kernel_at
from tirlens.source.edits import Replacement


def rewritings(parts: Parts, line: int, encoding: Encoding) -> list[types.CodeAction]:
    """The advice that can be written and changes the current 1-based `line`."""
    return [
        _rewriting(parts, advice, advice.edit, encoding)
        for advice in view.rewritings(parts.document, line)
        if advice.edit and line in _changed_lines(parts.document.lines, advice.edit)
    ]


def _changed_lines(lines: Sequence[str], replacement: Replacement) -> set[int]:
    """The 1-based lines of a text that a replacement changes."""
    span = replacement.span
    before = lines[span.line - 1 : span.end_line]
    after = before[0][: span.column] + replacement.new_text + before[-1][span.end_column :]
    numbered = range(span.line, span.end_line + 1)
    now = after.split("\n")
    if len(now) != len(before):
        return set(numbered)
    return {line for line, old, new in zip(numbered, before, now, strict=True) if old != new}


def code_actions(parts: Parts, line: int, encoding: Encoding) -> list[types.CodeAction]:
    """The actions for the kernel at the current 1-based `line`: advice to write first."""
    document = parts.document
    written = [
        _rewriting(parts, advice, advice.edit, encoding)
        for advice in view.rewritings(document, line)
        if advice.edit
    ]
    kernel = kernel_at(document, line)
    found = choices(document, kernel.name) if kernel is not None else None
    if found is None:
        return written
    current = [choice for choice in found.choices if choice.current]
    others = [choice for choice in found.choices if not choice.current]
    return written + [_action(parts, found, choice) for choice in (current + others)[:4]]


def commands(parts: Parts, line: int, trusted: bool) -> list[types.CodeAction]:
    """The actions that do what a lens does, for the kernel at the current 1-based `line`."""
    document, part = parts.document, parts.at(line)
    kernel = kernel_at(document, line)
    if kernel is None:
        return []
    own = [document.uri, kernel.name]
    found: list[tuple[str, str, list[Any]]] = []
    if not trusted:
        found.append(("Say how this workspace is trusted", "tirlens.manageTrust", []))
    else:
        found += [
            (f"Open the report of {kernel.name}", "tirlens.showReport", own),
            (f"Show the generated code of {kernel.name}", "tirlens.showGeneratedCode", own),
            (f"Choose the arguments of {kernel.name}", "tirlens.chooseCall", own),
            ("Choose the device", "tirlens.chooseDevice", []),
            (f"Rank the configurations of {kernel.name}", "tirlens.tuneKernel", own),
            (
                f"Go to the hottest line of {kernel.name}",
                "tirlens.goToHottestLine",
                [part.uri, line - part.offset - 1],
            ),
            ("Pin this version as the baseline", "tirlens.pin", [document.uri]),
            ("Analyse the file again", "tirlens.analyze", [document.uri]),
        ]
        if document.baseline is not None:
            found.append(("Clear the baseline", "tirlens.unpin", [document.uri]))
    found.append(("Display more or less", "tirlens.toggle", []))
    return [
        types.CodeAction(
            title=f"TIRLens: {title}",
            kind=welcome.OWN_ACTION,
            command=types.Command(title=title, command=command, arguments=arguments),
        )
        for title, command, arguments in found
    ]


def _rewriting(
    parts: Parts, advice: Advice, replacement: Replacement, encoding: Encoding
) -> types.CodeAction:
    """Writes what is advised."""
    part, place = parts.place(replacement.span, encoding)
    change = types.TextEdit(place, replacement.new_text)
    saving = f", saves about {labels.seconds(advice.saving_s)}" if advice.saving_s else ""
    return types.CodeAction(
        title=f"TIRLens: {replacement.title}{saving}",
        kind=types.CodeActionKind.RefactorRewrite,
        edit=types.WorkspaceEdit(changes={part.uri: [change]}),
    )


def edit(parts: Parts, found: Choices, choice: Choice) -> types.WorkspaceEdit:
    """Writes the directive of `choice` above the kernel, in place of one that stands there."""
    part = parts.at(found.line)
    row = found.line - part.offset - 1
    comment = f"{found.indentation}# tirlens: {choice.directive}"
    end = types.Position(row + found.replaces, 0)
    change = types.TextEdit(types.Range(types.Position(row, 0), end), comment + "\n")
    return types.WorkspaceEdit(changes={part.uri: [change]})


def _action(parts: Parts, found: Choices, choice: Choice) -> types.CodeAction:
    verb = "Keep" if choice.current else "Analyse with"
    if choice.current and choice.source == "assumed":
        verb = "Write the assumed arguments:"
    return types.CodeAction(
        title=f"TIRLens: {verb} # tirlens: {choice.directive}",
        kind=types.CodeActionKind.RefactorRewrite,
        edit=edit(parts, found, choice),
    )
