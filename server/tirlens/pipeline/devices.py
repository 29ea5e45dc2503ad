"""Which device a kernel is modelled on, and who chose it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tirlens.hardware import DEFAULT_DEVICE, Device, DeviceError, for_target, load
from tirlens.hardware.detect import machine_device
from tirlens.pipeline.options import Options
from tirlens.source.kernel import KernelSource
from tirlens_worker.facts import KernelFacts, Span
from tirlens_worker.protocol import Problem


@dataclass(frozen=True)
class Choice:
    """The device, who chose it, and what was wrong with nearer choices.

    `source` is ``directive``, ``project``, ``option``, ``target``, ``machine`` or ``default``.
    """

    device: Device
    source: str
    problems: tuple[Problem, ...] = ()


def choose(kernel: KernelSource | None, facts: KernelFacts | None, options: Options) -> Choice:
    """The device of a kernel: directive, project, option, the kernel's target, machine, default."""
    problems: list[Problem] = []
    for name, source, span in _named(kernel, options):
        try:
            return Choice(load(name), source, tuple(problems))
        except DeviceError as error:
            kind = "directive" if source == "directive" else "device"
            problems.append(Problem(kind, str(error), span, kernel.name if kernel else None))
    if facts is not None and facts.target:
        device = for_target(facts.target)
        if device is not None:
            return Choice(device, "target", tuple(problems))
    found = machine_device()
    if found is not None:
        return Choice(found, "machine", tuple(problems))
    return Choice(load(DEFAULT_DEVICE), "default", tuple(problems))


def _named(kernel: KernelSource | None, options: Options) -> Iterator[tuple[str, str, Span | None]]:
    if options.force_device and options.device:
        yield options.device, "option", None
    directive = kernel.device if kernel else None
    if directive is not None and directive.device:
        yield directive.device, "directive", directive.span
    if options.project.device:
        yield options.project.device, "project", None
    if options.device:
        yield options.device, "option", None
