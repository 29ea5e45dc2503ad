"""Measured kernels and the kernels of the workspace that they are executions of.

A match needs evidence: the call, the shapes of all arguments, or grid and block, beside the name of
the device function.  Where several kernels fit, or one that has no figures cannot be excluded, all
of them are listed, and none is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tirlens.measured.groups import Group
from tirlens.measured.matching.device_functions import readings
from tirlens.measured.matching.outcomes import (
    Ambiguous,
    Candidate,
    Match,
    Outcome,
    Unanalysed,
    Unmatched,
)
from tirlens.measured.records import Tensor
from tirlens.model.report import KernelReport, SequenceLaunch

_MOST_NAMED = 4


class Matcher:
    """Finds the kernels of a workspace for measured ones.

    Parameters
    ----------
    candidates
        The analysed kernels, each with each of its known calls.
    unanalysed
        The kernels without figures.
    """

    def __init__(
        self, candidates: Iterable[Candidate], unanalysed: Iterable[Unanalysed] = ()
    ) -> None:
        self._named: dict[str, list[Candidate]] = {}
        for candidate in _without_equals(candidates):
            for name in {candidate.report.name, candidate.report.definition}:
                self._named.setdefault(name, []).append(candidate)
        self._unanalysed: dict[str, list[Unanalysed]] = {}
        for kernel in unanalysed:
            for name in kernel.names:
                self._unanalysed.setdefault(name, []).append(kernel)

    def named_as(self, group: Group) -> list[Candidate]:
        """The analysed kernels that have the name of `group`."""
        names = () if group.identity is None else readings(group.identity.name)
        return [
            candidate
            for reading in names
            for candidate in self._named.get(reading.function, ())
            if candidate.report.name == reading.function
        ]

    def match(self, group: Group) -> Outcome:
        """The kernel that `group` measures, or why none is chosen."""
        if group.identity is None:
            return Unmatched(group, "there are too many kernels to list it")
        if group.identity.kind != "kernel":
            return Unmatched(group, f"it is no kernel: {group.identity.kind}")
        if {"file", "kernel", "call"} <= group.first.attributes.keys():
            return self._match_call(group)
        trials = list(self._trials(group))
        unknown = [
            kernel
            for reading in readings(group.identity.name)
            for kernel in self._unanalysed.get(reading.function, ())
        ]
        fitting = [trial for trial in trials if trial.is_enough]
        if len(fitting) > 1:
            fitting = _with_equal_shared_memory(fitting, group) or fitting
        if len(fitting) == 1 and not unknown and not _open(trials):
            (trial,) = fitting
            return Match(group, trial.candidate, trial.number, trial.equal)
        if not fitting and not unknown and len(trials) == 1 and trials[0].is_of_capture:
            (trial,) = trials
            return Match(group, trial.candidate, trial.number, (*trial.equal, "capture"))
        return _explain(group, trials, fitting, unknown)

    def _trials(self, group: Group) -> Iterable[_Trial]:
        assert group.identity is not None
        for reading in readings(group.identity.name):
            for candidate in self._named.get(reading.function, ()):
                if candidate.report.name == reading.function:
                    yield _Trial.of(group, candidate, reading.number)

    def _match_call(self, group: Group) -> Outcome:
        """The kernel with the file, the call and the sizes that a table of measurements names."""
        attributes = group.first.attributes
        name, call = attributes["kernel"], attributes["call"]
        named = [item for item in self._named.get(name, ()) if item.report.definition == name]
        named = [item for item in named if _is_same_file(item.path, attributes["file"])]
        fitting = [
            item
            for item in named
            if item.report.call == call
            and _sizes_text(item.report) == attributes.get("bindings", "")
        ]
        if len(fitting) == 1:
            return Match(group, fitting[0], None, ("file", "call"))
        if fitting:
            reason = "several kernels of the workspace have this call"
            return Ambiguous(group, tuple(item.title for item in fitting), reason)
        if named:
            known = ", ".join(item.report.call for item in named[:_MOST_NAMED])
            reason = f"it was called as {call}, which --call gives; analysed: {known}"
            return Unmatched(group, reason, True, True)
        unknown = self._unanalysed.get(name, ())
        if unknown:
            return Unmatched(group, unknown[0].title, True, True)
        return Unmatched(group, f"no kernel {name} in the files")


@dataclass(frozen=True)
class _Trial:
    """What agrees between a measured kernel and a candidate with the name, and what does not."""

    candidate: Candidate
    number: int | None
    equal: tuple[str, ...]
    different: tuple[str, ...]

    @classmethod
    def of(cls, group: Group, candidate: Candidate, number: int | None) -> _Trial:
        equal, different = ["name"], list[str]()
        launches = candidate.launches
        if number is not None and number >= len(launches):
            launched = "once" if len(launches) == 1 else f"{len(launches)} times"
            different.append(
                f"it is launch {number + 1} of its function, which launches {launched}"
            )
            return cls(candidate, number, tuple(equal), tuple(different))
        if candidate.is_assumed:
            comparisons = []
        elif number is None and len(launches) > 1:
            comparisons = [_compare_arguments(group, candidate)]
        else:
            launch = launches[number or 0]
            comparisons = [
                _compare_grid(group, launch),
                _compare_block(group, launch, candidate.report),
                _compare_arguments(group, candidate),
            ]
        for what, difference in comparisons:
            if difference:
                different.append(difference)
            elif what:
                equal.append(what)
        return cls(candidate, number, tuple(equal), tuple(different))

    @property
    def is_enough(self) -> bool:
        """Whether nothing differs, and the launch or the arguments agree."""
        agrees = "arguments" in self.equal or {"grid", "block"} <= set(self.equal)
        return not self.different and agrees

    @property
    def is_of_capture(self) -> bool:
        """Whether nothing differs, and the call is one that the program has launched."""
        return not self.different and self.candidate.report.call_source == "captured"


_Comparison: TypeAlias = tuple[str, str]
"""What agrees, or what differs in words; both empty where one side does not say it."""

_UNKNOWN: _Comparison = "", ""


def _compare_grid(group: Group, launch: SequenceLaunch) -> _Comparison:
    assert group.identity is not None
    measured = group.identity.grid
    if measured is None or not launch.grid:
        return _UNKNOWN
    expected = (*launch.grid, 1, 1)[:3]
    if measured == expected:
        return "grid", ""
    return "", f"its grid is {_dimensions(measured)}, not {_dimensions(expected)}"


def _compare_block(group: Group, launch: SequenceLaunch, report: KernelReport) -> _Comparison:
    assert group.identity is not None
    if group.identity.block is None or launch.threads_per_block is None:
        return _UNKNOWN
    threads = math.prod(group.identity.block)
    if threads == launch.threads_per_block:
        return "block", ""
    if report.framework == "tilelang" and report.launch_facts == "source":
        # Lowering may add the warps of a producer.
        return _UNKNOWN
    return "", f"its block has {threads} threads, not {launch.threads_per_block}"


def _compare_arguments(group: Group, candidate: Candidate) -> _Comparison:
    """The shapes of all arguments, where the trace has as many as the kernel has arrays."""
    assert group.identity is not None
    measured = _shapes((*group.identity.inputs, *group.identity.outputs))
    arrays = [array.shape for array in candidate.report.arrays if array.shape is not None]
    is_known = arrays and len(arrays) == len(candidate.report.arrays)
    if measured is None or not is_known or len(measured) != len(arrays):
        return _UNKNOWN
    if sorted(measured) == sorted(arrays):
        return "arguments", ""
    return "", f"its arguments are {_shapes_text(measured)}, not {_shapes_text(arrays)}"


def _shapes(tensors: Sequence[Tensor]) -> list[tuple[int, ...]] | None:
    found = [tensor.logical_shape or tensor.shape for tensor in tensors]
    known = [shape for shape in found if shape is not None]
    return known if known and len(known) == len(found) else None


def _with_equal_shared_memory(trials: Sequence[_Trial], group: Group) -> list[_Trial]:
    """The one trial whose launch has exactly the shared memory that was measured."""
    assert group.identity is not None
    measured = group.identity.shared_bytes
    same = [
        trial
        for trial in trials
        if measured is not None
        and trial.candidate.launches[trial.number or 0].shared_bytes_per_block == measured
    ]
    return same if len(same) == 1 else []


def _open(trials: Sequence[_Trial]) -> list[_Trial]:
    """The trials of which nothing differs, and too little is known to agree."""
    return [trial for trial in trials if not trial.different and not trial.is_enough]


def _explain(
    group: Group,
    trials: Sequence[_Trial],
    fitting: Sequence[_Trial],
    unknown: Sequence[Unanalysed],
) -> Outcome:
    """Why no kernel is chosen."""
    assert group.identity is not None
    possible = [*fitting, *(trial for trial in _open(trials) if trial not in fitting)]
    titles = tuple(
        dict.fromkeys([*(trial.candidate.title for trial in possible), *(k.title for k in unknown)])
    )
    if len(fitting) > 1:
        what = " and ".join(name for name in fitting[0].equal if name != "name")
        return Ambiguous(group, titles, f"these kernels have its name, {what}")
    if fitting:
        return Ambiguous(group, titles, "these kernels have its name and cannot be excluded")
    if len(titles) == 1 and possible:
        lacks = (
            "its arguments are assumed, and --call gives them"
            if possible[0].candidate.is_assumed
            else "the trace has neither its grid and block nor its arguments"
        )
        return Ambiguous(group, titles, f"only its name fits: {lacks}")
    if titles:
        return Ambiguous(group, titles, "only their names fit")
    if not trials:
        return Unmatched(group, "no kernel of the files has this name")
    differences = [f"{trial.different[0]} as {trial.candidate.title}" for trial in trials]
    more = len(differences) - _MOST_NAMED
    text = "; ".join(differences[:_MOST_NAMED]) + (f"; {more} more" if more > 0 else "")
    return Unmatched(group, text, True)


def _without_equals(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates without those that are the same kernel by another call."""
    found: dict[tuple[object, ...], Candidate] = {}
    for candidate in candidates:
        report = candidate.report
        if not report.has_counts:
            continue
        key = (
            candidate.path, report.definition, report.name, report.span, report.arrays,
            candidate.launches, report.flop, report.compulsory_bytes,
        )  # fmt: skip
        found.setdefault(key, candidate)
    return list(found.values())


def _is_same_file(path: str, named: str) -> bool:
    """Whether a file as a table names it is `path`: one is the end of the other."""
    one, other = (text.replace("\\", "/").split("/") for text in (path, named))
    one, other = ([part for part in parts if part not in ("", ".")] for parts in (one, other))
    length = min(len(one), len(other))
    return one[-length:] == other[-length:]


def _sizes_text(report: KernelReport) -> str:
    return " ".join(f"{name}={size}" for name, size in report.bindings.items())


def _dimensions(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _shapes_text(shapes: Sequence[Sequence[int]]) -> str:
    return ", ".join(f"[{_dimensions(shape)}]" for shape in shapes[:_MOST_NAMED])
