"""The choice of the device that a kernel is modelled on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tirlens.hardware import DEFAULT_DEVICE, Device, DeviceError, for_target, load
from tirlens.hardware.detect import machine_device
from tirlens.pipeline.options import Options
from tirlens.source.source_file import KernelSource
from tirlens_worker.facts import KernelFacts, Span
from tirlens_worker.protocol import Problem


@dataclass(frozen=True)
class DeviceChoice:
    """A device, and where the choice was made.

    Attributes
    ----------
    source
        ``directive``, ``project``, ``option``, ``target``, ``machine`` or ``default``.
    problems
        What is wrong with choices that would have taken precedence.
    """

    device: Device
    source: str
    problems: tuple[Problem, ...] = ()


def choose_device(
    kernel: KernelSource | None, facts: KernelFacts | None, options: Options
) -> DeviceChoice:
    """Choose the device of a kernel.

    In order of precedence: directive, project, option, the kernel's own target, a GPU of this
    machine, the default device. A forced option comes first.
    """
    problems: list[Problem] = []
    for name, source, span in _named_devices(kernel, options):
        try:
            return DeviceChoice(load(name), source, tuple(problems))
        except DeviceError as error:
            kind = "directive" if source == "directive" else "device"
            problems.append(Problem(kind, str(error), span, kernel.name if kernel else None))
    if facts is not None and facts.target:
        device = for_target(facts.target)
        if device is not None:
            return DeviceChoice(device, "target", tuple(problems))
    device = machine_device()
    if device is not None:
        return DeviceChoice(device, "machine", tuple(problems))
    return DeviceChoice(load(DEFAULT_DEVICE), "default", tuple(problems))


def named_device(kernel: KernelSource | None, options: Options) -> str | None:
    """The id of the device that a directive, the project or an option names for a kernel.

    None if none of them does: what is chosen then depends on the kernel's target, which is known
    after its analysis.
    """
    for name, _, _ in _named_devices(kernel, options):
        try:
            return load(name).id
        except DeviceError:
            continue
    return None


def _named_devices(
    kernel: KernelSource | None, options: Options
) -> Iterator[tuple[str, str, Span | None]]:
    if options.force_device and options.device:
        yield options.device, "option", None
    directive = kernel.device if kernel else None
    if directive is not None and directive.device:
        yield directive.device, "directive", directive.span
    if options.project.device:
        yield options.project.device, "project", None
    if options.device:
        yield options.device, "option", None
