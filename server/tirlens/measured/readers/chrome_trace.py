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
from typing import Any, cast

from tirlens.measured.reading.event_spool import EventSpool
from tirlens.measured.reading.event_values import integer_of, name_of, text_of, times_ns, triple_of
from tirlens.measured.reading.json_window import JsonWindow, MalformedValueError
from tirlens.measured.reading.numbers import shortened_repr
from tirlens.measured.reading.spooled_records import (
    host_operation_of,
    kept_details,
    operation_of,
    signpost_of,
)
from tirlens.measured.reading.trace_file import TraceError, TraceFile
from tirlens.measured.records import (
    MeasuredDevice,
    OperationKind,
    Position,
    Problem,
    Record,
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
_MOST_CATEGORIES = 20


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
                (section.start_ns, 0, section.event, signpost_of(section, path, origin_ns))
                for section in spool.sections()
            )
            if reading.has_device_work:
                operations = (
                    (work.start_ns, 1, work.event, operation_of(work, path, origin_ns))
                    for work in spool.work()
                )
            else:
                operations = (
                    (host.start_ns, 1, host.event, host_operation_of(host, path, origin_ns))
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
            yield self._problem(
                f"{count} events of the category {shortened_repr(category)} are not read"
            )
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
            name = text_of(properties.get("name"))
            yield MeasuredDevice(
                device,
                name or None,
                architecture=_architecture(name, properties),
                cores=integer_of(properties.get("numSms")),
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
            start_ns, time_ns = times_ns(event)
            external = integer_of(arguments.get("External id"))
            row = (self._event, name_of(event), start_ns, start_ns + time_ns, external)
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
        start_ns, time_ns = times_ns(event)
        name = name_of(event)
        device = arguments.get("device", arguments.get("device_id"))
        stream = arguments.get("stream", event.get("tid"))
        self._spool.add(
            "work",
            self._event,
            "collective" if name.lower().startswith(_COLLECTIVES) else kind,
            name,
            start_ns,
            time_ns,
            None if device is None else text_of(device),
            None if stream is None else text_of(stream),
            integer_of(arguments.get("correlation", arguments.get("correlation_id"))),
            integer_of(arguments.get("External id")),
            json.dumps(kept_details(arguments)),
        )
        self.has_device_work = True

    def _add_host(self, event: dict[str, Any], arguments: dict[str, Any], is_section: bool) -> None:
        start_ns, time_ns = times_ns(event)
        dimensions = arguments.get("Input Dims")
        self._spool.add(
            "host",
            self._event,
            name_of(event),
            start_ns,
            time_ns,
            f"{text_of(event.get('pid'))}/{text_of(event.get('tid'))}",
            integer_of(arguments.get("External id")),
            json.dumps([dimensions, arguments.get("Input type")]) if dimensions else "",
            is_section,
        )
        self._has_host_operations |= not is_section

    def _add_launch(self, event: dict[str, Any], arguments: dict[str, Any]) -> None:
        correlation = integer_of(arguments.get("correlation"))
        if correlation is None:
            return
        start_ns, time_ns = times_ns(event)
        name = name_of(event)
        details = kept_details(arguments)
        grid, block = triple_of(details.get("grid")), triple_of(details.get("block"))
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
            integer_of(arguments.get("External id")),
            json.dumps(details) if grid else None,
        )


def _objects(value: Any) -> list[dict[str, Any]]:
    values = cast(list[Any], value) if isinstance(value, list) else []
    return [cast(dict[str, Any], each) for each in values if isinstance(each, dict)]


def _architecture(name: str, properties: dict[str, Any]) -> str | None:
    """The compute capability of NVIDIA's; those of other vendors have no such number."""
    major, minor = (
        integer_of(properties.get("computeMajor")),
        integer_of(properties.get("computeMinor")),
    )
    if major is None or minor is None or name.startswith(("AMD", "Intel")):
        return None
    return f"sm_{major}{minor}"


READER = ChromeTrace()
