"""The file of captured calls: JSON with a line for each call, in an order that does not vary."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, cast

from tirlens.captured.order import MOST_ORDERS, LaunchOrder, order_json, order_of
from tirlens.captured.sections import SectionLaunches, add_launches
from tirlens.file_reader import FileRefusedError, read_bytes

SCHEMA_VERSION = 1
_MAX_BYTES = 64 << 20
_MAX_PLACES = 4
_PLACE = re.compile(r"(?P<file>[^:]+):(?P<line>[1-9]\d*)")


class CaptureError(ValueError):
    """A file that has no captured calls. The text says why."""


@dataclass(frozen=True)
class CapturedCall:
    """A call of a kernel that a program has launched.

    Attributes
    ----------
    file
        The module of the kernel, relative to the folder of the capture file; ``../`` if it is
        elsewhere.
    function
        The dotted name of the outermost function that makes the kernel, or of the kernel itself.
    kernel
        The name of the kernel's own function.
    call
        The call as an expression of the module; None if an argument cannot be written.
    launches
        How often it was launched.
    places
        Where, as ``file:line``; the first few in the order of the file.
    sizes
        The sizes of dynamic dimensions by name.
    configurations
        The number of configurations of which a tuner would choose; the call has the first.
    problem
        Why there is no `call`.
    unknown_sizes
        The sizes and arguments that depend on data, which is not known without a GPU.
    sections
        The launches after the first mark of a section, by the sections that they are inside of.
    """

    file: str
    function: str
    kernel: str
    framework: str
    call: str | None
    launches: int
    places: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    configurations: int = 0
    problem: str = ""
    unknown_sizes: tuple[str, ...] = ()
    sections: tuple[SectionLaunches, ...] = ()

    @property
    def identity(self) -> tuple[str, str, str, str, tuple[tuple[str, int], ...]]:
        """What distinguishes it from other calls; also their order."""
        sizes = tuple(sorted(self.sizes.items()))
        return (self.file, self.function, self.kernel, self.call or f"?{self.problem}", sizes)


@dataclass(frozen=True)
class Capture:
    """Captured calls, in the order of the file.

    Attributes
    ----------
    device
        The device that the programs saw.
    commands
        The commands that were run.
    others
        How often operations of other libraries ran on the GPU, by name: ``torch.matmul``.
    sections
        The names of the sections and marks of the program, in the order of their first begins.
    other_sections
        The executions in sections of the operations in `others`.
    orders
        The order of the launches of each process of which it is known.
    """

    device: str
    commands: tuple[str, ...]
    calls: tuple[CapturedCall, ...]
    others: Mapping[str, int] = field(default_factory=dict[str, int])
    sections: tuple[str, ...] = ()
    other_sections: Mapping[str, tuple[SectionLaunches, ...]] = field(
        default_factory=dict[str, tuple[SectionLaunches, ...]]
    )
    orders: tuple[LaunchOrder, ...] = ()


def merge(captures: Iterable[Capture]) -> Capture:
    """All calls of some captures; launches of equal calls are added."""
    given = list(captures)
    found: dict[Any, CapturedCall] = {}
    for call in (call for capture in given for call in capture.calls):
        known = found.get(call.identity)
        if known is not None:
            places = tuple(sorted({*known.places, *call.places}, key=_place_order))
            unknown = tuple(sorted({*known.unknown_sizes, *call.unknown_sizes}))
            call = replace(
                call,
                launches=known.launches + call.launches,
                places=places,
                unknown_sizes=unknown,
                sections=add_launches([known.sections, call.sections]),
            )
        found[call.identity] = call
    calls = (
        replace(call, places=call.places[:_MAX_PLACES])
        for call in sorted(found.values(), key=lambda item: item.identity)
    )
    commands = tuple(dict.fromkeys(item for capture in given for item in capture.commands))
    others: Counter[str] = Counter()
    for capture in given:
        others.update(capture.others)
    ordered = dict(sorted(others.items(), key=lambda item: (-item[1], item[0])))
    return Capture(
        given[-1].device if given else "",
        commands,
        tuple(calls),
        ordered,
        tuple(dict.fromkeys(name for capture in given for name in capture.sections)),
        {
            name: sections
            for name in ordered
            if (sections := add_launches(one.other_sections.get(name, ()) for one in given))
        },
        tuple(order for capture in given for order in capture.orders)[:MOST_ORDERS],
    )


def to_text(capture: Capture) -> str:
    """The text of the file."""
    kernels: list[str] = []
    for _, group in groupby(capture.calls, lambda item: (item.file, item.function, item.kernel)):
        calls = list(group)
        first = calls[0]
        head = {
            "file": first.file,
            "function": first.function,
            "kernel": first.kernel,
            "framework": first.framework,
        }
        lines = ",\n".join(f"   {_line(_call_json(call))}" for call in calls)
        kernels.append(f'  {_line(head)[:-1]}, "calls": [\n{lines}]}}')
    body = ",\n".join(kernels)
    marked = ""
    if capture.sections:
        others = {
            name: _sections_json(sections) for name, sections in capture.other_sections.items()
        }
        marked = f' "sections": {_line(list(capture.sections))},\n' + (
            f' "other_sections": {_line(others)},\n' if others else ""
        )
    return (
        f'{{"schema_version": {SCHEMA_VERSION},\n'
        f' "device": {json.dumps(capture.device)},\n'
        f' "commands": {json.dumps(list(capture.commands), ensure_ascii=False)},\n'
        f' "others": {json.dumps(dict(capture.others), ensure_ascii=False)},\n'
        f'{marked}{_orders_text(capture)} "kernels": [\n{body}]}}\n'
    )


def _orders_text(capture: Capture) -> str:
    if not capture.orders:
        return ""
    numbers = {call.identity: number for number, call in enumerate(capture.calls)}
    orders = (_line(order_json(order, numbers.__getitem__)) for order in capture.orders)
    lines = ",\n".join(f"  {order}" for order in orders)
    return f' "orders": [\n{lines}],\n'


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _call_json(call: CapturedCall) -> dict[str, Any]:
    found: dict[str, Any] = {"call": call.call, "launches": call.launches, "at": list(call.places)}
    if call.sizes:
        found["sizes"] = dict(sorted(call.sizes.items()))
    if call.configurations:
        found["configurations"] = call.configurations
    if call.unknown_sizes:
        found["unknown_sizes"] = list(call.unknown_sizes)
    if call.problem:
        found["problem"] = call.problem
    if call.sections:
        found["sections"] = _sections_json(call.sections)
    return found


def _sections_json(sections: Iterable[SectionLaunches]) -> list[Any]:
    return [[list(one.path), one.since, one.launches] for one in sections]


def read(path: Path) -> Capture:
    """Read the file `path`.

    Raises
    ------
    CaptureError
        It cannot be read, or is no capture file of this version.
    """
    try:
        data = json.loads(read_bytes(path, _MAX_BYTES))
    except FileRefusedError as error:
        raise CaptureError(f"{path}: {error.strerror}") from error
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{path}: is no JSON: {error}") from error
    try:
        return _capture(data)
    except (CaptureError, KeyError, TypeError, ValueError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise CaptureError(f"{path}: is no capture file: {what}") from error


def _capture(data: Any) -> Capture:
    if not isinstance(data, dict):
        raise CaptureError("it is no object")
    known = cast("dict[str, Any]", data)
    version = known["schema_version"]
    if version != SCHEMA_VERSION:
        raise CaptureError(
            f"its schema_version is {version}, and this version reads {SCHEMA_VERSION}"
        )
    calls = tuple(call for kernel in known["kernels"] for call in _calls(kernel))
    others = {_text(name): _count(count) for name, count in known.get("others", {}).items()}
    commands = tuple(map(_text, known["commands"]))
    sections = tuple(map(_text, known.get("sections", ())))
    other_sections = {
        _text(name): _sections(parts) for name, parts in known.get("other_sections", {}).items()
    }
    identities = [call.identity for call in calls]
    orders = tuple(order_of(order, identities) for order in known.get("orders", ()))
    device = _text(known["device"])
    return merge([Capture(device, commands, calls, others, sections, other_sections, orders)])


def _sections(parts: Any) -> tuple[SectionLaunches, ...]:
    return tuple(
        SectionLaunches(tuple(map(_text, path)), _text(since), _count(launches))
        for path, since, launches in parts
    )


def _calls(kernel: Any) -> Iterator[CapturedCall]:
    file = _text(kernel["file"])
    if PurePosixPath(file).is_absolute():
        raise CaptureError(f"{file!r} is no path relative to its folder")
    for item in kernel["calls"]:
        call = item["call"]
        if call is not None:
            _check_expression(_text(call))
        yield CapturedCall(
            file=file,
            function=_text(kernel["function"]),
            kernel=_text(kernel["kernel"]),
            framework=_text(kernel["framework"]),
            call=call,
            launches=_count(item["launches"]),
            places=tuple(map(_place, item["at"])),
            sizes={_text(name): _count(size) for name, size in item.get("sizes", {}).items()},
            configurations=_count(item.get("configurations", 0)),
            problem=_text(item.get("problem", "")),
            unknown_sizes=tuple(map(_text, item.get("unknown_sizes", ()))),
            sections=_sections(item.get("sections", ())),
        )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise CaptureError(f"{value!r} is no text")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise CaptureError(f"{value!r} is no count")
    return value


def _place(value: Any) -> str:
    if not _PLACE.fullmatch(_text(value)):
        raise CaptureError(f"{value!r} is no place such as bench.py:38")
    return value


def _place_order(place: str) -> tuple[str, int]:
    file, line = split_place(place)
    return file, line


def split_place(place: str) -> tuple[str, int]:
    """The file and the line of ``bench.py:38``."""
    file, _, line = place.rpartition(":")
    return file, int(line)


def _check_expression(text: str) -> None:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CaptureError(f"{text[:80]!r} is no expression") from None
