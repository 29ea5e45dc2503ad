"""``tirlens compare --python OLD --python NEW``: the same kernels under two frameworks."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tirlens.cli import file_analysis
from tirlens.cli.captured_files import captured_calls
from tirlens.cli.errors import UsageError
from tirlens.cli.lower import generate
from tirlens.cli.outcome import print_note
from tirlens.cli.side_changes import check_options, write_changes
from tirlens.cli.sides import Sides
from tirlens.cli.traced_file import Traced
from tirlens.cli.worker_pool import WorkerPool, worker_pool
from tirlens.gate import Change, causes, code_change, difference, figure_changes
from tirlens.hardware import load
from tirlens.model.report import KernelReport
from tirlens.pipeline.tiers import as_written, without_compilation
from tirlens_worker import framework_names
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import CUDA, SASS, TIR, GeneratedCode

_Key = tuple[str, str, str]
_TIERS = {"source": as_written, "lowered": without_compilation}


def execute(arguments: argparse.Namespace) -> int:
    """Compare the kernels under two interpreters, and give the exit status.

    Raises:
        UsageError: not two interpreters are named.
    """
    check_options(arguments)
    if len(arguments.pythons) != 2:
        raise UsageError("compare takes two --python")
    with worker_pool(arguments.jobs, captured_calls(arguments), arguments.scheduler) as pool:
        before, now = (_trace(arguments, python, pool) for python in arguments.pythons)
        files = [Sides(file, before.get(path)) for path, file in now.items()]
        files += [
            Sides(file.without_kernels(), file) for path, file in before.items() if path not in now
        ]
        names = _names(files, arguments.pythons)
        versions = _Versions(pool, names)
        return write_changes(arguments, files, names, versions.explain)


def _trace(arguments: argparse.Namespace, python: str, pool: WorkerPool) -> dict[str, Traced]:
    """The files by path, analysed under one interpreter."""
    chosen = argparse.Namespace(**{**vars(arguments), "python": python})
    return {file.path: file for file in file_analysis.trace_in(pool, chosen)}


class _Versions:
    """Says what two frameworks, which have `names`, make of kernels otherwise."""

    def __init__(self, pool: WorkerPool, names: tuple[str, str]) -> None:
        self._pool = pool
        self._names = names

    def explain(
        self, sides: Sides, found: Sequence[Change], options: Mapping[str, object]
    ) -> list[Change]:
        """The changes of a file with the difference of each kernel that both sides have."""
        if sides.before is None:
            return list(found)
        both = (sides.before, sides.now)
        codes = self._pool.run(self._generate(both, options))
        facts = [{_key(one): one for one in side.result.kernels} for side in both]
        return [self._explain(change, facts, codes) for change in found]

    def _explain(
        self,
        change: Change,
        facts: Sequence[Mapping[_Key, KernelFacts]],
        codes: Sequence[Mapping[_Key, GeneratedCode]],
    ) -> Change:
        before, now = change.before, change.now
        if before is None or now is None or change.message or "other-work" in change.verdicts:
            return change
        keys = [(one.definition, one.name, one.call) for one in (before, now)]
        of_sides = [side.get(key) for side, key in zip(codes, keys, strict=True)]
        old, new = of_sides
        code = code_change(old, new, self._names) if old is not None and new is not None else None
        traced, traced_now = (
            _of_tier(side[key], report)
            for side, key, report in zip(facts, keys, (before, now), strict=True)
        )
        found = causes(traced, traced_now, load(now.device_id), now.bindings)
        found_now = difference(before, now, figure_changes(before, now), found, code)
        caveats = _own_caveats(*(side[key] for side, key in zip(facts, keys, strict=True)))
        notes = tuple(
            f"{name}: {text}"
            for name, texts in zip(self._names, caveats, strict=True)
            for text in texts
        )
        return replace(change, difference=replace(found_now, notes=notes))

    async def _generate(
        self, sides: Sequence[Traced], options: Mapping[str, object]
    ) -> list[dict[_Key, GeneratedCode]]:
        """The generated code of both sides; none if they are not lowered.

        Machine code is among it if both have been compiled.
        """
        if not all(side.lowered_for for side in sides):
            return [{}, {}]
        is_compiled = not any(side.toolchain.missing for side in sides)
        languages = (CUDA, TIR, SASS) if is_compiled else (CUDA, TIR)
        answers = await asyncio.gather(
            *(generate(self._pool, side, languages, **options) for side in sides)
        )
        return [
            {(code.kernel, code.name, code.call): code for code in answer.generated}
            if answer is not None
            else {}
            for answer in answers
        ]


def _own_caveats(*sides: KernelFacts) -> list[list[str]]:
    """The caveats of each side that the other one does not have."""
    texts = [[caveat.message for caveat in side.caveats] for side in sides]
    return [
        [text for text in own if text not in other]
        for own, other in zip(texts, reversed(texts), strict=True)
    ]


def _of_tier(facts: KernelFacts, report: KernelReport) -> KernelFacts:
    """`facts` with the tiers that `report` is of."""
    change = _TIERS.get(report.launch_facts)
    return facts if change is None else change(facts)


def _key(facts: KernelFacts) -> _Key:
    return facts.definition, facts.name, facts.call


def _names(files: Sequence[Sides], pythons: Sequence[str]) -> tuple[str, str]:
    """``tilelang 0.1.8``, the frameworks of both sides; with the interpreters where they are
    equal."""
    old = next((sides.before for sides in files if sides.before is not None), None)
    new = files[0].now
    before, now = _name(old, pythons[0]), _name(new, pythons[1])
    if old is not None and old.toolchain.identity != new.toolchain.identity:
        print_note("the two sides are compiled by different installations of nvcc and nvdisasm")
    return (before, now) if before != now else (f"{before} {pythons[0]}", f"{now} {pythons[1]}")


def _name(file: Traced | None, python: str) -> str:
    interpreter = file.interpreter if file is not None else None
    if file is None or interpreter is None:
        return python
    hint, versions = file.source.framework_hint, interpreter.frameworks
    found = {hint: versions[hint]} if hint is not None and hint in versions else versions
    words = (
        f"{framework_names.framework_of(name).distributions[0]} {version}"
        for name, version in found.items()
    )
    return ", ".join(words) or python
