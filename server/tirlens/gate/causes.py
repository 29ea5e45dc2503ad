"""What makes the difference between the times of one kernel that two frameworks have lowered.

Each aspect of the lowering and of the compiled code is taken from the side before, with all others
as they are now, and the kernel is evaluated: the difference to its time is what the change of this
aspect costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from tirlens.gate.reasons import Aspect
from tirlens.hardware import Device
from tirlens.model import analyze
from tirlens_worker.facts import CompiledLaunch, KernelFacts, LoweredLaunch, LoweredRoutes

_T = TypeVar("_T", LoweredLaunch, LoweredRoutes, CompiledLaunch)


@dataclass(frozen=True)
class Cause:
    """`effect_s` are the seconds that the change of an aspect adds; below 0 where it saves time."""

    aspect: Aspect
    effect_s: float


class _Fields(NamedTuple):
    """The fields that an aspect consists of: of the lowered and of the compiled launch."""

    lowered: Sequence[str] = ()
    routes: Sequence[str] = ()
    compiled: Sequence[str] = ()


_FIELDS: Mapping[Aspect, _Fields] = {
    "threads": _Fields(lowered=("threads",)),
    "copies": _Fields(lowered=("moves",), routes=("loads",)),
    "products": _Fields(lowered=("matrix_instruction",), routes=("products",)),
    "shared memory": _Fields(("shared_bytes",), ("shared_arrays",), ("static_shared_bytes",)),
    "registers": _Fields(lowered=("registers_per_thread",), compiled=("registers_per_thread",)),
    "spills": _Fields(compiled=("stack_bytes", "spill_bytes", "local_accesses")),
}


def causes(
    before: KernelFacts, now: KernelFacts, device: Device, bindings: Mapping[str, int]
) -> list[Cause]:
    """The aspects whose change has an effect on the time, that with the largest effect first.

    The effects do not add up to the difference of the times where aspects depend on each other.
    """

    def time_s(facts: KernelFacts) -> float | None:
        return analyze(facts, device, bindings, by_line=False).time_s

    now_s = time_s(now)
    if now_s is None:
        return []
    found: list[Cause] = []
    for aspect, restored in _restorations(before, now, device.arch):
        then_s = time_s(restored) if restored != now else now_s
        if then_s is not None and then_s != now_s:
            found.append(Cause(aspect, now_s - then_s))
    return sorted(found, key=lambda cause: -abs(cause.effect_s))


def _restorations(
    before: KernelFacts, now: KernelFacts, arch: str
) -> Iterator[tuple[Aspect, KernelFacts]]:
    """The facts of now with one aspect of before each."""
    framework = {"framework_version": now.framework_version}
    yield "program", replace(before, lowered=now.lowered, compiled=now.compiled, **framework)
    old, new = before.lowered_for(arch), now.lowered_for(arch)
    old_code, new_code = before.compiled_for(arch), now.compiled_for(arch)
    for aspect, fields in _FIELDS.items():
        facts = now
        if old is not None and new is not None:
            facts = replace(facts, lowered=(_with_old_routes(old, new, fields),))
        if old_code is not None and new_code is not None:
            facts = replace(facts, compiled=(_with_fields(old_code, new_code, fields.compiled),))
        yield aspect, facts


def _with_old_routes(old: LoweredLaunch, new: LoweredLaunch, fields: _Fields) -> LoweredLaunch:
    launch = _with_fields(old, new, fields.lowered)
    if old.routes is None or new.routes is None:
        return launch
    return replace(launch, routes=_with_fields(old.routes, new.routes, fields.routes))


def _with_fields(old: _T, new: _T, names: Sequence[str]) -> _T:
    """`new` with the fields `names` of `old`."""
    return replace(new, **{name: getattr(old, name) for name in names})
