"""Operations and sections of a Chrome trace as records, from what its events left in the spool."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, cast

from tirlens.measured.reading.event_spool import HostOperation, Section, Work
from tirlens.measured.reading.event_values import (
    integer_of,
    sizes_of,
    text_of,
    triple_of,
    word_of,
)
from tirlens.measured.records import Operation, OperationKind, Position, Signpost, Tensor

# Arguments of kernels and copies that operations keep as words.
_ATTRIBUTES = (
    "Collective name",
    "dtype",
    "In msg nelems",
    "Out msg nelems",
    "Group size",
    "Process Group Name",
    "est. achieved occupancy %",
    "hlo_module",
    "hlo_op",
    "call_stack",
)
_JAX_DETAILS = re.compile(
    r"regs:(?P<registers>\d+) static_shared:(?P<static>\d+) dynamic_shared:(?P<dynamic>\d+) "
    r"grid:(?P<grid>[\d,]+) block:(?P<block>[\d,]+)"
)


def kept_details(arguments: dict[str, Any]) -> dict[str, Any]:
    """What operations keep of the arguments of a kernel, a copy or a launch."""
    details = {
        "grid": arguments.get("grid"),
        "block": arguments.get("block"),
        "registers": arguments.get("registers per thread"),
        "shared": arguments.get("shared memory"),
        "bytes": arguments.get("bytes"),
        "attributes": {name: word_of(arguments[name]) for name in _ATTRIBUTES if name in arguments},
    }
    found = _JAX_DETAILS.match(text_of(arguments.get("kernel_details", "")))
    if found:
        details["grid"] = found["grid"].split(",")
        details["block"] = found["block"].split(",")
        details["registers"] = found["registers"]
        details["shared"] = (integer_of(found["static"]) or 0) + (integer_of(found["dynamic"]) or 0)
    return {name: value for name, value in details.items() if value not in (None, {}, [])}


def signpost_of(section: Section, path: str, origin_ns: int) -> Signpost:
    """A section of the trace."""
    return Signpost(
        section.name,
        Position(path, section.event),
        start_s=(section.start_ns - origin_ns) * 1e-9,
        end_s=(section.end_ns - origin_ns) * 1e-9,
    )


def operation_of(work: Work, path: str, origin_ns: int) -> Operation:
    """What a device executed, with its launch and the operation on the host around that."""
    details = _details_of(work.details)
    launch = _details_of(work.launch_details or "{}")
    attributes = dict(details.get("attributes", {}))
    if work.host_name is not None:
        attributes["operator"] = work.host_name
    if work.launch_name is not None:
        attributes["launch"] = work.launch_name
    is_graph = work.launch_name is not None and "GraphLaunch" in work.launch_name
    size = integer_of(details.get("bytes"))
    is_kernel = work.kind != "copy"
    return Operation(
        work.name,
        Position(path, work.event),
        kind=cast(OperationKind, work.kind),
        device=work.device,
        stream=work.stream,
        start_s=(work.start_ns - origin_ns) * 1e-9,
        launched_s=_seconds(work.launch_start_ns, origin_ns),
        graph_launch=str(work.correlation) if is_graph else None,
        time_s=work.time_ns * 1e-9,
        host_time_s=(
            None
            if work.launch_time_ns is None
            else work.launch_time_ns * 1e-9 / work.launched_operations
        ),
        grid=triple_of(details.get("grid", launch.get("grid"))),
        block=triple_of(details.get("block", launch.get("block"))),
        shared_bytes=integer_of(details.get("shared", launch.get("shared"))) if is_kernel else None,
        registers=integer_of(details.get("registers")),
        inputs=_tensors(work.host_arguments or ""),
        attributes=attributes,
        counters={} if size is None else {"bytes": float(size)},
    )


def host_operation_of(host: HostOperation, path: str, origin_ns: int) -> Operation:
    """What the host executed, without the operations that it calls."""
    return Operation(
        host.name,
        Position(path, host.event),
        kind="host",
        stream=host.thread,
        start_s=(host.start_ns - origin_ns) * 1e-9,
        host_time_s=host.own_ns * 1e-9,
        inputs=_tensors(host.arguments),
        counters={"time_s with the operations that it calls": host.time_ns * 1e-9},
    )


def _seconds(time_ns: int | None, origin_ns: int) -> float | None:
    return None if time_ns is None else (time_ns - origin_ns) * 1e-9


@lru_cache(4096)
def _details_of(details: str) -> dict[str, Any]:
    return json.loads(details)


@lru_cache(4096)
def _tensors(arguments: str) -> tuple[Tensor, ...]:
    """The tensors among the arguments of an operation: those that have a shape or a type of one."""
    if not arguments:
        return ()
    shapes, types = json.loads(arguments)
    if not isinstance(shapes, list):
        return ()
    types = cast(list[Any], types) if isinstance(types, list) else []
    tensors: list[Tensor] = []
    for number, shape in enumerate(cast(list[Any], shapes)):
        dtype = text_of(types[number]) if number < len(types) else ""
        # A list of tensors has the shapes of all.
        nested = cast(list[Any], shape) if isinstance(shape, list) else []
        is_list = any(isinstance(size, list) for size in nested)
        for each in nested if is_list else [nested]:
            sizes = sizes_of(each)
            if sizes:
                tensors.append(Tensor(sizes, dtype=None if is_list else dtype or None))
    return tuple(tensors)
