"""Captured launches with their predicted times, one after the other as one stream runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tirlens.captured.order import LaunchOrder, OrderedLaunch
from tirlens.measured.records import Operation, Position
from tirlens.model.report import KernelReport

#: Launches of a timeline; a capture with more has none.
MOST_LAUNCHES = 1_000_000


def ordered_operations(
    order: LaunchOrder,
    kernel_of: Callable[[OrderedLaunch], KernelReport | None],
    process: str,
    path: str,
) -> Iterator[tuple[Operation, float | None]]:
    """The launches of a process, each with the least time that it can take.

    The gap before a launch is its launch cost of the model: the time from one kernel to the next of
    a graph, or of a stream whose host is ahead.  It is not known behind an operation of another
    library or a kernel without a time; these have none themselves.

    Parameters
    ----------
    order
        The launches.
    kernel_of
        The report of a launch; None where there is none.
    process
        What tells the device of this process from those of others; empty for the only one.
    path
        The capture file.
    """
    bases = {
        launch: _operation(launch, kernel_of(launch), process, path) for launch in order.launches
    }
    made: dict[tuple[OrderedLaunch, int, bool], Operation] = {}
    replays, is_known = 0, True
    for launch in order:
        base, reachable_s = bases[launch]
        replays += launch.graph == "begin"
        key = (launch, replays % 2, is_known)
        operation = made.get(key)
        if operation is None:
            operation = made[key] = replace(
                base,
                gap_s=base.gap_s if is_known else None,
                # Replays that follow each other have different names.
                graph_launch=str(replays % 2) if launch.graph else None,
            )
        is_known = operation.time_s is not None
        yield operation, reachable_s


def _operation(
    launch: OrderedLaunch, kernel: KernelReport | None, process: str, path: str
) -> tuple[Operation, float | None]:
    """The operation without its graph, and its reachable time."""
    position = Position(path, 1)
    if kernel is None or kernel.time_s is None:
        name = launch.operation or (kernel.definition if kernel else "kernel without a report")
        return Operation(name, position, device=process or None), None
    launch_s = sum(entry.time_s or 0.0 for entry in kernel.loops if entry.kind == "launch")
    time_s = max(kernel.time_s - launch_s, 0.0)
    reachable_s = None if kernel.roofline_time_s is None else min(kernel.roofline_time_s, time_s)
    device = ", ".join(filter(None, (kernel.device_id, process)))
    return (
        Operation(kernel.definition, position, device=device, time_s=time_s, gap_s=launch_s),
        reachable_s,
    )
