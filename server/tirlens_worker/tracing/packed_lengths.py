"""Sizes of a batch whose sequences arrays hold one after the other: the longest, the chunks."""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, Mapping, Optional

from ..facts import KernelFacts
from ..frameworks.symbolic.evaluation import evaluate

_LONGEST = re.compile(r"max_?(seq_?)?(len|length)s?(_?(q|k|kv))?|max_?seq(_?(q|k|kv))?")
# Where each sequence begins: one more than there are sequences.
_OFFSETS = re.compile(r"(cu|cum)_?.*(seq|len).*|.*(offset|indptr|starts?)s?(_.*)?")
# The pieces of all sequences, which no piece of two has, and the rows of one.
_CHUNKS = re.compile(r"((n|num|total)_?chunks?|chunks?_(num|count)|nt|total_?nt)(_arg)?")
_CHUNK_ROWS = re.compile(r"bt|chunk(_?(size|len(gth)?|t))?|block_?t")


def chunk_counts(
    facts: KernelFacts, names: Iterable[str], sizes: Mapping[str, int]
) -> Dict[str, int]:
    """The numbers of chunks `names` of a batch whose rows are split evenly.

    None is known where the rows of a chunk or those of all sequences have no size.

    Parameters
    ----------
    facts
        A kernel.
    names
        Variables whose sizes are assumed.
    sizes
        The sizes of all variables, and the arguments of the kernel's call.
    """
    counts = [name for name in names if _CHUNKS.fullmatch(name.lower())]
    of_chunk = {size for name, size in sizes.items() if _CHUNK_ROWS.fullmatch(name.lower())}
    if not counts or len(of_chunk) != 1:
        return {}
    (chunk,) = of_chunk
    found: Dict[str, int] = {}
    for name in counts:
        dimension = _dimension_of(name, facts)
        rows = [size for row, size in _rows(facts, sizes, dimension).items() if row not in counts]
        if max(rows, default=0) >= chunk:
            # In an array of a batch each sequence has its own.
            sequences = 1 if dimension else _sequences(facts, sizes) or 1
            longest = -(-max(rows) // sequences)
            found[name] = sequences * -(-longest // chunk)
    return found


def longest_sequences(
    facts: KernelFacts, names: Iterable[str], sizes: Mapping[str, int]
) -> Dict[str, int]:
    """The lengths `names` of longest sequences, in a batch whose rows are split evenly.

    They are those of a kernel that gets the offsets of its sequences. None is known where no array
    of offsets has a size.

    Parameters
    ----------
    facts
        A kernel.
    names
        Variables whose sizes are assumed.
    sizes
        The sizes of all variables.
    """
    longest = [name for name in names if _LONGEST.fullmatch(name.lower())]
    count = _sequences(facts, sizes) if longest else None
    rows = _rows(facts, sizes)
    if count is None or not rows:
        return {}
    return {name: max(1, -(-_rows_of(name, rows) // count)) for name in longest}


def _sequences(facts: KernelFacts, sizes: Mapping[str, int]) -> Optional[int]:
    for buffer in facts.buffers:
        is_list = buffer.is_parameter and len(buffer.shape) == 1 and "int" in buffer.dtype
        if is_list and _OFFSETS.fullmatch(buffer.name.lower()):
            extent = evaluate(buffer.shape[0], sizes.get)
            if extent is not None and extent > 1:
                return int(extent) - 1
    return None


def _rows(facts: KernelFacts, sizes: Mapping[str, int], dimension: int = 0) -> Dict[str, int]:
    """The sizes of the dimensions of arrays, at an index, that are variables, by name."""
    found: List[str] = []
    for buffer in facts.buffers:
        extent = buffer.shape[dimension] if len(buffer.shape) > dimension + 1 else None
        if buffer.is_parameter and isinstance(extent, str):
            found.append(extent)
    return {name: sizes[name] for name in found if name in sizes}


def _dimension_of(name: str, facts: KernelFacts) -> int:
    """The index of the dimension `name` in the first array that has it."""
    arrays = (buffer.shape for buffer in facts.buffers if buffer.is_parameter)
    return next((shape.index(name) for shape in arrays if name in shape), 0)


def _rows_of(name: str, rows: Mapping[str, int]) -> int:
    """The rows of the queries or of the keys, as the name says, else the most."""
    of_keys = ("k", "kv")
    last = name.lower().rpartition("_")[2]
    same = [
        size
        for row, size in rows.items()
        if last in ("q", *of_keys) and row.lower().endswith(of_keys) == (last in of_keys)
    ]
    return max(same or rows.values())
