"""The Chrome trace of torch's profiler (Kineto on CUDA, ROCm and CPUs), and of Proton and JAX.

Source: PyTorch, ``torch.profiler.profile.export_chrome_trace``; Kineto, ``output_json.cpp``; the
Trace Event Format.  Events come in any order: they are spooled to a temporary file.
"""

from __future__ import annotations

import heapq
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from functools import lru_cache
from typing import Any, cast

from tirlens.measured.reading.event_spool import EventSpool, HostOperation, Section, Work
from tirlens.measured.reading.json_window import JsonWindow, MalformedValueError
from tirlens.measured.reading.numbers import number_of
from tirlens.measured.reading.trace_file import TraceError, TraceFile
from tirlens.measured.records import (
    MeasuredDevice,
    Operation,
    OperationKind,
    Position,
    Problem,
    Record,
    Signpost,
    Tensor,
)

_EVENT_ARRAY = re.compile(r'\s*\[\s*\{[^{}]*"ph"\s*:')
_OBJECT = re.compile(r"\s*\{")
_MEMBERS = ('"traceEvents"', '"schemaVersion"')

# Kineto's categories, and those of PyTorch before 1.12.
_DEVICE_KINDS: dict[str, OperationKind] = {
    "kernel": "kernel",
    "gpu_memcpy": "copy",
    "gpu_memset": "copy",
    "memcpy": "copy",
    "memset": "copy",
}
_HOST_CATEGORIES = {"cpu_op", "operator"}
_LAUNCH_CATEGORY = re.compile(r"(\w+_)?(runtime|driver)")
# Of no time, or of time that is part of other events.
_OTHER_CATEGORIES = {
    "ac2g",
    "async_cpu_to_gpu",
    "cpu_instant_event",
    "cuda_sync",
    "cuda_profiler_range",
    "fwd_bwd",
    "fwdbwd",
    "overhead",
    "python_function",
    "trace",
}
_COLLECTIVES = ("nccl", "rccl", "msccl", "oneccl")
_LONGEST_US = 3.2e13
_LATEST_US = 9e15
_MOST_CATEGORIES = 20
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


