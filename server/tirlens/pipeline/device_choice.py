"""The choice of the device that a kernel is modelled on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tirlens.hardware import DEFAULT_CPU, DEFAULT_DEVICE, Device, DeviceError, for_target, load
from tirlens.hardware.detect import machine_device
from tirlens.hardware.gpu_features import device_with, missing_features
from tirlens.hardware.targets import missing_kind
from tirlens.pipeline.options import Options
from tirlens.pipeline.versions import Schedule, schedule_of
from tirlens.source.source_file import KernelSource
from tirlens_worker.facts import Branch, KernelFacts, Loop, Node, Span
from tirlens_worker.protocol import Problem

_NO_GPU_KERNEL = "T.parallel distributes a loop over the cores of a CPU: this is no kernel of a GPU"


@dataclass(frozen=True)
class DeviceChoice:
    """A device, and where the choice was made.

    Attributes
    ----------
    source
        ``directive``, ``project``, ``option``, ``target``, ``schedule``, ``instructions``,
        ``machine`` or ``default``.
    problems
        What is wrong with choices that would have taken precedence.
    fidelity_source
        Who chose the math fidelity of the device: ``directive``, ``project``, ``option`` or
        ``default``.
    """

    device: Device
    source: str
    problems: tuple[Problem, ...] = ()
    fidelity_source: str = "default"


def choose_devices(
    kernels: Sequence[KernelFacts],
    source_of: Callable[[KernelFacts], KernelSource | None],
    options: Options,
) -> tuple[DeviceChoice, ...]:
    """Choose the device of each of the kernels of a text.

    As in `choose_device`; where nothing names a device, the kernels of a text are on one that has
    the instructions of all, and the versions of a schedule for a CPU on a CPU.
    """
    kernels = _with_targets_of_schedules(kernels)
    on_cpu = _cpu_schedules(kernels)
    features = frozenset(item.feature for facts in kernels for item in facts.requires)
    return tuple(
        _choose(source_of(facts), facts, options, position in on_cpu, features)
        for position, facts in enumerate(kernels)
    )


def choose_device(
    kernel: KernelSource | None, facts: KernelFacts | None, options: Options
) -> DeviceChoice:
    """Choose the device of a kernel.

    In order of precedence: directive, project, option, the kernel's own target, a CPU for the
    schedule of one, a GPU of this machine, the default device. A forced option comes first. In
    place of the last two it is one that has the kernel's instructions.
    """
    if facts is None:
        return _choose(kernel, None, options, False, frozenset())
    features = frozenset(item.feature for item in facts.requires)
    return _choose(kernel, facts, options, _has_cpu_loops(facts), features)


def _has_cpu_loops(facts: KernelFacts) -> bool:
    """Whether loops of a kernel are distributed over the cores of a CPU."""
    return _is_without_threads(facts) and _has_parallel_loop(facts.body)


def _cpu_schedules(kernels: Sequence[KernelFacts]) -> frozenset[int]:
    """The positions of kernels that are, or become, schedules for a CPU.

    The versions of a schedule are compared on one device: all are of the CPU where one has parallel
    loops and none has threads. So is what else the text builds where nothing of it has threads.
    """
    parallel = frozenset(i for i, facts in enumerate(kernels) if _has_cpu_loops(facts))
    built = [i for i, facts in enumerate(kernels) if facts.built is not None]
    groups: dict[Schedule, list[int]] = defaultdict(list)
    for i in built:
        groups[schedule_of(kernels[i])].append(i)
    found = set(parallel)
    for group in (built, *groups.values()):
        if all(_is_without_threads(kernels[i]) for i in group) and not parallel.isdisjoint(group):
            found.update(group)
    return frozenset(found)


def _with_targets_of_schedules(kernels: Sequence[KernelFacts]) -> list[KernelFacts]:
    """The kernels, each version of a schedule that gets threads with the target of those versions.

    Before it has threads, it may look like the other kernels of the text, which are for a CPU.
    """
    targets = {
        schedule_of(facts): facts.target
        for facts in kernels
        if facts.built is not None and not _is_without_threads(facts)
    }
    return [
        replace(facts, target=targets.get(schedule_of(facts), facts.target))
        if facts.built is not None and facts.built.sequence is not None
        else facts
        for facts in kernels
    ]


def _is_without_threads(facts: KernelFacts) -> bool:
    return facts.framework != "tilelang" and not (facts.launch.grid or facts.launch.threads)


def _has_parallel_loop(nodes: Iterable[Node]) -> bool:
    for node in nodes:
        if isinstance(node, Branch):
            inner = (*node.then, *node.orelse)
        else:
            inner = getattr(node, "body", ())
        if isinstance(node, Loop) and node.kind == "parallel":
            return True
        if _has_parallel_loop(inner):
            return True
    return False


def _choose(
    kernel: KernelSource | None,
    facts: KernelFacts | None,
    options: Options,
    is_cpu_schedule: bool,
    features: frozenset[str],
) -> DeviceChoice:
    """Choose a device; `features` are those that the kernels of the text require."""
    choice = _find_choice(kernel, facts, options, is_cpu_schedule, features)
    choice = _at_fidelity(choice, kernel, options)
    if facts is not None and choice.device.kind == "gpu" and _has_cpu_loops(facts):
        return _with_caveat(choice, _NO_GPU_KERNEL)
    return choice


def _at_fidelity(
    choice: DeviceChoice, kernel: KernelSource | None, options: Options
) -> DeviceChoice:
    """The choice with the math fidelity that a directive, the project or an option names."""
    named = (
        (kernel.math_fidelity if kernel else None, "directive"),
        (options.project.math_fidelity, "project"),
        (options.math_fidelity, "option"),
    )
    for fidelity, source in named:
        if fidelity is not None:
            device = choice.device.with_fidelity(fidelity)
            return replace(choice, device=device, fidelity_source=source)
    return choice


def _with_caveat(choice: DeviceChoice, text: str) -> DeviceChoice:
    device = replace(choice.device, caveats=(*choice.device.caveats, text))
    return replace(choice, device=device)


def _find_choice(
    kernel: KernelSource | None,
    facts: KernelFacts | None,
    options: Options,
    is_cpu_schedule: bool,
    features: frozenset[str],
) -> DeviceChoice:
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
    if is_cpu_schedule and not (facts is not None and facts.target):
        return DeviceChoice(load(DEFAULT_CPU), "schedule", tuple(problems))
    device = machine_device()
    source = "default" if device is None else "machine"
    device = device or load(DEFAULT_DEVICE)
    if missing_features(features, device.arch) and device.kind == "gpu":
        name = device_with(features)
        if name is not None:
            return DeviceChoice(load(name), "instructions", tuple(problems))
    choice = DeviceChoice(device, source, tuple(problems))
    note = missing_kind(facts.target, device) if facts is not None else None
    return choice if note is None else _with_caveat(choice, note)


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
