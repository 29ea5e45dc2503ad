"""The profile of Triton's Proton: the tree of scopes and kernels in Hatchet's JSON.

Source: triton-lang/triton, ``third_party/proton``: ``TreeData.cpp`` and the viewer.  Metrics
were named ``Time (ns)`` and ``DeviceId`` before Triton 3.2, ``time (ns)`` and ``device_id`` since.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from tirlens.measured.reading.numbers import number_of, seconds_of
from tirlens.measured.reading.trace_file import TraceError, TraceFile
from tirlens.measured.records import MeasuredDevice, Operation, Position, Problem, Record

# A tree is read as a whole, because its scopes are named behind what is inside them.
_LONGEST_BYTES = 64 << 20
_BEGIN = re.compile(r'\s*\[\s*\{\s*"(children|frame|metrics)"\s*:')
_MARKS = ('"frame"', '"metrics"', '"children"')
_FLOP = re.compile(r"flops(\d*)$")
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]")
_KNOWN = {"timens", "count", "deviceid", "devicetype", "bytes"}
# The scope in which Proton computes the metrics of a launch, with the kernel's name behind a colon.
_METADATA_SCOPE = re.compile(r"__proton_launch_metadata(:|$)")


class Proton:
    """One operation for each kernel in each scope: Proton sums its executions.

    ``scope`` of its attributes has the scopes from the outermost on.  A profile has no times of
    begin, and so no signposts.  Kernels by which Proton computes the metrics of a launch are left
    out, as its viewer does.
    """

    format_name = "profile of Triton's Proton (Hatchet JSON)"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether the text begins as an array of trees."""
        head = trace.head_text
        return _BEGIN.match(head) is not None and any(mark in head for mark in _MARKS)

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """The kernels in the order of the tree."""
        path = str(trace.path)
        with trace.binary() as file:
            content = file.read(_LONGEST_BYTES + 1)
        if len(content) > _LONGEST_BYTES:
            raise TraceError(f"{path}: a tree of more than {_LONGEST_BYTES >> 20} MiB is not read")
        try:
            documents = json.loads(
                content.decode(trace.encoding, "replace"), parse_float=str, parse_constant=str
            )
        except RecursionError:
            raise TraceError(f"{path}: the tree is nested too deeply") from None
        except ValueError as error:
            raise TraceError(f"{path}: is no JSON, or is cut off: {error}") from None
        trees = [cast(dict[str, Any], each) for each in _list(documents) if isinstance(each, dict)]
        number = left_out = 0
        for tree in trees:
            if "frame" not in tree and "children" not in tree:
                yield from _devices(tree)
                continue
            for node, scopes in _nodes(tree):
                number += 1
                record = _record(node, scopes, Position(path, number))
                if any(map(_METADATA_SCOPE.match, scopes)):
                    left_out += isinstance(record, Operation)
                elif record is not None:
                    yield record
        if left_out:
            message = f"{left_out} kernels that compute metrics of launches are left out"
            yield Problem(Position(path, number), message)


def _nodes(root: dict[str, Any]) -> Iterator[tuple[dict[str, Any], tuple[str, ...]]]:
    """The nodes of a tree, each before its children, with the names of the scopes around it."""
    open_nodes: list[tuple[dict[str, Any], tuple[str, ...]]] = [(root, ())]
    while open_nodes:
        node, scopes = open_nodes.pop()
        yield node, scopes
        inner = (*scopes, _name(node))
        children = [
            cast(dict[str, Any], child)
            for child in _list(node.get("children"))
            if isinstance(child, dict)
        ]
        open_nodes.extend((child, inner) for child in reversed(children))


def _record(node: dict[str, Any], scopes: tuple[str, ...], position: Position) -> Record | None:
    """The kernel of a node, or None for a scope."""
    metrics = node.get("metrics")
    metrics = cast(dict[str, Any], metrics) if isinstance(metrics, dict) else {}
    by_key = {_NOT_ALPHANUMERIC.sub("", key.lower()): value for key, value in metrics.items()}
    if "timens" not in by_key or not by_key.keys() & {"deviceid", "devicetype"}:
        return None
    try:
        time_s = seconds_of(str(by_key["timens"]), 1e-9)
        executions = _count(by_key.get("count", 1), "count")
        flops = {key: _count(value, key) for key, value in by_key.items() if _FLOP.match(key)}
        size = by_key.get("bytes")
        dram_bytes = None if size is None else _count(size, "bytes")
    except ValueError as error:
        return Problem(position, str(error))
    attributes = {"scope": " > ".join(scopes[1:])}
    attributes |= {key: str(value) for key, value in flops.items()}
    return Operation(
        _name(node),
        position,
        device=_device(by_key.get("devicetype"), by_key.get("deviceid")),
        time_s=time_s,
        executions=max(executions, 1),
        flop=sum(flops.values()) if flops else None,
        dram_bytes=dram_bytes,
        attributes={key: value for key, value in attributes.items() if value},
        counters=_counters(metrics),
    )


def _counters(metrics: dict[str, Any]) -> dict[str, float]:
    """The metrics that the program has added, as far as they are numbers."""
    counters: dict[str, float] = {}
    for name, value in metrics.items():
        key = _NOT_ALPHANUMERIC.sub("", name.lower())
        if key in _KNOWN or _FLOP.match(key) or isinstance(value, bool | dict | list):
            continue
        try:
            counters[_text(name)] = number_of(str(value))
        except ValueError:
            continue
    return counters


def _devices(types: dict[str, Any]) -> Iterator[MeasuredDevice]:
    """The devices by their type and number: ``{"CUDA": {"0": {"arch": "90", "num_sms": 132}}}``."""
    for device_type, devices in types.items():
        if not isinstance(devices, dict):
            continue
        for number, properties in cast(dict[str, Any], devices).items():
            if not isinstance(properties, dict):
                continue
            properties = cast(dict[str, Any], properties)
            architecture = _text(properties.get("arch"))
            is_capability = architecture.isdecimal()
            cores = properties.get("num_sms")
            yield MeasuredDevice(
                _device(device_type, number),
                architecture=f"sm_{architecture}" if is_capability else architecture or None,
                cores=cores if isinstance(cores, int) else None,
            )


def _device(device_type: Any, number: Any) -> str:
    return " ".join(filter(None, (_text(device_type), _text(number))))


def _count(value: Any, name: str) -> int:
    try:
        count = number_of(str(value)[:400])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if count < 0:
        raise ValueError(f"{name}: {str(value)[:40]} is negative: it has overflowed")
    return int(count)


def _name(node: dict[str, Any]) -> str:
    frame = node.get("frame")
    name = cast(dict[str, Any], frame).get("name") if isinstance(frame, dict) else None
    return _text(name) or "(no name)"


def _text(value: Any) -> str:
    """The value as text that can be encoded: JSON may have halves of characters."""
    return "" if value is None else str(value).encode("utf-8", "replace").decode()


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


READER = Proton()
