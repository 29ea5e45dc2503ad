"""Whether a kernel with assumed arguments fits the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Tuple

from ..facts import KernelFacts
from ..frameworks.symbolic.evaluation import evaluate
from ..program import fake_gpu
from ..program.document import Document
from . import assumed_values
from .extraction import traced_facts
from .plausible_work import accesses_arrays, work_time_s
from .shared_memory import shared_bytes

#: Of the device's memory. Tests and benchmarks of libraries allocate several arrays beside these.
USUAL_SHARE = 1 / 8
# Of the work alone: the launch of a kernel takes longer than the least.
_SHORTEST_S, LONGEST_S = 2e-8, 0.05


@dataclass(frozen=True)
class Fit:
    """How a kernel fits the device; what is not understood fits.

    `is_launchable`: it has blocks, and one fits the shared memory.  `is_large`: its arrays take an
    unusual share of the memory, or its work more time than kernels of programs take.  `is_small`:
    it has less work than they have.
    """

    is_launchable: bool = True
    is_large: bool = False
    is_small: bool = False


def fit(function: Any, document: Document, hints: Mapping[str, Tuple[str, ...]]) -> Fit:
    """How `function` fits the device; dynamic dimensions have sizes of `hints` or their names."""
    try:
        facts = traced_facts(function, document)
        names = [item.name for item in facts.variables]
        found = {name: assumed_values.size(name, hints, names) for name in names}
        sizes = {name: size for name, size in found.items() if size is not None}
        time_s = work_time_s(facts, sizes)
    except Exception:
        return Fit(is_large=_has_large_arrays(function))
    # A larger size gives a single block more work, and no other SM any.
    sms = fake_gpu.current().sm_count if _has_one_block(facts, sizes) else 1
    return Fit(
        _is_launchable(function, facts),
        time_s > LONGEST_S or _has_large_arrays(function),
        time_s * sms < _SHORTEST_S,
    )


def _has_one_block(facts: KernelFacts, sizes: Mapping[str, int]) -> bool:
    """Whether the grid is a single block; `sizes` are those of dynamic dimensions."""
    known = {**facts.sizes, **sizes}
    return bool(facts.launch.grid) and all(
        evaluate(extent, known.get) == 1 for extent in facts.launch.grid
    )


def is_launchable(function: Any, document: Document) -> bool:
    """Whether the device can launch `function`; true if its IR is not understood."""
    try:
        return _is_launchable(function, traced_facts(function, document))
    except Exception:
        return True


def does_something(function: Any, document: Document) -> bool:
    """Whether `function` has blocks that access arrays; true if its IR is not understood."""
    from ..frameworks.passes import launch_check

    try:
        if not launch_check.has_blocks(function):
            return False
        return accesses_arrays(traced_facts(function, document))
    except Exception:
        return True


def _is_launchable(function: Any, facts: KernelFacts) -> bool:
    from ..frameworks.passes import launch_check

    fits = shared_bytes(facts) <= fake_gpu.current().shared_per_block_bytes
    return fits and launch_check.has_work(function)


def _has_large_arrays(function: Any) -> bool:
    from ..frameworks.passes import launch_check

    try:
        arrays_bytes = launch_check.array_bytes(function)
        return arrays_bytes > fake_gpu.current().memory_bytes * USUAL_SHARE
    except Exception:
        return False
