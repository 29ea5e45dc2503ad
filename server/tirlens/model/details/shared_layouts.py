"""Layouts of shared arrays: the banks that a warp touches, row by row and with a swizzle.

A swizzle permutes the 16-byte chunks of each row by an exclusive or with the row's number, so that
the same column of eight rows is in different banks.  tilelang lays the operands of ``T.gemm`` out
like this, in panels of 128, 64 or 32 bytes (``src/layout/gemm_layouts.cc``), which are also those
of TMA (CUDA Driver API, ``CUtensorMapSwizzle``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tirlens_worker.facts import AccessMode, Buffer, Gemm

from ..constants import constant
from ..counting.kernel_counts import AccessCount
from ..gpu.mapping.memory_requests import BANK_BYTES, BANKS, are_lanes_paired, count_wavefronts
from ..reporting.attribution import display_label
from ..tree.compiled import Instructions
from ..tree.context import WARP, dtype_bytes
from ..tree.node import Leaf
from ..tree.table import Table
from ..tree.thread_mapping import SHARED_SCOPES, MemoryRequest

CHUNK_BYTES = constant(
    "CHUNK_BYTES",
    16,
    kind="isa",
    unit="bytes",
    meaning="What a swizzle of shared memory moves at a time.",
    source="CUDA Driver API, `CUtensorMapSwizzle`",
)
MATRIX_ROWS = constant(
    "MATRIX_ROWS",
    8,
    kind="isa",
    unit="rows",
    meaning="Rows of 16 bytes that a matrix instruction reads of an operand at a time.",
    source='PTX ISA, "ldmatrix", and the core matrices of "wgmma"',
)
LINE_BYTES = BANKS * BANK_BYTES
# The widths of swizzled panels, from the widest.
_MAX_PANEL_BYTES, _MAX_NARROW_PANELS = 128, 2
_MAX_ARRAYS, _MAX_ACCESSES = 8, 4


@dataclass(frozen=True)
class BankPattern:
    """The words that lanes access at the same time, and the passes that the whole request takes.

    A cell is a row of 128 bytes of shared memory, a bank in it, and a lane.  Two rows in one bank
    are a conflict.  `wavefronts` are the passes of the instruction.
    """

    cells: tuple[tuple[int, int, int], ...]
    wavefronts: float


@dataclass(frozen=True)
class SharedAccess:
    """One access to a shared array by a warp, with each layout.

    `lanes` of `bytes_per_lane` bytes are one request, which needs at least `least_wavefronts`
    passes.  `swizzled` is None where the rows are no whole number of panels.
    """

    label: str
    line: int | None
    mode: AccessMode
    is_matrix_operand: bool
    lanes: int
    bytes_per_lane: int
    least_wavefronts: float
    row_by_row: BankPattern
    swizzled: BankPattern | None


@dataclass(frozen=True)
class SharedLayout:
    """A shared array and its accesses.

    `panel_bytes` is the width of the swizzle that fits its rows, None where none does.
    `is_swizzled`: the framework lays the array out so.
    """

    array: str
    dtype: str
    shape: tuple[int, ...]
    panel_bytes: int | None
    is_swizzled: bool
    accesses: tuple[SharedAccess, ...]


def shared_layouts(
    leaves: Sequence[Leaf],
    instructions: Table[Instructions],
    shapes: Mapping[str, Sequence[int]],
    framework: str,
) -> tuple[SharedLayout, ...]:
    """The layouts of the shared arrays that statements access, in the order of their accesses.

    Parameters
    ----------
    leaves
        The statements of a kernel.
    instructions
        The instructions of the statements.
    shapes
        The shapes of the arrays by id.
    framework
        ``tilelang`` swizzles the operands of products.
    """
    accesses: dict[str, list[tuple[Leaf, int, AccessCount]]] = {}
    for leaf in leaves:
        for number, entry in enumerate(leaf.count.accesses):
            if entry.buffer.scope in SHARED_SCOPES:
                accesses.setdefault(entry.access.buffer, []).append((leaf, number, entry))
    found: list[SharedLayout] = []
    for identity, entries in accesses.items():
        shape = tuple(shapes.get(identity, ()))
        if len(shape) >= 2 and all(shape) and len(found) < _MAX_ARRAYS:
            layout = _layout(entries, instructions, shape, framework)
            if layout.accesses:
                found.append(layout)
    return tuple(found)


def _layout(
    entries: Sequence[tuple[Leaf, int, AccessCount]],
    instructions: Table[Instructions],
    shape: tuple[int, ...],
    framework: str,
) -> SharedLayout:
    buffer = entries[0][2].buffer
    row_bytes = int(shape[-1] * dtype_bytes(buffer.dtype))
    panel = _panel_bytes(row_bytes)
    is_operand = any(isinstance(leaf.source, Gemm) for leaf, _, _ in entries)
    rows = math.prod(shape[:-1])
    found: dict[object, SharedAccess] = {}
    for leaf, number, entry in entries:
        requests = instructions[leaf].mapping.requests
        request = requests[number] if number < len(requests) else None
        lanes = _lane_bytes(leaf, request, entry, buffer, row_bytes)
        if lanes is None or len(found) >= _MAX_ACCESSES:
            continue
        access = _access(leaf, entry, lanes, (row_bytes, rows, panel))
        found.setdefault((leaf.source.sites, type(leaf.source), access.mode), access)
    is_swizzled = framework == "tilelang" and is_operand and panel is not None
    return SharedLayout(buffer.name, buffer.dtype, shape, panel, is_swizzled, tuple(found.values()))


def _panel_bytes(row_bytes: int) -> int | None:
    """The widest panel, of 128, 64 or 32 bytes, of which rows are a whole number."""
    widths = (_MAX_PANEL_BYTES >> narrow for narrow in range(_MAX_NARROW_PANELS + 1))
    return next((width for width in widths if row_bytes and row_bytes % width == 0), None)


def _lane_bytes(
    leaf: Leaf, request: MemoryRequest | None, entry: AccessCount, buffer: Buffer, row_bytes: int
) -> tuple[list[int], int] | None:
    """The first byte of each lane of a request, and the bytes of a lane."""
    if isinstance(leaf.source, Gemm):
        # Matrix instructions read core matrices of their operands.
        return [row * row_bytes for row in range(MATRIX_ROWS)], min(CHUNK_BYTES, row_bytes)
    if request is None or not request.lane_offsets or entry.access.route == "tma":
        return None
    size = dtype_bytes(buffer.dtype)
    width = max(int(size * request.vector), 1)
    return [math.floor(offset * size) for offset in request.lane_offsets], width


def _access(
    leaf: Leaf,
    entry: AccessCount,
    lanes: tuple[list[int], int],
    layout: tuple[int, int, int | None],
) -> SharedAccess:
    (starts, width), (row_bytes, rows, panel) = lanes, layout
    site = next(iter(leaf.source.sites), None)
    loads = entry.access.mode == "read"
    swizzled = None
    if panel is not None:
        swizzled = [swizzle(start, row_bytes, rows, panel) for start in starts]
    words = len({start // BANK_BYTES + word for start in starts for word in _words(width)})
    return SharedAccess(
        label=display_label(leaf.source),
        line=site.line if site is not None and site.file is None else None,
        mode=entry.access.mode,
        is_matrix_operand=isinstance(leaf.source, Gemm),
        lanes=len(starts),
        bytes_per_lane=width,
        least_wavefronts=float(math.ceil(words / BANKS)),
        row_by_row=_pattern(starts, width, loads),
        swizzled=None if swizzled is None else _pattern(swizzled, width, loads),
    )


def swizzle(start: int, row_bytes: int, rows: int, panel_bytes: int) -> int:
    """The byte at which `start` of a row-major array is when its panels are swizzled."""
    row, byte = divmod(start, row_bytes)
    panel, inside = divmod(byte, panel_bytes)
    chunk, rest = divmod(inside, CHUNK_BYTES)
    # With narrower panels several rows share the 128 bytes that all banks hold.
    shared_rows = LINE_BYTES // panel_bytes
    chunk ^= row // shared_rows % (panel_bytes // CHUNK_BYTES)
    return (panel * rows + row) * panel_bytes + chunk * CHUNK_BYTES + rest


def _words(width: int) -> range:
    return range(max(width // BANK_BYTES, 1))


def _pattern(starts: Sequence[int], width: int, loads: bool) -> BankPattern:
    in_pairs = loads and are_lanes_paired(starts)
    # The lanes of one pass without conflicts.
    phase = min(max(WARP // len(_words(width)), 1) * (1 + in_pairs), len(starts))
    phases = [
        range(first, min(first + phase, len(starts))) for first in range(0, len(starts), phase)
    ]
    worst = max(phases, key=lambda lanes: count_wavefronts(_of(starts, lanes), width, in_pairs))
    cells = sorted(_cells(starts, worst, width))
    rows = {row: number for number, row in enumerate(sorted({row for row, _, _ in cells}))}
    return BankPattern(
        tuple((rows[row], bank, lane) for row, bank, lane in cells),
        count_wavefronts(starts, width, in_pairs),
    )


def _of(starts: Sequence[int], lanes: Iterable[int]) -> list[int]:
    return [starts[lane] for lane in lanes]


def _cells(
    starts: Sequence[int], lanes: Iterable[int], width: int
) -> Iterator[tuple[int, int, int]]:
    seen: set[tuple[int, int]] = set()
    for lane in lanes:
        for word in _words(width):
            cell = divmod(starts[lane] // BANK_BYTES + word, BANKS)
            if cell not in seen:
                seen.add(cell)
                yield (*cell, lane)
