"""The journals of the processes of a captured command (`tirlens_worker/capture/journal.py`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tirlens.captured.file_format import Capture, CapturedCall, merge
from tirlens.captured.order import GraphPlace, LaunchOrder, OrderedLaunch, OrderFolder
from tirlens.captured.sections import SectionLaunches, add_launches
from tirlens.file_reader import read_text

# Of one process; a line is at most some kilobytes.
_MAX_BYTES = 1 << 30


@dataclass(frozen=True)
class Recorded:
    """What the processes of a command have recorded.

    Attributes
    ----------
    processes
        The number of Python processes.
    cases
        The cases of test programs that were run, by whether they launched a kernel.
    without_launch
        The names of those that launched none.
    skipped
        What was not run: kernels of other libraries.
    unordered
        The processes whose launches repeat too seldom for their order to be kept.
    """

    capture: Capture
    processes: int = 0
    cases: int = 0
    without_launch: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    unordered: int = 0

    @property
    def launches(self) -> int:
        """The number of launches."""
        return sum(call.launches for call in self.capture.calls)


def read_journals(folder: Path, device: str, command: str, with_order: bool = True) -> Recorded:
    """What all journals in `folder` say of a run of `command` that saw `device`.

    Without `with_order`, which takes the longest, no order of the launches is kept.
    """
    parts: list[Capture] = []
    cases: dict[str, bool] = {}
    skipped: dict[str, None] = {}
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    for path in paths:
        process = _Process(OrderFolder() if with_order else None)
        for kind, content in _lines(path):
            process.read(kind, content, cases, skipped)
        parts.append(process.capture(device))
    # The names of the files are by chance.
    parts.sort(key=lambda part: [(-len(order), repr(order)) for order in part.orders])
    return Recorded(
        replace(merge(parts), device=device, commands=(command,)),
        len(paths),
        len(cases),
        tuple(name for name, launched in cases.items() if not launched),
        tuple(sorted(skipped)),
        sum(1 for part in parts if not part.orders and part.calls),
    )


class _Process:
    """What one process has recorded."""

    def __init__(self, order: OrderFolder | None) -> None:
        self._launches: list[dict[str, Any]] = []
        self._operations: list[str] = []
        self._sections: dict[str, None] = {}
        self._now: tuple[tuple[str, ...], str] = ((), "")
        self._counts: Counter[tuple[int, tuple[str, ...], str]] = Counter()
        self._other_counts: Counter[tuple[str, tuple[str, ...], str]] = Counter()
        self._identities: list[tuple[Any, ...]] = []
        self._graph: GraphPlace = ""
        self._order = order

    def read(
        self, kind: str, content: str, cases: dict[str, bool], skipped: dict[str, None]
    ) -> None:
        """Read a line."""
        if kind == "":
            self._counts[(int(content), *self._now)] += 1
            self._add(self._identities[int(content)])
        elif kind == "L":
            self._launches.append(json.loads(content))
            self._identities.append(_call(self._launches[-1], ()).identity)
        elif kind == "O":
            self._operations.append(json.loads(content)["operation"])
        elif kind == "o":
            self._other_counts[(self._operations[int(content)], *self._now)] += 1
            self._add(None, self._operations[int(content)])
        elif kind == "G":
            self._graph = "begin" if json.loads(content)["replays"] else ""
        elif kind == "M":
            self._sections[json.loads(content)["section"]] = None
        elif kind == "@":
            sections = json.loads(content)
            self._now = (tuple(sections["in"]), sections["since"])
        elif kind == "C":
            case = json.loads(content)
            if case["outcome"] != "skipped":
                cases[case["case"]] = cases.get(case["case"], False) or case["launched"]
        elif kind == "S":
            skipped[json.loads(content)["what"]] = None

    def _add(self, call: tuple[Any, ...] | None, operation: str = "") -> None:
        if self._order is None:
            return
        self._order.add(OrderedLaunch(call, operation, *self._now, self._graph))
        if self._graph:
            self._graph = "inside"

    def capture(self, device: str) -> Capture:
        """The calls and operations with their counts."""
        launches = _by_first(self._counts)
        others = _by_first(self._other_counts)
        order: LaunchOrder | None = None
        if self._order is not None and launches:
            order = self._order.order()
        return Capture(
            device,
            (),
            tuple(
                _call(launch, launches.get(number, ()))
                for number, launch in enumerate(self._launches)
            ),
            {name: sum(one.launches for one in parts) for name, parts in others.items()},
            tuple(self._sections),
            {name: sections for name, parts in others.items() if (sections := _sections(parts))},
            () if order is None else (order,),
        )


_Key = TypeVar("_Key")


def _by_first(
    counts: Counter[tuple[_Key, tuple[str, ...], str]],
) -> dict[_Key, list[SectionLaunches]]:
    found: dict[_Key, list[SectionLaunches]] = {}
    for (key, path, since), count in counts.items():
        found.setdefault(key, []).append(SectionLaunches(path, since, count))
    return found


def _sections(parts: Iterable[SectionLaunches]) -> tuple[SectionLaunches, ...]:
    """Those after the first mark of a section."""
    return add_launches([[one for one in parts if one.path or one.since]])


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The kind and the content of each line; a last line that was cut off is left out."""
    text = read_text(path, _MAX_BYTES, errors="replace")
    for line in text.splitlines()[: None if text.endswith("\n") else -1]:
        if line.isdigit():
            yield "", line
        else:
            yield line[:1], line[1:] if line[:1] == "o" else line[2:]


def _call(launch: dict[str, Any], parts: Sequence[SectionLaunches]) -> CapturedCall:
    return CapturedCall(
        file=launch["file"],
        function=launch["function"],
        kernel=launch["kernel"],
        framework=launch["framework"],
        call=launch["call"],
        launches=sum(one.launches for one in parts),
        places=(launch["at"],),
        sizes=launch.get("sizes", {}),
        configurations=launch.get("configurations", 0),
        problem=launch.get("problem", ""),
        unknown_sizes=tuple(launch.get("unknown_sizes", ())),
        sections=_sections(parts),
    )
