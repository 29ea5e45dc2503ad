"""An analysis in parts, one for each top-level name with kernels, so that a part can be kept.

A part depends on the statements of the text that `source.reached` gives for it, on its requests
and on what the whole request has.  As long as these are the same its facts hold, at lines that may
have moved; only the parts of which this is not known are asked for.
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tirlens.pipeline.moved import Lines, Moved
from tirlens.source import Reach, SourceFile, Statement
from tirlens_worker import codec
from tirlens_worker.facts import KernelFacts, Span
from tirlens_worker.protocol import (
    Analyze,
    KernelRequest,
    Lowering,
    NeedsArguments,
    Problem,
    Result,
)

# A result with one of these says nothing of the text, and is asked for again.
_PASSING = frozenset({"cancelled", "interpreter", "crash", "timeout"})
# The part of what is told of the file and of no kernel.
_MODULE = ""
_NOWHERE = Span(0, 0, 0, 0)
_NONE: frozenset[str] = frozenset()
# Sizes of a file that is not there, and of one that may have changed since it was read.
_MISSING, _CHANGED = -1, -2
# How much the time of a change may lag behind the clock: a tick of the kernel's.
_CLOCK_NS = 10_000_000


# The path of a file, the time of its last change in nanoseconds and its size in bytes.
Stamp = tuple[str, int, int]


@dataclass(frozen=True)
class Part:
    """What the worker has told of one name's kernels, or of the file (problems of no kernel).

    `lines` are the first and last lines of the statements it depends on, as they were then;
    `files` the user's own modules that were imported, with their time of change and size;
    `target` is what the worker was told of the device, where that made a difference.
    """

    lines: Lines
    files: tuple[Stamp, ...] = ()
    kernels: tuple[KernelFacts, ...] = ()
    needs: tuple[NeedsArguments, ...] = ()
    problems: tuple[Problem, ...] = ()
    lowered: tuple[Lowering, ...] = ()
    target: Mapping[str, Any] | None = None


class Plan:
    """Which parts of an analysis are known, and what is to be asked for the others.

    `whole` asks for all of it; `environment` is what its answer depends on beside: the
    interpreter.  `known` gives the part that is kept under a key, or None.
    """

    def __init__(
        self,
        whole: Analyze,
        source: SourceFile,
        environment: str,
        known: Callable[[bytes], Part | None],
    ) -> None:
        self.whole, self.source = whole, source
        self.environment, self.known = environment, known
        self._statements = source.statements or (_everything(whole.text),)
        reach = Reach(self._statements)
        # What was found in one time is found in another; what took too long is not kept.
        bare = replace(whole, id=0, text="", kernels=(), target={}, time_limit_s=0.0)
        common = hashlib.sha256(environment.encode() + b"\0" + codec.dumps(bare)).digest()
        text = hashlib.sha256(whole.text.encode("utf-8", "surrogatepass")).digest()
        kernels: dict[str, list[KernelRequest]] = {_MODULE: []}
        for kernel in whole.kernels:
            kernels.setdefault(_root(kernel.name), []).append(kernel)
        self._units = {name: _Unit(items, reach, common, text) for name, items in kernels.items()}
        self._recall()

    def again(self) -> Plan:
        """This plan by what is known now: milliseconds, for the text is not looked at again."""
        plan = copy.copy(self)
        plan._recall()
        return plan

    def since(self, asked: Plan) -> Plan:
        """This plan for the answer to the same request that `asked` has made before."""
        plan = copy.copy(self)
        plan._began_ns = asked._began_ns
        return plan

    def is_older(self, path: str) -> bool:
        """Whether the file `path` was last changed before this was planned."""
        return _stamp(path)[1] < self._began_ns - _CLOCK_NS

    def _recall(self) -> None:
        target = self.whole.target
        recalled = {name: unit.recall(self.known, target) for name, unit in self._units.items()}
        self._found = {name: pair[1] for name, pair in recalled.items() if pair is not None}
        self._began_ns = time.time_ns()
        self.used = tuple(pair[0] for pair in recalled.values() if pair is not None)
        """The keys of the parts that are known."""
        self._open = [unit for name, unit in self._units.items() if name not in self._found]
        self.request = self._request(self._open)
        """What is not known, as a request; None if all of it is."""

    def next_request(self) -> Analyze | None:
        """What is not known of one top-level name alone."""
        return self._request([unit for unit in self._open if unit.kernels][:1])

    def _request(self, wanted: Sequence[_Unit]) -> Analyze | None:
        if not wanted or not self.whole.kernels:
            return None
        kernels = {id(kernel) for unit in wanted for kernel in unit.kernels}
        needed = {place for unit in wanted for place in unit.reached}
        return replace(
            self.whole,
            kernels=tuple(kernel for kernel in self.whole.kernels if id(kernel) in kernels),
            leave_out=tuple(
                line
                for place, statement in enumerate(self._statements)
                if place not in needed
                for line in statement.starts
            ),
        )

    def result(self, fresh: Result | None = None) -> Result:
        """What is known and what `fresh`, the answer to `request`, adds, as one result."""
        parts = dict(self._found)
        if fresh is not None:
            # What is told of the file itself is in every answer.
            others = [name for name in self._units if name not in parts and name != _MODULE]
            parts.update(self._split(fresh, [_MODULE, *others]))
        return replace(
            fresh or Result(self.whole.id),
            files=tuple(
                dict.fromkeys(path for part in parts.values() for path, _, _ in part.files)
            ),
            kernels=tuple(item for part in parts.values() for item in part.kernels),
            lowered=tuple(item for part in parts.values() for item in part.lowered),
            needs=tuple(item for part in parts.values() for item in part.needs),
            problems=tuple(
                dict.fromkeys(item for part in parts.values() for item in part.problems)
            ),
        )

    def kept(self, result: Result, names: Sequence[str] | None = None) -> dict[bytes, Part]:
        """The parts of `result` (those of `names`) that hold for other texts too, by key."""
        if any(item.kind in _PASSING and item.kernel is None for item in result.problems):
            return {}
        return {
            self._units[name].key_of(part): part
            for name, part in self._split(result, list(self._units)).items()
            if (names is None or name in names)
            and not any(item.kind in _PASSING for item in part.problems)
        }

    def _split(self, result: Result, names: Sequence[str]) -> dict[str, Part]:
        """The parts `names` of a result."""
        problems: dict[str, list[Problem]] = {name: [] for name in names}
        for problem in result.problems:
            for name in self._parts_of(problem, names):
                problems[name].append(problem)
        files = tuple(self._stamp_of(path) for path in result.files)
        return {
            name: self._with_target(
                Part(
                    self._units[name].lines,
                    files,
                    tuple(item for item in result.kernels if _root(item.definition) == name),
                    tuple(item for item in result.needs if _root(item.kernel) == name),
                    tuple(problems[name]),
                    tuple(item for item in result.lowered if _root(item.kernel) == name),
                )
            )
            for name in names
        }

    def _stamp_of(self, path: str) -> Stamp:
        """The stamp of a file as the worker has read it; one never met if that is unsure."""
        return _stamp(path) if self.is_older(path) else (path, 0, _CHANGED)

    def _with_target(self, part: Part) -> Part:
        """`part` with the target if another might have given something else."""
        asked = any(facts.asks_for_device for facts in part.kernels)
        failed = part.needs or any(problem.kind == "trace" for problem in part.problems)
        return replace(part, target=self.whole.target) if asked or failed else part

    def _parts_of(self, problem: Problem, names: Sequence[str]) -> Sequence[str]:
        """The parts to which a problem belongs: its kernel's, or those of the line at fault."""
        if problem.kernel is not None and _root(problem.kernel) in names:
            return [_root(problem.kernel)]
        span = problem.span
        if span is None or self._units[_MODULE].covers(span):
            return [_MODULE]
        return [name for name in names if self._units[name].covers(span)] or [_MODULE]


