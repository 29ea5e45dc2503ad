"""What nvdisasm itself says of registers and of control flow, read from the recorded texts."""

from __future__ import annotations

import lzma
import re
from collections.abc import Mapping
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
RECORDED = sorted(path.name.removesuffix(".sass.xz") for path in DATA.glob("*.sass.xz"))
#: Registers of one instruction by file and number.
Set = frozenset[tuple[str, int]]
_FILES = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s.*?// \|(.*)\|\s*$")


def text(recorded: str, kind: str) -> str:
    """A text of `record.TEXTS`."""
    return lzma.decompress((DATA / f"{recorded}.{kind}.xz").read_bytes()).decode()


def live_ranges(listing: str) -> list[dict[int, tuple[Set, Set]]]:
    """Registers read and written by the address of the instruction, for each section.

    A register is written at ``^``, read at ``v``, both at ``x``.
    """
    sections: list[dict[int, tuple[Set, Set]]] = []
    names: list[str] = []
    columns: list[Mapping[int, int]] = []
    for line in listing.splitlines():
        if re.match(r"\s*\.section\s+\.text", line):
            sections.append({})
        elif match := _INSTRUCTION.match(line):
            marks = {
                (_FILES[name], number, cell[end : end + 1])
                for name, column, cell in zip(names, columns, match[2].split("|"), strict=True)
                for end, number in column.items()
            }
            sections[-1][int(match[1], 16)] = (
                frozenset((file, number) for file, number, mark in marks if mark in ("v", "x")),
                frozenset((file, number) for file, number, mark in marks if mark in ("^", "x")),
            )
        elif "// |" in line and "/*" not in line:
            cells = line.split("// |", 1)[1].rstrip().rstrip("|").split("|")
            if any(cell.strip() in _FILES for cell in cells):
                names = [cell.strip() for cell in cells]
            elif all(cell.strip().startswith("#") for cell in cells):
                columns = [
                    {found.end() - 1: int(found[0]) for found in re.finditer(r"\d+", cell)}
                    for cell in cells
                ]
    return sections


def graphs(dot: str) -> dict[str, tuple[list[tuple[str, int]], list[tuple[str, str]]]]:
    """For each function its blocks, with their numbers of instructions, and the edges."""
    found: dict[str, tuple[list[tuple[str, int]], list[tuple[str, str]]]] = {}
    blocks: list[tuple[str, int]] = []
    edges: list[tuple[str, str]] = []
    name = ""
    for line in dot.splitlines():
        if match := re.match(r'subgraph "cluster_(.*?)"', line):
            blocks, edges = found.setdefault(match[1], ([], []))
        elif match := re.match(r'"([^"]+)"$', line):
            name = match[1]
        elif line.startswith("[label="):
            instructions = re.findall(r"(?:\{<entry>|\\l|\|<exit\d+>)\\ \\ ", line)
            blocks.append((name, len(instructions)))
        elif match := re.match(r'"([^"]+)":\w+(?::\w)? -> "([^"]+)"', line):
            edges.append((match[1], match[2]))
    return found
