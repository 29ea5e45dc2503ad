"""The plan of an analysis: which parts of it are known, and what to ask the worker for the others.

An analysis has a part for each top-level name with kernels, and one for the file itself. A part
depends on the top-level statements that `source.Reach` gives for its name, on the requests of its
kernels, and on what the whole request has in common. While these are the same the part holds, at
lines that may have shifted.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from tirlens.pipeline.file_stamps import Stamp, is_older, stamp_of_file, stamp_when_read
from tirlens.pipeline.span_shift import Lines, has_span_outside, line_shifts, shift_spans
from tirlens.source import Reach, SourceFile, Statement
from tirlens_worker import codec
from tirlens_worker.facts import KernelFacts, Span
from tirlens_worker.protocol import (
    Analyze,
    Compilation,
    KernelRequest,
    Lowering,
    NeedsArguments,
    Problem,
    Result,
)

T = TypeVar("T")

TRANSIENT_PROBLEMS = frozenset({"cancelled", "interpreter", "crash", "timeout"})
"""A result with one of these problems says nothing about the text and is not cached."""
# So many kernels are one request; of more, each request has about the other number.
_MAX_STEP_KERNELS, _STEP_KERNELS = 100, 60
# The name of the file's own part.
_MODULE = ""
_NOWHERE = Span(0, 0, 0, 0)


@dataclass(frozen=True)
class Part:
    """What the worker found for the kernels of one top-level name, or for the file itself.

    Attributes
    ----------
    lines
        First and last lines of the statements that the part depends on, in its text.
    files
        The user's modules that were imported.
    target
        The target of the request; None where it made no difference.
    """

    lines: Lines
    files: tuple[Stamp, ...] = ()
    kernels: tuple[KernelFacts, ...] = ()
    needs: tuple[NeedsArguments, ...] = ()
    problems: tuple[Problem, ...] = ()
    lowered: tuple[Lowering, ...] = ()
    compiled: tuple[Compilation, ...] = ()
    target: Mapping[str, Any] | None = None

    def is_current(self, stamp_of: Callable[[str], Stamp]) -> bool:
        """Whether no file that it depends on has changed, by the present stamps of files."""
        return all(stamp_of(stamp[0]) == stamp for stamp in self.files)


@dataclass(frozen=True)
class _Unit:
    """The kernels of one top-level name, or none: the file itself.

    `statements` are the indices of the top-level statements that it depends on, `lines` the lines
    of those that count as a whole, `key` the digest of these statements and the requests.
    `exact_key` is a digest of the whole text as well.
    """

    kernels: tuple[KernelRequest, ...]
    statements: tuple[int, ...]
    lines: Lines
    key: bytes
    exact_key: bytes

    def covers(self, span: Span) -> bool:
        """Whether `span` is in one of the unit's statements."""
        return span.file is None and any(a <= span.line <= b for a, b in self.lines)

    def key_of(self, part: Part) -> bytes:
        """The cache key of `part`: of the whole text if it refers to lines of other statements."""
        return self.exact_key if has_span_outside(part, self.lines) else self.key

    def find(
        self,
        cache: Mapping[bytes, Part],
        target: Mapping[str, Any],
        stamp_of: Callable[[str], Stamp],
    ) -> tuple[bytes, Part] | None:
        """The key and the part of this unit in `cache`, at the lines of the unit; None if it is
        not there, or a file that it depends on has changed."""
        for key in (self.exact_key, self.key):
            part = cache.get(key)
            if part is None or part.target not in (None, target):
                continue
            if part.is_current(stamp_of):
                return key, shift_spans(part, line_shifts(part.lines, self.lines))
        return None


