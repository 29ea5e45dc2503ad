"""The journals of the processes of a captured command (`tirlens_worker/capture/journal.py`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tirlens.captured.file_format import Capture, CapturedCall, merge
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
    """

    capture: Capture
    processes: int = 0
    cases: int = 0
    without_launch: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def launches(self) -> int:
        """The number of launches."""
        return sum(call.launches for call in self.capture.calls)


def read_journals(folder: Path, device: str, command: str) -> Recorded:
    """What all journals in `folder` say of a run of `command` that saw `device`."""
    calls: list[CapturedCall] = []
    cases: dict[str, bool] = {}
    skipped: dict[str, None] = {}
    others: Counter[str] = Counter()
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    for path in paths:
        launches: list[dict[str, Any]] = []
        counts: Counter[int] = Counter()
        operations: list[str] = []
        for kind, content in _lines(path):
            if kind == "L":
                launches.append(json.loads(content))
            elif kind == "C":
                case = json.loads(content)
                if case["outcome"] != "skipped":
                    cases[case["case"]] = cases.get(case["case"], False) or case["launched"]
            elif kind == "O":
                operations.append(json.loads(content)["operation"])
            elif kind == "o":
                others[operations[int(content)]] += 1
            elif kind == "S":
                skipped[json.loads(content)["what"]] = None
            elif kind == "":
                counts[int(content)] += 1
        calls += [_call(launch, counts[number]) for number, launch in enumerate(launches)]
    return Recorded(
        merge([Capture(device, (command,), tuple(calls), dict(others))]),
        len(paths),
        len(cases),
        tuple(name for name, launched in cases.items() if not launched),
        tuple(sorted(skipped)),
    )


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The kind and the content of each line; a last line that was cut off is left out."""
    text = read_text(path, _MAX_BYTES, errors="replace")
    for line in text.splitlines()[: None if text.endswith("\n") else -1]:
        if line.isdigit():
            yield "", line
        else:
            yield line[:1], line[1:] if line[:1] == "o" else line[2:]


def _call(launch: dict[str, Any], launches: int) -> CapturedCall:
    return CapturedCall(
        file=launch["file"],
        function=launch["function"],
        kernel=launch["kernel"],
        framework=launch["framework"],
        call=launch["call"],
        launches=launches,
        places=(launch["at"],),
        sizes=launch.get("sizes", {}),
        configurations=launch.get("configurations", 0),
        problem=launch.get("problem", ""),
        unknown_sizes=tuple(launch.get("unknown_sizes", ())),
    )
