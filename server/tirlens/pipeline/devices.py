"""Which device a kernel is modelled on, and who chose it."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tirlens.hardware import DEFAULT_DEVICE, Device, DeviceError, catalogue, for_target, load
from tirlens.pipeline.options import Options
from tirlens.source.kernel import KernelSource
from tirlens_worker.facts import KernelFacts, Span
from tirlens_worker.protocol import Problem

_QUERY = ("--query-gpu=name,compute_cap", "--format=csv,noheader")
_QUERY_TIMEOUT_S = 3.0


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


@functools.cache
def machine_device() -> Device | None:
    """The catalogue's entry for the first GPU of this machine, None without one."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return None
    try:
        answer = subprocess.run(
            [command, *_QUERY],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_QUERY_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    name, _, capability = answer.stdout.partition("\n")[0].rpartition(",")
    return named_gpu(name, capability)


def named_gpu(name: str, capability: str) -> Device | None:
    """The device for what a driver says (``NVIDIA H100 PCIe``, ``9.0``).

    The catalogue's id whose words are most of all in the name wins, if its first word is; else
    the architecture decides.
    """
    words = name.lower().replace("-", " ").split()
    best: tuple[int, int, str] | None = None
    for identifier in catalogue():
        parts = identifier.split("-")
        model = [part for part in parts if any(char.isdigit() for char in part)]
        if not model or not set(model) <= set(words):
            continue
        rank = (sum(part in words for part in parts), -len(parts), identifier)
        best = max(best, rank) if best else rank
    if best is not None:
        return load(best[2])
    arch = "sm_" + capability.strip().replace(".", "")
    return for_target({"kind": "cuda", "arch": arch})