class ChromeTrace:
    """What devices executed, joined with its launch and the operation on the host around that.

    Sections come as `Signpost`, with the window that their operations have on the device where the
    trace tells it.  A trace without a device has the operations of the host, each with its time
    without the operations that it calls.
    """

    format_name = "Chrome trace of torch.profiler, Proton or JAX (JSON)"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether the text begins as an object with events, or as an array of events."""
        head = trace.head_text
        if _OBJECT.match(head):
            return any(member in head for member in _MEMBERS)
        return _EVENT_ARRAY.match(head) is not None

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """The records in the order of their begin, in memory that does not grow with the trace."""
        with closing(EventSpool()) as spool:
            reading = _Reading(trace, spool)
            yield from reading.problems()
            spool.finish()
            yield from reading.summary()
            yield from reading.devices()
            origin_ns = spool.origin_ns()
            path = str(trace.path)
            sections = (
                (section.start_ns, 0, section.event, _signpost(section, path, origin_ns))
                for section in spool.sections()
            )
            if reading.has_device_work:
                operations = (
                    (work.start_ns, 1, work.event, _operation(work, path, origin_ns))
                    for work in spool.work()
                )
            else:
                operations = (
                    (host.start_ns, 1, host.event, _host_operation(host, path, origin_ns))
                    for host in spool.host_operations()
                )
            for *_order, record in heapq.merge(sections, operations, key=lambda each: each[:3]):
                yield record


class _Reading:
    """The events of one trace on their way to the spool."""

    def __init__(self, trace: TraceFile, spool: EventSpool) -> None:
        self.has_device_work = False
        self._trace = trace
        self._spool = spool
        self._event = 0
        self._properties: list[dict[str, Any]] = []
        self._has_host_operations = False
        self._unread: Counter[str] = Counter()

    def problems(self) -> Iterator[Problem]:
        """Spool all events; what is wrong with some of them."""
        with self._trace.binary() as file:
            window = JsonWindow(file, self._trace.encoding)
            try:
                yield from self._documents(window)
            except (TraceError, MalformedValueError) as error:
                yield self._problem(f"the trace {error}; events up to here are read")

    def summary(self) -> Iterator[Problem]:
        """What of the trace is not read."""
        for category, count in self._unread.items():
            yield self._problem(f"{count} events of the category {category!r} are not read")
        if not self.has_device_work and not self._has_host_operations:
            yield self._problem(
                f"of {self._event} events, none is a kernel, a copy or an operation of torch, "
                "Proton or JAX on a GPU"
            )

    def devices(self) -> Iterator[MeasuredDevice]:
        """The devices that executed something."""
        properties_of = {str(each.get("id")): each for each in self._properties}
        for device in self._spool.devices():
            properties = properties_of.get(device)
            if properties is None:
                continue
            name = _text(properties.get("name"))
            yield MeasuredDevice(
                device,
                name or None,
                architecture=_architecture(name, properties),
                cores=_integer(properties.get("numSms")),
            )

    def _documents(self, window: JsonWindow) -> Iterator[Problem]:
        """Proton writes a document for each stream, the others one."""
        while character := window.peek():
            if character == "[":
                yield from self._events(window)
                continue
            if character != "{":
                raise TraceError("goes on with what is no JSON")
            for key in window.members():
                if key == "traceEvents" and window.peek() == "[":
                    yield from self._events(window)
                elif key == "deviceProperties":
                    self._properties = _objects(window.value())
                else:
                    window.skip()

    def _events(self, window: JsonWindow) -> Iterator[Problem]:
        for event in window.elements():
            self._event += 1
            if isinstance(event, MalformedValueError):
                yield self._problem(f"the event {event}")
            elif not isinstance(event, dict):
                yield self._problem("the event is no object")
            else:
                try:
                    self._add(cast(dict[str, Any], event))
                except ValueError as error:
                    yield self._problem(str(error))

    def _problem(self, message: str) -> Problem:
        return Problem(Position(str(self._trace.path), max(self._event, 1)), message)

    def _add(self, event: dict[str, Any]) -> None:
        if event.get("ph") != "X":
            return
        category = event.get("cat")
        arguments = event.get("args")
        arguments = cast(dict[str, Any], arguments) if isinstance(arguments, dict) else {}
        if not isinstance(category, str) or not category:
            if "kernel_details" in arguments or "memcpy_details" in arguments:
                kind = "kernel" if "kernel_details" in arguments else "copy"
                self._add_work(event, arguments, kind)
            return
        category = category.lower()
        if category in _DEVICE_KINDS:
            self._add_work(event, arguments, _DEVICE_KINDS[category])
        elif category in _HOST_CATEGORIES or category == "user_annotation":
            self._add_host(event, arguments, category == "user_annotation")
        elif category == "gpu_user_annotation":
            start_ns, time_ns = _times(event)
            external = _integer(arguments.get("External id"))
            row = (self._event, _name(event), start_ns, start_ns + time_ns, external)
            self._spool.add("section", *row)
        elif _LAUNCH_CATEGORY.fullmatch(category):
            self._add_launch(event, arguments)
        elif category not in _OTHER_CATEGORIES and (
            category in self._unread or len(self._unread) < _MOST_CATEGORIES
        ):
            self._unread[category] += 1

    def _add_work(
        self, event: dict[str, Any], arguments: dict[str, Any], kind: OperationKind
    ) -> None:
        start_ns, time_ns = _times(event)
        name = _name(event)
        device = arguments.get("device", arguments.get("device_id"))
        stream = arguments.get("stream", event.get("tid"))
        self._spool.add(
            "work",
            self._event,
            "collective" if name.lower().startswith(_COLLECTIVES) else kind,
            name,
            start_ns,
            time_ns,
            None if device is None else _text(device),
            None if stream is None else _text(stream),
            _integer(arguments.get("correlation", arguments.get("correlation_id"))),
            _integer(arguments.get("External id")),
            json.dumps(_details(arguments)),
        )
        self.has_device_work = True

    def _add_host(self, event: dict[str, Any], arguments: dict[str, Any], is_section: bool) -> None:
        start_ns, time_ns = _times(event)
        dimensions = arguments.get("Input Dims")
        self._spool.add(
            "host",
            self._event,
            _name(event),
            start_ns,
            time_ns,
            f"{_text(event.get('pid'))}/{_text(event.get('tid'))}",
            _integer(arguments.get("External id")),
            json.dumps([dimensions, arguments.get("Input type")]) if dimensions else "",
            is_section,
        )
        self._has_host_operations |= not is_section

    def _add_launch(self, event: dict[str, Any], arguments: dict[str, Any]) -> None:
        correlation = _integer(arguments.get("correlation"))
        if correlation is None:
            return
        start_ns, time_ns = _times(event)
        name = _name(event)
        details = _details(arguments)
        grid, block = _triple(details.get("grid")), _triple(details.get("block"))
        if "Ext" in name and grid and block:
            # The grid of hipExtModuleLaunchKernel is in threads (hip_ext.h).
            details["grid"] = [
                -(-threads // size) for threads, size in zip(grid, block, strict=True)
            ]
        self._spool.add(
            "launch",
            correlation,
            name,
            start_ns,
            time_ns,
            _integer(arguments.get("External id")),
            json.dumps(details) if grid else None,
        )


def _objects(value: Any) -> list[dict[str, Any]]:
    values = cast(list[Any], value) if isinstance(value, list) else []
    return [cast(dict[str, Any], each) for each in values if isinstance(each, dict)]


def _details(arguments: dict[str, Any]) -> dict[str, Any]:
    """What operations keep of the arguments of a kernel, a copy or a launch."""
    details = {
        "grid": arguments.get("grid"),
        "block": arguments.get("block"),
        "registers": arguments.get("registers per thread"),
        "shared": arguments.get("shared memory"),
        "bytes": arguments.get("bytes"),
        "attributes": {name: _word(arguments[name]) for name in _ATTRIBUTES if name in arguments},
    }
    found = _JAX_DETAILS.match(_text(arguments.get("kernel_details", "")))
    if found:
        details["grid"] = found["grid"].split(",")
        details["block"] = found["block"].split(",")
        details["registers"] = found["registers"]
        details["shared"] = (_integer(found["static"]) or 0) + (_integer(found["dynamic"]) or 0)
    return {name: value for name, value in details.items() if value not in (None, {}, [])}


def _signpost(section: Section, path: str, origin_ns: int) -> Signpost:
    return Signpost(
        section.name,
        Position(path, section.event),
        start_s=(section.start_ns - origin_ns) * 1e-9,
        end_s=(section.end_ns - origin_ns) * 1e-9,
    )


def _operation(work: Work, path: str, origin_ns: int) -> Operation:
    details = _details_of(work.details)
    launch = _details_of(work.launch_details or "{}")
    attributes = dict(details.get("attributes", {}))
    if work.host_name is not None:
        attributes["operator"] = work.host_name
    if work.launch_name is not None:
        attributes["launch"] = work.launch_name
    is_graph = work.launch_name is not None and "GraphLaunch" in work.launch_name
    size = _integer(details.get("bytes"))
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
        grid=_triple(details.get("grid", launch.get("grid"))),
        block=_triple(details.get("block", launch.get("block"))),
        shared_bytes=_integer(details.get("shared", launch.get("shared"))) if is_kernel else None,
        registers=_integer(details.get("registers")),
        inputs=_tensors(work.host_arguments or ""),
        attributes=attributes,
        counters={} if size is None else {"bytes": float(size)},
    )


def _host_operation(host: HostOperation, path: str, origin_ns: int) -> Operation:
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
        dtype = _text(types[number]) if number < len(types) else ""
        # A list of tensors has the shapes of all.
        nested = cast(list[Any], shape) if isinstance(shape, list) else []
        is_list = any(isinstance(size, list) for size in nested)
        for each in nested if is_list else [nested]:
            sizes = _sizes(each)
            if sizes:
                tensors.append(Tensor(sizes, dtype=None if is_list else dtype or None))
    return tuple(tensors)


def _sizes(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, list):
        return None
    sizes = [_integer(size) for size in cast(list[Any], value)]
    known = tuple(size for size in sizes if size is not None and size >= 0)
    return known if len(known) == len(sizes) else None


def _triple(value: Any) -> tuple[int, int, int] | None:
    sizes = _sizes(value)
    return sizes if sizes is not None and len(sizes) == 3 and min(sizes) > 0 else None


def _architecture(name: str, properties: dict[str, Any]) -> str | None:
    """The compute capability of NVIDIA's; those of other vendors have no such number."""
    major, minor = (
        _integer(properties.get("computeMajor")),
        _integer(properties.get("computeMinor")),
    )
    if major is None or minor is None or name.startswith(("AMD", "Intel")):
        return None
    return f"sm_{major}{minor}"


