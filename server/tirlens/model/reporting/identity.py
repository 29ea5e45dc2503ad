"""Of which kernel, call and device a report is, and what of it is assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tirlens.hardware.provenance import caveats as device_caveats
from tirlens.hardware.spec import Device
from tirlens_worker.facts import KernelFacts, ModelSizes

from ..report import CaveatNote, Identity


def resolve_sizes(facts: KernelFacts, bindings: Mapping[str, int] | None) -> dict[str, int]:
    """The sizes of the shape variables: as bound, as the call gives them, or as assumed."""
    given = {name: int(value) for name, value in (bindings or {}).items()}
    return {**facts.assumed, **facts.sizes, **given}


def identify(facts: KernelFacts, device: Device, bindings: Mapping[str, int] | None) -> Identity:
    """The kernel, its call with the sizes of `bindings`, and the device."""
    bound = _bound_sizes(facts, bindings)
    guessed = _guessed_sizes(facts, bindings)
    lowered, compiled = facts.lowered_for(device.arch), facts.compiled_for(device.arch)
    is_assembled = device.cpu is not None and facts.assembly_for(device.cpu.processor) is not None
    return Identity(
        name=facts.name,
        definition=facts.definition,
        span=facts.span,
        framework=facts.framework,
        framework_version=facts.framework_version,
        call=facts.call,
        call_source="assumed" if guessed else facts.call_source,
        bindings=bound,
        assumed={
            **facts.assumed_arguments,
            **{name: str(size) for name, size in guessed.items()},
        },
        model=_without_bound(facts.model, bindings or {}),
        device_id=device.id,
        device_name=device.name,
        sm_count=device.sm_count,
        launch_facts="compiled" if compiled or is_assembled else "lowered" if lowered else "source",
        lowered=lowered,
        compiled=compiled,
        lowering_error=facts.refused.get(device.arch, ""),
        built=facts.built,
    )


def identity_notes(
    facts: KernelFacts, device: Device, bindings: Mapping[str, int] | None
) -> tuple[CaveatNote, ...]:
    """The caveats of the facts and of the device, and one that names the assumed sizes."""
    return (
        *(CaveatNote(caveat.message, caveat.span) for caveat in facts.caveats),
        *(CaveatNote(text, facts.span) for text in device_caveats(device)),
        *_assumption_notes(_guessed_sizes(facts, bindings), facts),
    )


def _bound_sizes(facts: KernelFacts, bindings: Mapping[str, int] | None) -> dict[str, int]:
    sizes = resolve_sizes(facts, bindings)
    names = dict.fromkeys((*(item.name for item in facts.variables), *facts.assumed))
    return {name: sizes[name] for name in names if name in sizes}


def _guessed_sizes(facts: KernelFacts, bindings: Mapping[str, int] | None) -> dict[str, int]:
    """The sizes that nothing gives."""
    guessed = set(facts.assumed) - set(facts.sizes) - set(bindings or ())
    bound = _bound_sizes(facts, bindings)
    return {name: size for name, size in bound.items() if name in guessed}


def _without_bound(model: ModelSizes | None, bindings: Mapping[str, int]) -> ModelSizes | None:
    """`model` without the sizes that the user gives; None if none is left."""
    if model is None:
        return None
    values = {name: size for name, size in model.values.items() if name not in bindings}
    return replace(model, values=values) if values else None


def _assumption_notes(sizes: Mapping[str, int], facts: KernelFacts) -> tuple[CaveatNote, ...]:
    if not sizes:
        return ()
    said = ", ".join(f"{name}={size}" for name, size in sizes.items())
    comment = f"a comment '# tirlens: {next(iter(sizes))}=...'"
    return (CaveatNote(f"assumed sizes: {said}; {comment} or --bind sets them", facts.span),)
