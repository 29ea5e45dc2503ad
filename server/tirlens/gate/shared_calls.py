"""One call for both sides of a comparison.

The arguments of a kernel come from calls, also in other files, or are assumed. If a change affects
where they come from, both sides have arguments of their own, and their times say nothing of the
kernel. Each side is then evaluated with the calls of the other one as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tirlens.gate.pairing import counterparts, is_same_problem, work_key
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport
from tirlens.pipeline.analysis_request import with_arguments
from tirlens.source.source_file import KernelSource, SourceFile
from tirlens_worker.protocol import CallCandidate


@dataclass(frozen=True)
class SharedCall:
    """A call of the other side: what to evaluate, and how that side writes it."""

    candidate: CallCandidate
    call: str


Calls = Mapping[str, tuple[SharedCall, ...]]


@dataclass(frozen=True)
class LackingCalls:
    """The calls that each side lacks, by the names of the kernels of that side.

    `replaced_before` and `replaced_now` are the kernels whose own arguments are assumed: the calls
    of the other side take their place.
    """

    before: Calls
    now: Calls
    replaced_before: frozenset[str] = frozenset()
    replaced_now: frozenset[str] = frozenset()


NO_CALLS = LackingCalls({}, {})


def lacking_calls(before: FileReport, now: FileReport) -> LackingCalls:
    """The calls that one side has and the other one lacks.

    A change of the configuration alone, such as other tiles for the same arrays, is what a
    comparison is of: it lacks none.
    """
    lacking: tuple[dict[str, list[SharedCall]], ...] = ({}, {})
    replaced: tuple[set[str], set[str]] = (set(), set())
    needed_before = {item.kernel for item in before.needs}
    old_sources, new_sources = _by_name(before), _by_name(now)
    for old, new in counterparts(before, now):
        if not old:
            # A kernel that had no arguments before gets those that it has now.
            if new and new[0].definition in needed_before:
                lacking[0].setdefault(new[0].definition, []).extend(_shared_calls(new, new_sources))
            continue
        if not new or old[0].built is not None or new[0].built is not None:
            continue
        only_old, only_new = _without(old, new), _without(new, old)
        if not only_old and not only_new:
            continue
        if _are_assumed(only_old) and only_new:
            replaced[0].add(old[0].definition)
            only_old = []
        elif _are_assumed(only_new) and only_old:
            replaced[1].add(new[0].definition)
            only_new = []
        elif len(only_old) == len(only_new) and all(
            is_same_problem(*pair) for pair in zip(only_old, only_new, strict=True)
        ):
            continue
        for calls, name, kernels, sources in (
            (lacking[0], old[0].definition, only_new, new_sources),
            (lacking[1], new[0].definition, only_old, old_sources),
        ):
            if kernels:
                calls.setdefault(name, []).extend(_shared_calls(kernels, sources))
    before_calls, now_calls = (
        {name: tuple(_distinct(items)) for name, items in one.items()} for one in lacking
    )
    return LackingCalls(before_calls, now_calls, *map(frozenset, replaced))


def with_only(source: SourceFile, calls: Calls) -> SourceFile:
    """The kernels of `source` that have `calls`, with these and no others."""
    kernels = (
        replace(
            kernel,
            candidates=tuple(item.candidate for item in calls[kernel.name]),
            directives=tuple(replace(item, bindings={}) for item in kernel.directives),
        )
        for kernel in source.kernels
        if kernel.name in calls
    )
    return replace(source, kernels=tuple(kernels))


def with_calls(
    own: FileReport, others: FileReport, calls: Calls, replaced: frozenset[str]
) -> FileReport:
    """The report `own` with the kernels of `others`, which is of the same text with `calls`.

    A failure of such a call is no problem of the file.
    """
    written = {
        (name, item.candidate.expression): item.call
        for name, items in calls.items()
        for item in items
    }
    counted = [
        replace(kernel, call=written.get((kernel.definition, kernel.call), kernel.call))
        for kernel in others.kernels
        if kernel.has_counts
    ]
    names = {kernel.definition for kernel in counted}
    kept = (item for item in own.kernels if item.definition not in replaced & names)
    needs = (item for item in own.needs if item.kernel not in names)
    return replace(own, kernels=(*kept, *counted), needs=tuple(needs))


def _without(kernels: Sequence[KernelReport], others: Sequence[KernelReport]) -> list[KernelReport]:
    known = [work_key(other) for other in others]
    return [kernel for kernel in kernels if work_key(kernel) not in known]


def _are_assumed(kernels: Sequence[KernelReport]) -> bool:
    return bool(kernels) and all(kernel.call_source == "assumed" for kernel in kernels)


def _by_name(file: FileReport) -> dict[str, KernelSource]:
    return {kernel.name: kernel for kernel in file.source.kernels}


def _shared_calls(
    kernels: Sequence[KernelReport], sources: Mapping[str, KernelSource]
) -> Iterator[SharedCall]:
    """The calls of `kernels`, whose definitions are `sources`."""
    for kernel in kernels:
        source = sources.get(kernel.definition)
        # A size that the definition has as a default may have another one on the other side.
        sizes = {name: size for name, size in kernel.sizes.items() if name not in kernel.bindings}
        candidate = CallCandidate(
            kernel.call if source is None else with_arguments(kernel.call, source, sizes),
            kernel.call_source,
            required=True,
            bindings=dict(kernel.bindings),
            assumed=dict(kernel.assumed),
        )
        yield SharedCall(candidate, kernel.call)


def _distinct(calls: Sequence[SharedCall]) -> Iterator[SharedCall]:
    """The calls without repetitions: several functions may come from one."""
    return (call for position, call in enumerate(calls) if call not in calls[:position])
