"""The thread mappings of the accesses of one array, for what-ifs that change its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tirlens_worker.facts import Buffer

from ...tree.node import Leaf
from ...tree.thread_mapping import MemoryRequest, ThreadMapping
from .thread_mapping import map_to_threads


def map_array_accesses(
    leaves: Sequence[Leaf],
    accumulators: frozenset[str],
    array: Buffer,
    buffers: Mapping[str, Buffer],
    framework: str,
) -> tuple[ThreadMapping, ...]:
    """The mappings of the statements that access `array`, those of equal statements once.

    Parameters
    ----------
    leaves
        The statements of a kernel.
    accumulators
        The tiles with the layout of a matrix instruction's result.
    array
        An array that no product accesses, which may have another shape than in `buffers`.
    buffers, framework
        The arrays of the kernel by id, and the framework of its facts.
    """
    buffers = {**buffers, array.id: array}
    found: dict[object, ThreadMapping] = {}
    for leaf in leaves:
        accesses = leaf.source.accesses
        if not any(access.buffer == array.id for access in accesses):
            continue
        key = id(leaf.context), leaf.source.per, leaf.threads, accesses
        if key not in found:
            found[key] = map_to_threads(
                leaf.source,
                leaf.context,
                buffers,
                leaf.threads,
                accumulators,
                framework=framework,
            )
    return tuple(found.values())


def have_no_more_wavefronts(
    mappings: Sequence[ThreadMapping], others: Sequence[ThreadMapping]
) -> bool:
    """Whether `mappings` equal `others`, but for requests with fewer wavefronts."""
    return all(
        len(one.requests) == len(other.requests)
        and all(map(_has_no_more_wavefronts, one.requests, other.requests))
        and replace(one, requests=()) == replace(other, requests=())
        for one, other in zip(mappings, others, strict=True)
    )


def _has_no_more_wavefronts(one: MemoryRequest | None, other: MemoryRequest | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.wavefronts <= other.wavefronts and one == replace(other, wavefronts=one.wavefronts)
