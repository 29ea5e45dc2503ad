"""Code actions: write the directive with the values in use, or one to fill in."""

from __future__ import annotations

from lsprotocol import types

from tirlens.session import Document
from tirlens.session.choices import Choice, Choices, choices, kernel_at


def code_actions(document: Document, line: int) -> list[types.CodeAction]:
    """The actions for the kernel at the current 1-based `line`."""
    kernel = kernel_at(document, line)
    found = choices(document, kernel.name) if kernel is not None else None
    if found is None:
        return []
    current = [choice for choice in found.choices if choice.current]
    others = [choice for choice in found.choices if not choice.current]
    return [_action(document, found, choice) for choice in (current + others)[:4]]


def edit(document: Document, found: Choices, choice: Choice) -> types.WorkspaceEdit:
    """Writes the directive of `choice` above the kernel, in place of one that stands there."""
    row = found.line - 1
    comment = f"{found.indentation}# tirlens: {choice.directive}"
    end = types.Position(row + found.replaces, 0)
    change = types.TextEdit(types.Range(types.Position(row, 0), end), comment + "\n")
    return types.WorkspaceEdit(changes={document.uri: [change]})


def _action(document: Document, found: Choices, choice: Choice) -> types.CodeAction:
    verb = "Keep" if choice.current else "Analyse with"
    return types.CodeAction(
        title=f"TIRLens: {verb} # tirlens: {choice.directive}",
        kind=types.CodeActionKind.RefactorRewrite,
        edit=edit(document, found, choice),
    )
