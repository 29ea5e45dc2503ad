"""A pytest plugin that tries mutants on the collected tests, in place of one run of them.

Tests are collected once. A first process runs all of them and records which functions each one
executes. Each mutant then gets a process of its own, forked after the collection, in which the code
of the functions that it changes is replaced, and in which the tests that execute them run until one
fails, the quickest first. Nothing is written to the tree.
"""

from __future__ import annotations

import contextlib
import cProfile
import functools
import gc
import importlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

import hypothesis
import pytest

from mutation.changed_code import FunctionKey, changed_functions, replace_code

Cache = functools._lru_cache_wrapper

_SERVER = str(Path(__file__).resolve().parents[2] / "server")
_POLL_S = 0.02
# A mutant that makes a loop endless is killed by its time.
_LEAST_LIMIT_S, _SLOWDOWN = 60.0, 20.0
# Exit statuses of a child.
_SURVIVED, _NOTHING_REPLACED = 0, 3


@dataclass(frozen=True)
class Profile:
    """What one test executes, and the processor time that it takes."""

    seconds: float
    functions: frozenset[FunctionKey]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mutation")
    group.addoption("--mutants", type=Path, help="a file of mutants, one JSON object a line")
    group.addoption("--fates", type=Path, help="where the fate of each one is written")
    group.addoption("--profile", type=Path, help="where what tests execute is stored")
    group.addoption("--jobs", type=int, default=1, help="mutants that are tried at a time")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Properties are tried on the same examples for each mutant."""
    hypothesis.settings.register_profile(
        "mutants", hypothesis.settings(), derandomize=True, database=None
    )
    hypothesis.settings.load_profile("mutants")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try the mutants."""
    option = session.config.option
    mutants = [json.loads(line) for line in option.mutants.read_text().splitlines()]
    # Some are imported when they are first used, which would be after the replacement.
    for file in {str(mutant["file"]) for mutant in mutants}:
        importlib.import_module(".".join(Path(file).relative_to(_SERVER).with_suffix("").parts))
    # The conftest freezes what the collection of tests makes, so that no search would find it.
    gc.unfreeze()
    gc.collect()
    profiles = _read_profile(option.profile)
    missing = [item for item in session.items if item.nodeid not in profiles]
    if missing:
        _join(_forked(lambda: _record(session, missing, option.profile)))
        profiles = _read_profile(option.profile)
    session.items = [item for item in session.items if item.nodeid in profiles]
    running: dict[int, tuple[dict[str, str], float]] = {}
    with option.fates.open("a") as fates:

        def finish(at_most: int) -> None:
            while len(running) > at_most:
                for child, (mutant, deadline_s) in list(running.items()):
                    fate = _fate(child, deadline_s)
                    if fate is not None:
                        del running[child]
                        print(json.dumps({**mutant, "killed": fate}), file=fates, flush=True)
                time.sleep(_POLL_S)

        for mutant in mutants:
            code = changed_functions(
                Path(mutant["file"]), Path(mutant["file"]).read_text(), mutant["text"]
            )
            keys = {FunctionKey.of(each) for each in code}
            tests = sorted(
                (item for item in session.items if profiles[item.nodeid].functions & keys),
                key=lambda item: profiles[item.nodeid].seconds,
            )
            limit_s = _SLOWDOWN * sum(profiles[item.nodeid].seconds for item in tests)
            child = _forked(functools.partial(_try, session, tests, code))
            running[child] = (mutant, time.monotonic() + max(_LEAST_LIMIT_S, limit_s))
            finish(option.jobs - 1)
        finish(0)
    return True


def _read_profile(path: Path) -> dict[str, Profile]:
    if not path.exists():
        return {}
    found: dict[str, Profile] = {}
    for line in path.read_text().splitlines():
        name, seconds, functions = json.loads(line)
        found[name] = Profile(seconds, frozenset(FunctionKey(*key) for key in functions))
    return found


def _forked(work: Callable[[], int]) -> int:
    """A child in a session of its own that does `work` silently; its status is the result."""
    child = os.fork()
    if child:
        return child
    status = 2
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        status = work()
    finally:
        os._exit(status)


def _join(child: int) -> None:
    _, status = os.waitpid(child, 0)
    if status:
        raise pytest.UsageError("tests fail without a mutant")


def _fate(child: int, deadline_s: float) -> bool | None:
    """Whether a test has failed in `child`; None as long as it runs."""
    ended, status = os.waitpid(child, os.WNOHANG)
    if not ended and time.monotonic() < deadline_s:
        return None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
    if ended and os.waitstatus_to_exitcode(status) == _NOTHING_REPLACED:
        raise pytest.UsageError("a mutant changes a function that does not exist")
    return not ended or status != _SURVIVED


def _try(
    session: pytest.Session, tests: Sequence[pytest.Item], code: dict[CodeType, CodeType]
) -> int:
    if not replace_code(code):
        return _NOTHING_REPLACED
    _clear(_caches())
    return int(_run_until_failure(session, tests))


def _run_until_failure(session: pytest.Session, tests: Sequence[pytest.Item]) -> bool:
    for test, following in pairwise((*tests, None)):
        session.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        if session.testsfailed:
            return True
    return False


def _record(session: pytest.Session, tests: Sequence[pytest.Item], path: Path) -> int:
    """Run the tests and write what each one executes; those that fail are left out."""
    in_threads: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            in_threads.add(frame.f_code)

    threading.setprofile(note)
    failed = 0
    caches: list[Cache] = []
    with path.open("a") as file:
        for test, following in pairwise((*tests, None)):
            in_threads.clear()
            caches += _caches()
            # What is there already need not be searched again before the next test.
            gc.freeze()
            _clear(caches)
            # The profiler of the standard library that is written in C: a callback in Python takes
            # several times as long as the tests.
            profiler = cProfile.Profile(builtins=False)
            began_s = time.process_time()
            profiler.enable()
            session.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            profiler.disable()
            seconds = round(time.process_time() - began_s, 4)
            if session.testsfailed > failed:
                failed = session.testsfailed
                continue
            executed = {entry.code for entry in profiler.getstats()} | in_threads
            keys = sorted(
                (code.co_filename, code.co_name, code.co_firstlineno)
                for code in executed
                if isinstance(code, CodeType) and code.co_filename.startswith(_SERVER)
            )
            print(json.dumps([test.nodeid, seconds, keys]), file=file, flush=True)
    return 0


def _clear(caches: Iterable[Cache]) -> None:
    """Clear the caches of functions: a stored result executes nothing."""
    for each in caches:
        each.cache_clear()


def _caches() -> Iterator[Cache]:
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper) and each.__module__.startswith("tirlens"):
            yield each
