"""Contention of atomic operations: updates that one unit of memory executes one after the other.

A slice of L2 updates a sector once in a pass, each word of it at most once: lanes of a request with
the same address are as many passes, and the sectors of a line are in one slice.  On a B300, 148
blocks of 128 threads, which add 1000 times to one of N addresses each without a result, take 6.50
ms for two words of a sector and 12.5 ms for 4 sectors of a line: 1.2 clocks for each pass, with 16
and 32 passes of a warp (ademeure/QuickRunCUDA@ea6f283
justifications/22r_atom_n2_hotspot_DEEP.md).  NVIDIA states "one operation per clock" for a common
address since Kepler (GK110 white paper).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tirlens.hardware.spec import Device
from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Access

from ...constants import constant
from ...counting.kernel_counts import AccessCount
from ...report import CaveatNote
from ...tree.compiled import Instructions
from ...tree.context import CONCURRENT_KINDS, SECTOR_BYTES, dtype_bytes, loads_of
from ...tree.moved import NO_ATOMICS, AtomicDemand, MemoryState
from ...tree.node import Leaf
from ...tree.table import Table
from ...tree.thread_mapping import BANK_BYTES, BANKS, LINE_BYTES, MemoryRequest, ThreadMapping
from ..compiler.atomic_forms import AtomicForm, atomic_form
from .global_accesses import GlobalAccess

ATOMIC_PASS_CLOCKS = constant(
    "ATOMIC_PASS_CLOCKS",
    1.2,
    kind="measured",
    unit="clocks",
    meaning="Clocks between atomic updates of one address, or of sectors of one line, in L2.",
    source=(
        "B300, 19 million updates of two words or four sectors in 6.50 and 12.5 ms at 1.8 GHz "
        "(ademeure/QuickRunCUDA@ea6f283 justifications/22r_atom_n2_hotspot_DEEP.md); one a clock "
        "since Kepler (NVIDIA, GK110 white paper)"
    ),
    bounds=(1.0, 1.3),
)


@dataclass(frozen=True)
class _Passes:
    """Passes of one request of a warp, and the words that it has in each line that it touches."""

    passes: float
    words_per_line: float


def atomic_demand(
    instructions: Table[Instructions], entries: Sequence[GlobalAccess], device: Device
) -> Table[AtomicDemand]:
    """The demand of the atomic accesses of each statement to global memory on L2."""
    demands: dict[int, AtomicDemand] = {}
    for entry in entries:
        if entry.access.mode == "atomic" and entry.access.route != "tma":
            demand = _demand(entry, instructions[entry.node].mapping, device)
            if demand is not None:
                before = demands.get(entry.node.number, NO_ATOMICS)
                demands[entry.node.number] = before.plus(demand)
    return Table(demands.get(number, NO_ATOMICS) for number in range(len(instructions)))


def _demand(entry: GlobalAccess, mapping: ThreadMapping, device: Device) -> AtomicDemand | None:
    """The demand of one access; None where nothing is known of its addresses."""
    node, access = entry.node, entry.access
    number = next(i for i, one in enumerate(node.count.accesses) if one.access is access)
    updates = node.count.accesses[number].elements
    if not updates:
        return None
    size = dtype_bytes(entry.buffer.dtype)
    form = atomic_form(node, access, entry.buffer.dtype, "global", device.arch)
    request = _request(node, number, mapping)
    is_known = request is not None and not entry.has_data_offset
    if request is not None and is_known:
        found = _known_passes(request, size, form)
        words = entry.compulsory_bytes / max(size, BANK_BYTES)
        lines = words / found.words_per_line
        warps = updates / request.elements_per_warp
        lines = min(lines, math.ceil(entry.array_bytes / LINE_BYTES)) if lines > 1 else 1.0
    elif math.isfinite(entry.array_bytes):
        words = max(entry.array_bytes / max(size, BANK_BYTES), 1.0)
        found = _expected_passes(node.lanes, words, form)
        lines = max(entry.array_bytes / LINE_BYTES, 1.0)
        warps = updates / node.lanes
    else:
        return None
    passes = warps * found.passes
    return AtomicDemand(
        passes=passes,
        line_passes=passes / max(lines, 1.0),
        updates=float(updates),
        is_expected=not is_known,
    )


def _known_passes(request: MemoryRequest, size: float, form: AtomicForm) -> _Passes:
    """The passes of a request whose addresses are known."""
    starts = tuple(math.floor(start * size) // BANK_BYTES for start in request.lane_offsets)
    words = max(math.ceil(max(request.vector, 1) * size / BANK_BYTES), 1)
    if form == "combined":
        return _Passes(1.0, 1.0)
    return _passes_of_words(starts, words, form == "loop")


@lru_cache(maxsize=512)
def _passes_of_words(starts: tuple[int, ...], words: int, is_loop: bool) -> _Passes:
    lanes = Counter(start + word for start in starts for word in range(words))
    in_sector: dict[int, int] = {}
    for word, times in lanes.items():
        # Of the lanes that compare and swap a word, one succeeds in each attempt of all others.
        rounds = times * (times + 1) // 2 if is_loop else times
        sector = word * BANK_BYTES // SECTOR_BYTES
        in_sector[sector] = max(in_sector.get(sector, 0), rounds)
    lines = {word * BANK_BYTES // LINE_BYTES for word in lanes}
    return _Passes(float(sum(in_sector.values())), len(lanes) / len(lines))


def _expected_passes(lanes: float, words: float, form: AtomicForm) -> _Passes:
    """The passes of a request with addresses that are spread at random over an array."""
    sectors = max(words * BANK_BYTES / SECTOR_BYTES, 1.0)
    touched = sectors * (1 - (1 - 1 / sectors) ** lanes) if sectors > 1 else 1.0
    most = expected_largest_load(lanes / touched, min(words, SECTOR_BYTES / BANK_BYTES))
    rounds = most * (most + 1) / 2 if form == "loop" else most
    return _Passes(touched * rounds, min(words, LINE_BYTES / BANK_BYTES))


def expected_largest_load(balls: float, bins: float) -> float:
    """The expected number of balls in the fullest of some bins into which they are thrown.

    Source: M. Raab, A. Steger, "Balls into Bins: A Simple and Tight Analysis", RANDOM 1998.
    """
    mean = balls / max(bins, 1.0)
    largest = mean + math.sqrt(2 * mean * math.log(max(bins, 1.0)))
    return min(max(largest, 1.0), max(balls, 1.0))


def shared_wavefronts(leaf: Leaf, number: int, mapping: ThreadMapping, arch: str) -> float | None:
    """Wavefronts of a warp's update of shared memory; None where they are those of a load.

    Each lane of a bank has its own wavefront, unlike in a load; of an increment each word has, so
    that data which few addresses occur in takes fewer than random data.  An update by
    compare-and-swap is two instructions in each attempt.
    """
    entry = leaf.count.accesses[number]
    form = atomic_form(leaf, entry.access, entry.buffer.dtype, entry.buffer.scope, arch)
    if form == "combined":
        return 1.0
    request = _request(leaf, number, mapping)
    if request is None:
        words = _array_elements(entry)
        if words is None or form == "increment":
            return None
        most = expected_largest_load(leaf.lanes, min(words, BANKS))
    else:
        size = dtype_bytes(entry.buffer.dtype)
        lanes = [math.floor(start * size) // BANK_BYTES for start in request.lane_offsets]
        banks = Counter(word % BANKS for word in (set(lanes) if form == "increment" else lanes))
        most = float(max(banks.values(), default=1))
    return most * (most + 1) if form == "loop" else most


def update_clocks(leaf: Leaf, mapping: ThreadMapping, device: Device, memory: MemoryState) -> float:
    """Clocks for which one execution of an atomic update waits.

    A loop of compare-and-swap waits for its load and for its swap in each attempt, and the lanes
    that update one word need as many attempts, one after the other; in shared memory so do all
    threads of the block.
    """
    sm = device.microarchitecture
    updated = [entry for entry in leaf.count.accesses if entry.access.mode == "atomic"]
    is_shared = updated and all(entry.buffer.scope != "global" for entry in updated)
    clocks = sm.shared_clk if is_shared else sm.atomic_clk
    for number, entry in enumerate(leaf.count.accesses):
        if entry.access.mode != "atomic":
            continue
        scope = entry.buffer.scope
        if atomic_form(leaf, entry.access, entry.buffer.dtype, scope, device.arch) != "loop":
            continue
        attempts = _attempts(leaf, number, mapping)
        attempt_clocks = memory.l2_latency_s * device.clock_hz + sm.atomic_clk
        if scope != "global":
            elements = _array_elements(entry)
            attempts = max(attempts, leaf.threads / elements if elements else 1.0)
            attempt_clocks = 2 * sm.shared_clk + sm.dependent_clk
        repeats = mapping.repeats if leaf.source.per == "block" else 1.0
        clocks = max(clocks, attempts * attempt_clocks * repeats)
    return clocks


def _attempts(leaf: Leaf, number: int, mapping: ThreadMapping) -> float:
    """The lanes of a warp that update the same word."""
    request, entry = _request(leaf, number, mapping), leaf.count.accesses[number]
    if request is None:
        words = _array_elements(entry)
        return 1.0 if words is None else expected_largest_load(leaf.lanes, words)
    size = dtype_bytes(entry.buffer.dtype)
    words = Counter(math.floor(start * size) // BANK_BYTES for start in request.lane_offsets)
    return float(max(words.values(), default=1))


def _request(leaf: Leaf, number: int, mapping: ThreadMapping) -> MemoryRequest | None:
    """The request of an access; None where the lanes have addresses that depend on data."""
    requests = mapping.requests
    if number >= len(requests) or _has_data_of_lanes(leaf, leaf.count.accesses[number].access):
        return None
    return requests[number]


def _has_data_of_lanes(leaf: Leaf, access: Access) -> bool:
    """Whether the index of an access has a load that may differ between lanes."""
    context = leaf.context
    lanes = {loop.var for loop in context.loops if loop.kind in CONCURRENT_KINDS}
    return any(
        not lanes.isdisjoint(free_variables(load))
        for index in access.indices
        for load in loads_of(context.resolve(index))
    )


def _array_elements(entry: AccessCount) -> float | None:
    """The elements of an array; None where its size is not known."""
    shape = entry.buffer.shape
    known = [size for size in shape if isinstance(size, int)]
    return float(math.prod(known)) if len(known) == len(shape) else None


def note_expected_contention(
    leaves: Iterable[Leaf], atomics: Table[AtomicDemand], device: Device
) -> tuple[CaveatNote, ...]:
    """A caveat for each atomic update at addresses that depend on data."""
    notes: dict[CaveatNote, None] = {}
    for leaf in leaves:
        if atomics[leaf].is_expected:
            most_s = atomics[leaf].updates * ATOMIC_PASS_CLOCKS / device.clock_hz
            message = (
                "atomic updates at addresses that depend on data: taken to be spread over the "
                f"array at random; all at one address take {most_s:.2g} s"
            )
            sites = leaf.source.sites
            notes[CaveatNote(message, sites[0] if sites else None)] = None
    return tuple(notes)