def _times(event: dict[str, Any]) -> tuple[int, int]:
    """Begin and duration in nanoseconds.

    Raises
    ------
    ValueError
        One of them is missing, or no time; the text says which.
    """
    start_ns = _nanoseconds(event, "ts", _LATEST_US)
    time_ns = _nanoseconds(event, "dur", _LONGEST_US)
    if time_ns < 0:
        raise ValueError(f"dur: {time_ns} ns is negative")
    return start_ns, time_ns


def _nanoseconds(event: dict[str, Any], key: str, limit_us: float) -> int:
    """A time in microseconds, exact: as a float it would be rounded."""
    value = event.get(key)
    if isinstance(value, str):
        # Numbers with a fraction are text, so that none is rounded.
        whole, _, fraction = value.partition(".")
        if len(whole) < 16 and whole.isdecimal() and fraction.isdecimal():
            whole_us = int(whole)
            if whole_us < limit_us:
                return whole_us * 1000 + int((fraction + "00")[:3])
    elif isinstance(value, int) and abs(value) < limit_us:
        return value * 1000
    if value is None or isinstance(value, list | dict):
        raise ValueError(f"{key}: the event has no such time")
    text = _text(value)[:400].strip()
    if abs(number_of(text)) >= limit_us:
        raise ValueError(f"{key}: {text[:40]} us is no time")
    return int(Decimal(text.replace(",", "")) * 1000)


def _name(event: dict[str, Any]) -> str:
    return _text(event.get("name")) or "(no name)"


def _word(value: Any) -> str:
    return (
        " > ".join(map(_text, cast(list[Any], value))) if isinstance(value, list) else _text(value)
    )


def _text(value: Any) -> str:
    """The value as text that can be encoded: JSON may have halves of characters."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _integer(value: Any) -> int | None:
    """A number without a fraction that fits 63 bits, also as text, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        value = int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else None
    return value if isinstance(value, int) and abs(value) < 1 << 62 else None


READER = ChromeTrace()
