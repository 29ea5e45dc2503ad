"""Samples of generated CUDA lines as those of the kernel's own lines.

Nsight Compute samples the lines of the source that the compiler had: the CUDA that the framework
generates, or, where that has line directives, the user's file.  A generated text is that of the
trace only if their lines agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from tirlens.measured.performance.source_lines import KernelSamples, LineSamples, stalls_of

# Line numbers alone are evidence only where several of them fall on statements.
_LEAST_NUMBERS = 3
_NO_TEXT = ("", "<Unable to open source file>")
_STATEMENT = re.compile(r"\w.*[;{(,]|\w.*\)")
_NO_STATEMENT = re.compile(r"\s*(#|//|\}|\{|$|extern\b|using\b|typedef\b|struct\b)")


_Key = TypeVar("_Key")


@dataclass(frozen=True)
class SourceText:
    """A text that may be the source of a measured kernel.

    Attributes
    ----------
    lines
        Its lines.
    kernel_lines
        For each of them the line of the kernel's file; 0 or less for none.
    """

    lines: Sequence[str]
    kernel_lines: Sequence[int]


@dataclass(frozen=True)
class KernelLine:
    """A line of the kernel's file with its samples, their part of the kernel's, and their stalls.

    `stalls` are the samples of warps that do not issue, by the reason, the most frequent first.
    """

    line: int
    samples: float
    share: float
    stalls: Mapping[str, float]


@dataclass(frozen=True)
class KernelLines:
    """The lines of one measured execution.

    Attributes
    ----------
    samples
        Of the whole execution.
    lines
        Those of the kernel's file, the most samples first.
    other_share
        The part of the samples at lines that no line of the kernel yields.
    evidence
        ``text`` where all lines of the trace have the text of the generated ones, ``numbers`` where
        the trace has no text and the numbers of its lines are those of statements.
    """

    samples: float
    lines: tuple[KernelLine, ...]
    other_share: float
    evidence: Literal["text", "numbers"]


def lines_of_kernel(samples: KernelSamples, text: SourceText) -> KernelLines | None:
    """The samples at the kernel's own lines; None where `text` is not the source of the trace.

    Lines of other files, such as headers, are in `other_share`.
    """
    files = {one.line.file for one in samples.lines if one.line.line is not None}
    for file in sorted(files, key=lambda name: -_samples_of(samples.lines, name)):
        own = [one for one in samples.lines if one.line.file == file and one.line.line is not None]
        evidence = _evidence(own, text)
        if evidence is not None:
            return _sum(samples, own, text, evidence)
    return None


def _samples_of(lines: Iterable[LineSamples], file: str | None) -> float:
    return sum(one.samples for one in lines if one.line.file == file)


def _evidence(lines: Sequence[LineSamples], text: SourceText) -> Literal["text", "numbers"] | None:
    """What says that `lines` are those of `text`; None where they are not."""
    numbers = [one.line.line or 0 for one in lines]
    if not numbers or not 1 <= min(numbers) <= max(numbers) <= len(text.lines):
        return None
    generated = [text.lines[number - 1].strip() for number in numbers]
    found = [one.line.text.strip() for one in lines]
    pairs = [pair for pair in zip(found, generated, strict=True) if pair[0] not in _NO_TEXT]
    if pairs:
        return "text" if all(one == other for one, other in pairs) else None
    is_plausible = len(set(numbers)) >= _LEAST_NUMBERS and all(map(_is_statement, generated))
    return "numbers" if is_plausible else None


def _is_statement(line: str) -> bool:
    return _NO_STATEMENT.match(line) is None and _STATEMENT.search(line) is not None


def _sum(
    samples: KernelSamples,
    own: Iterable[LineSamples],
    text: SourceText,
    evidence: Literal["text", "numbers"],
) -> KernelLines:
    counts: dict[int, float] = {}
    stalls: dict[int, dict[str, float]] = {}
    for one in own:
        line = text.kernel_lines[(one.line.line or 0) - 1]
        if line > 0:
            counts[line] = counts.get(line, 0.0) + one.samples
            own_stalls = stalls.setdefault(line, {})
            for reason, value in stalls_of(one.line).items():
                own_stalls[reason] = own_stalls.get(reason, 0.0) + value
    lines = tuple(
        KernelLine(line, count, count / samples.samples, _most_first(stalls[line]))
        for line, count in _most_first(counts).items()
    )
    other = 1.0 - sum(one.share for one in lines)
    return KernelLines(samples.samples, lines, max(other, 0.0), evidence)


def _most_first(counts: Mapping[_Key, float]) -> dict[_Key, float]:
    return dict(sorted(counts.items(), key=lambda item: -item[1]))