@dataclass(frozen=True)
class Plan:
    """What is known of an analysis, and what to ask the worker.

    Attributes
    ----------
    whole
        The request for all kernels of the text.
    source
        The text's kernels.
    environment
        What every answer depends on beside the request: the interpreter.
    known
        The cached parts by top-level name, at the lines of the text.
    used_keys
        The keys of these parts in the cache.
    began_ns
        When the plan was made. Files that change later are not trusted.
    """

    whole: Analyze
    source: SourceFile
    environment: str
    known: Mapping[str, Part]
    used_keys: tuple[bytes, ...]
    began_ns: int
    _statements: Sequence[Statement]
    _units: Mapping[str, _Unit]

    @cached_property
    def request(self) -> Analyze | None:
        """The request for the parts that are not known; None if all are."""
        return self._request(self._unknown_units())

    @cached_property
    def steps(self) -> tuple[Analyze, ...]:
        """The requests that `request` consists of: several for a text with many kernels.

        While a worker answers one of them, the answer to the one before is evaluated.
        """
        if self.request is None or len(self.request.kernels) <= _MAX_STEP_KERNELS:
            return () if self.request is None else (self.request,)
        steps: list[list[_Unit]] = [[]]
        count = 0
        for unit in self._unknown_units():
            if count >= _STEP_KERNELS:
                steps.append([])
                count = 0
            steps[-1].append(unit)
            count += len(unit.kernels)
        requests = (self._request(units) for units in steps)
        return tuple(request for request in requests if request is not None)

    @property
    def unknown_names(self) -> list[str]:
        """The top-level names whose parts the answer to `request` brings, and the file's own."""
        return [name for name in self._units if name == _MODULE or name not in self.known]

    @property
    def next_request(self) -> Analyze | None:
        """The request for one top-level name that is not known; None if all are."""
        return self._request([unit for unit in self._unknown_units() if unit.kernels][:1])

    def with_cache(self, cache: Mapping[bytes, Part]) -> Plan:
        """This plan with the parts that `cache` has now. The text is not read again."""
        target = self.whole.target
        keys = dict(zip(self.known, self.used_keys, strict=True))
        # The parts depend on the same files, often on hundreds.
        stamp_of = functools.cache(stamp_of_file)
        cached: dict[str, tuple[bytes, Part]] = {}
        for name, unit in self._units.items():
            part = self.known.get(name)
            if part is not None and part.is_current(stamp_of):
                # It is at the lines of the text already.
                cached[name] = keys[name], part
            elif (pair := unit.find(cache, target, stamp_of)) is not None:
                cached[name] = pair
        return replace(
            self,
            known={name: part for name, (_, part) in cached.items()},
            used_keys=tuple(key for key, _ in cached.values()),
            began_ns=time.time_ns(),
        )

    def with_start_of(self, other: Plan) -> Plan:
        """This plan for the answer to the request that `other` has already made."""
        return replace(self, began_ns=other.began_ns)

    def is_older(self, path: str) -> bool:
        """Whether the file `path` was last changed before this plan was made."""
        return is_older(stamp_of_file(path), self.began_ns)

    def result(self, answer: Result | None = None) -> Result:
        """The known parts and those of `answer`, the answer to `request`, as one result."""
        parts = dict(self.known)
        if answer is not None:
            # Every answer has the part of the file itself.
            parts.update(self._split(answer, self.unknown_names))
        return replace(
            answer or Result(self.whole.id),
            files=tuple(
                dict.fromkeys(path for part in parts.values() for path, _, _ in part.files)
            ),
            kernels=tuple(item for part in parts.values() for item in part.kernels),
            lowered=tuple(item for part in parts.values() for item in part.lowered),
            compiled=tuple(item for part in parts.values() for item in part.compiled),
            needs=tuple(item for part in parts.values() for item in part.needs),
            problems=tuple(
                dict.fromkeys(item for part in parts.values() for item in part.problems)
            ),
        )

    def cacheable_parts(
        self, result: Result, names: Sequence[str] | None = None
    ) -> dict[bytes, Part]:
        """The parts of `result` that hold for other texts too, by their keys in the cache.

        Parameters
        ----------
        result
            A result of this plan.
        names
            The top-level names whose parts are wanted; None for all.
        """
        problems = result.problems
        if any(item.kind in TRANSIENT_PROBLEMS and item.kernel is None for item in problems):
            return {}
        return {
            self._units[name].key_of(part): part
            for name, part in self._split(result, list(self._units), names).items()
            if not any(item.kind in TRANSIENT_PROBLEMS for item in part.problems)
        }

    def _unknown_units(self) -> list[_Unit]:
        return [unit for name, unit in self._units.items() if name not in self.known]

    def _request(self, units: Sequence[_Unit]) -> Analyze | None:
        if not units or not self.whole.kernels:
            return None
        kernels = {id(kernel) for unit in units for kernel in unit.kernels}
        needed = {index for unit in units for index in unit.statements}
        return replace(
            self.whole,
            kernels=tuple(kernel for kernel in self.whole.kernels if id(kernel) in kernels),
            leave_out=tuple(
                (statement.line, statement.end_line)
                for index, statement in enumerate(self._statements)
                if index not in needed
            ),
        )

    def _split(
        self, result: Result, names: Sequence[str], wanted: Sequence[str] | None = None
    ) -> dict[str, Part]:
        """The parts `wanted` of a result, or all, where a problem may belong to any of `names`."""
        problems: dict[str, list[Problem]] = {}
        for problem in result.problems:
            for name in self._names_of(problem, names):
                problems.setdefault(name, []).append(problem)
        files = tuple(stamp_when_read(path, self.began_ns) for path in result.files)
        kernels = _by_root(result.kernels, lambda item: item.definition)
        needs = _by_root(result.needs, lambda item: item.kernel)
        lowered = _by_root(result.lowered, lambda item: item.kernel)
        compiled = _by_root(result.compiled, lambda item: item.kernel)
        return {
            name: self._with_target(
                Part(
                    self._units[name].lines,
                    files,
                    tuple(kernels.get(name, ())),
                    tuple(needs.get(name, ())),
                    tuple(problems.get(name, ())),
                    tuple(lowered.get(name, ())),
                    tuple(compiled.get(name, ())),
                )
            )
            for name in (names if wanted is None else wanted)
        }

    def _with_target(self, part: Part) -> Part:
        """`part` with the target if another target might have given another part."""
        asks_for_device = any(facts.asks_for_device for facts in part.kernels)
        failed = part.needs or any(problem.kind == "trace" for problem in part.problems)
        return replace(part, target=self.whole.target) if asks_for_device or failed else part

    def _names_of(self, problem: Problem, names: Sequence[str]) -> Sequence[str]:
        """The parts to which a problem belongs: its kernel's, or those of the line at fault."""
        if problem.kernel is not None and _root(problem.kernel) in names:
            return [_root(problem.kernel)]
        span = problem.span
        if span is None or self._units[_MODULE].covers(span):
            return [_MODULE]
        return [name for name in names if self._units[name].covers(span)] or [_MODULE]