class _Unit:
    """One name's kernels, or none: the file itself."""

    def __init__(
        self, kernels: list[KernelRequest], reach: Reach, common: bytes, text: bytes
    ) -> None:
        self.kernels = kernels
        own = reach.at(kernel.span.line for kernel in kernels)
        calls = (item.expression for kernel in kernels for item in kernel.candidates)
        self.reached = reach.of(own, calls)
        statements = [reach.body[place] for place in self.reached]
        self.lines: Lines = tuple((item.line, item.end_line) for item in statements)
        digest = hashlib.sha256(common)
        for kernel in kernels:
            digest.update(codec.dumps(_without_lines(kernel)))
        for place, statement in zip(self.reached, statements, strict=True):
            digest.update(b"\0own\0" if place in own else b"\0")
            digest.update(statement.text.encode("utf-8", "surrogatepass"))
        self._key = digest.digest()
        digest.update(text)
        self._exact_key = digest.digest()

    def covers(self, span: Span) -> bool:
        return span.file is None and any(a <= span.line <= b for a, b in self.lines)

    def key_of(self, part: Part) -> bytes:
        """The key for `part`: of its statements, or of the whole text if it looks beyond them."""
        beyond = Moved(self.lines, self.lines).misses(part)
        return self._exact_key if beyond else self._key

    def recall(
        self, known: Callable[[bytes], Part | None], target: Mapping[str, Any]
    ) -> tuple[bytes, Part] | None:
        for key in (self._exact_key, self._key):
            part = known(key)
            if part is None or part.target not in (None, target):
                continue
            if all(_stamp(stamp[0]) == stamp for stamp in part.files):
                return key, Moved(part.lines, self.lines).value(part)
        return None


def _stamp(path: str) -> Stamp:
    try:
        found = Path(path).stat()
    except OSError:
        return path, 0, _MISSING
    return path, found.st_mtime_ns, found.st_size


def top_level_name(kernel: KernelRequest) -> str:
    """The name of the part to which a kernel belongs."""
    return _root(kernel.name)


def _root(name: str) -> str:
    return name.split(".")[0]


def _without_lines(kernel: KernelRequest) -> KernelRequest:
    """A request without what its statements say anyway, and at lines that may move."""
    bare = tuple(replace(item, span=None) for item in kernel.candidates)
    return replace(kernel, span=_NOWHERE, candidates=bare, prelude=(), definition=None)


def _everything(text: str) -> Statement:
    """A text that cannot be told apart: one statement, on which all depends."""
    return Statement(1, text.count("\n") + text.count("\r") + 1, (), _NONE, _NONE, False, text)
