"""Operands of instructions as nvdisasm prints them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_REGISTER = re.compile(r"(?<![\w.$])(UR|UP|R|P|B)(\d+)\b((?:\.\w+)*)")
_LABEL = re.compile(r"`\(([^)]*)\)")
# A predicate, or the constants that take the place of one.
_PREDICATE = re.compile(r"!?U?P(?:\d+|T)$")
# A register, or the zero that takes the place of one, with signs and the part that is used.
_PLAIN = re.compile(r"[-~!|]*U?R(?:\d+|Z)\|?(?:\.\w+)*\|?$")
_CONSTANT = re.compile(r"[-~|]*cx?\[")


@dataclass(frozen=True)
class NamedRegister:
    """A register in the text of an operand.

    `file` is ``R`` (general), ``UR`` (uniform), ``P`` (predicate), ``UP`` (uniform predicate) or
    ``B`` (convergence barrier); `suffixes` are the words after it, as ``64`` and ``reuse``.
    """

    file: str
    number: int
    suffixes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operand:
    """An operand: its text and the registers that it names.

    `kind` is ``register``, ``predicate``, ``memory`` (an address in brackets), ``constant`` (of a
    constant bank), ``label`` or ``other`` (immediates, special registers, scoreboards).
    """

    text: str
    kind: str
    registers: tuple[NamedRegister, ...] = ()
    label: str | None = None


def split(text: str) -> tuple[Operand, ...]:
    """The operands in the text after an opcode."""
    parts: list[str] = []
    depth = start = 0
    for position, character in enumerate(text):
        if character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return tuple(parse(part.strip()) for part in parts if part.strip())


def parse(text: str) -> Operand:
    """One operand."""
    registers = tuple(
        NamedRegister(file, int(number), tuple(filter(None, suffixes.split("."))))
        for file, number, suffixes in _REGISTER.findall(text)
    )
    label = _LABEL.search(text)
    return Operand(text, _kind(text, label is not None), registers, label[1] if label else None)


def _kind(text: str, has_label: bool) -> str:
    if _PREDICATE.match(text):
        return "predicate"
    if _CONSTANT.match(text):
        return "constant"
    if "[" in text:
        # The address may have a symbol: [R9.X8+`(shared_data)].
        return "memory"
    if has_label:
        return "label"
    return "register" if _PLAIN.match(text) else "other"