def plan_analysis(
    whole: Analyze, source: SourceFile, environment: str, cache: Mapping[bytes, Part]
) -> Plan:
    """Plan the analysis that `whole` requests, given the parts in `cache`.

    Parameters
    ----------
    whole
        The request for all kernels of the text.
    source
        The text as it was read.
    environment
        Identifies the interpreter: its path, version and frameworks.
    cache
        Parts of earlier analyses by key.
    """
    statements = source.statements or (_single_statement(whole.text),)
    reach = Reach(statements)
    # The time limit is no part of the key: a part that was found within one limit holds for all,
    # and a timeout is not cached.
    common = replace(whole, id=0, text="", kernels=(), target={}, time_limit_s=0.0)
    digest = hashlib.sha256(environment.encode() + b"\0" + codec.dumps(common)).digest()
    text_digest = hashlib.sha256(_encode(whole.text)).digest()
    kernels: dict[str, list[KernelRequest]] = {_MODULE: []}
    for kernel in whole.kernels:
        kernels.setdefault(_root(kernel.name), []).append(kernel)
    units = {name: _unit(items, reach, digest, text_digest) for name, items in kernels.items()}
    return Plan(whole, source, environment, {}, (), 0, statements, units).with_cache(cache)


def top_level_name(kernel: KernelRequest) -> str:
    """The name of the part to which a kernel belongs."""
    return _root(kernel.name)


def _unit(
    kernels: Sequence[KernelRequest], reach: Reach, common_digest: bytes, text_digest: bytes
) -> _Unit:
    own = reach.at(kernel.span.line for kernel in kernels)
    calls = (item.expression for kernel in kernels for item in kernel.candidates)
    texts = reach.of(own, calls)
    digest = hashlib.sha256(common_digest)
    for kernel in kernels:
        digest.update(codec.dumps(_without_lines(kernel)))
    for index, text in texts.items():
        digest.update(b"\0own\0" if index in own else b"\0")
        digest.update(_encode(text))
    key = digest.digest()
    digest.update(text_digest)
    statements = ((reach.body[index], text) for index, text in texts.items())
    lines = tuple((item.line, item.end_line) for item, text in statements if text == item.text)
    return _Unit(tuple(kernels), tuple(texts), lines, key, digest.digest())


def _root(name: str) -> str:
    return name.split(".")[0]


def _by_root(items: Iterable[T], name_of: Callable[[T], str]) -> dict[str, list[T]]:
    """The items by their top-level names."""
    found: dict[str, list[T]] = {}
    for item in items:
        found.setdefault(_root(name_of(item)), []).append(item)
    return found


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _without_lines(kernel: KernelRequest) -> KernelRequest:
    """A request without its lines, which may shift, and without what its statements say anyway."""
    candidates = tuple(replace(item, span=None, launches=None) for item in kernel.candidates)
    return replace(kernel, span=_NOWHERE, candidates=candidates, prelude=(), definition=None)


def _single_statement(text: str) -> Statement:
    """The whole text as one statement, for a text that does not parse."""
    lines = text.count("\n") + text.count("\r") + 1
    return Statement(1, lines, frozenset(), frozenset(), False, text)
