"""Kernels that a device cannot run, because its instructions are not those of the source."""

from __future__ import annotations

from collections.abc import Iterable

from tirlens.hardware.gpu_features import describe_requirement, missing_features
from tirlens.hardware.spec import Device
from tirlens_worker.facts import Gemm, KernelFacts, Mma

from ..report import CaveatNote


def unmet_requirements(facts: KernelFacts, nodes: Iterable[object], device: Device) -> list[str]:
    """The features that a kernel requires and that `device` lacks.

    Parameters
    ----------
    nodes
        The statements of the kernel, some of which name the family of their matrix instructions.
    """
    instructions = {
        node.instruction: None
        for node in nodes
        if isinstance(node, (Gemm, Mma)) and node.instruction is not None
    }
    wanted = dict.fromkeys((*(item.feature for item in facts.requires), *instructions))
    return list(missing_features(wanted, device.arch))


def refuse(features: Iterable[str], device: Device) -> str:
    """The reason why a kernel with these requirements has no time on `device`."""
    needs = ", ".join(map(describe_requirement, features))
    return f"it needs {needs}, which {device.id} ({device.arch}) does not have"


def requirement_notes(
    facts: KernelFacts, features: Iterable[str], device: Device
) -> tuple[CaveatNote, ...]:
    """A caveat at the first statement that requires each of the features that `device` lacks."""
    lacks = set(features)
    return tuple(
        CaveatNote(
            f"{device.arch} has no {describe_requirement(item.feature)}: "
            "the statement does not compile for this device",
            item.span,
        )
        for item in facts.requires
        if item.feature in lacks and item.span is not None
    )
