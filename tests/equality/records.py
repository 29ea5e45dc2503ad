"""Facts and counts of the kernels of one file, in the framework's own process.

Each kernel gives one record: the facts as TIRLens extracts them, and beside them what the reference
executor counted or why it could not.  A kernel that is too big to execute is traced again with
smaller arguments.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import itertools
import math
import os
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import tvm

from equality.execute import Executor
from equality.language import DataError, RefusedError, TooBigError
from equality.storage import compacted
from equality.useful import Useful
from tirlens_worker import codec
from tirlens_worker.frameworks.extract import extract
from tirlens_worker.frameworks.locations import spans
from tirlens_worker.program import patches
from tirlens_worker.program.document import Document
from tirlens_worker.program.load import load
from tirlens_worker.protocol import CallCandidate
from tirlens_worker.tracing.trace import Tracer

TRACE_LIMIT_S = 5
#: How many branches on data are tried one way and the other.
MOST_CHOICES = 3
POINTS_PER_SECOND = 3_000_000
#: What large arguments are replaced by, in this order: one that proves enough, then smaller ones,
#: then larger ones for kernels that do not allow for those.
CAPS = (256, 64, 32, 128, 512, 1024)
#: The same where useful operations are followed: most arrays end inside a tile.
ODD_CAPS = (200, 72, 100, 64, 32)
#: Sizes for dimensions that are only known at run time: none fits a usual tile, all do, some do.
SIZES = ((100, 72, 136, 40, 24), (64, 128, 256, 64, 32), (33, 160, 65, 200, 96))
#: The same for kernels that are too big with those: loops over four dimensions and more.
FEW = ((20, 12, 7, 9, 5), (16, 8, 16, 4, 8), (3, 34, 5, 11, 6))


def records(request: Any, limit_s: int) -> Iterator[dict[str, Any]]:
    try:
        document = Document(request.path, request.text)
    except (SyntaxError, ValueError):
        return
    patches.install(request.target)
    os.chdir(Path(request.path).resolve().parent)
    with spans.recording():
        tracer = Tracer(load(document, request.sys_path, lambda line: None))
        for kernel in request.kernels:
            patches.install(request.target)
            for record in of_kernel(tracer, kernel, limit_s):
                yield {"path": request.path, "kernel": kernel.name, **record}


def of_kernel(tracer: Any, kernel: Any, limit_s: int) -> Iterator[dict[str, Any]]:
    """One record for each function that the kernel's call yields."""
    traced = trace(tracer, kernel)
    if not traced:
        yield {"refused": "not traced"}
        return
    for number, item in enumerate(traced):
        calls = list(smaller(tracer, kernel, item.call))
        record = of_function(item, 1 if calls else limit_s)
        which = number, len(traced)
        if calls and _too_big(record):
            run = partial(of_function, limit_s=limit_s)
            record = shrunk(tracer, kernel, calls, which, run) or record
        if "useful" in record:
            odd = smaller(tracer, kernel, item.call, ODD_CAPS)
            followed = shrunk(tracer, kernel, odd, which, partial(_useful, limit_s=limit_s))
            if followed is not None and "counted" in followed:
                record["useful"] = followed
        yield record


def shrunk(
    tracer: Any,
    kernel: Any,
    calls: Iterable[tuple[int, str]],
    which: tuple[int, int],
    run: Callable[[Any], dict[str, Any]],
) -> dict[str, Any] | None:
    """What `run` says of a kernel, the one of so many, with smaller arguments."""
    number, of = which
    found, too_big = None, math.inf
    for cap, reduced in calls:
        traced = trace(tracer, kernel, reduced) if cap < too_big else ()
        if len(traced) == of:
            found = run(traced[number])
            if not _too_big(found):
                break
            too_big = cap
    return found


def _useful(traced: Any, limit_s: int) -> dict[str, Any]:
    """Facts of a function of known sizes, and its useful operations."""
    run = counted(traced.function, {}, limit_s, True, executor=Useful)
    return {**run, "facts": codec.to_json(facts_of(traced))}


def _too_big(record: dict[str, Any]) -> bool:
    return record.get("refused", "").startswith("too big")


def trace(tracer: Any, kernel: Any, call: str | None = None) -> tuple:
    if call is not None:
        candidate = CallCandidate(call, "option", required=True)
        kernel = dataclasses.replace(kernel, candidates=(candidate,))
    try:
        with limited(TRACE_LIMIT_S):
            return tracer.trace(kernel).traced
    except BaseException:
        return ()


def smaller(
    tracer: Any, kernel: Any, call: str, caps: tuple[int, ...] = CAPS
) -> Iterator[tuple[int, str]]:
    """The same call with its large numbers replaced by smaller ones, and by which."""
    try:
        tree = ast.parse(call, mode="eval").body
    except SyntaxError:
        return
    if not isinstance(tree, ast.Call) or kernel.local_to is not None:
        return
    given = {keyword.arg for keyword in tree.keywords}
    defaults = [
        ast.keyword(name, ast.Constant(value))
        for position, (name, value) in enumerate(_defaults(tracer, kernel))
        if name not in given and position >= len(tree.args)
    ]
    for cap in caps:
        capped = _Cap(cap)
        reduced = ast.Call(
            tree.func,
            [capped.visit(ast.parse(ast.unparse(part), mode="eval").body) for part in tree.args],
            [
                ast.keyword(
                    part.arg, capped.visit(ast.parse(ast.unparse(part.value), mode="eval").body)
                )
                for part in [*tree.keywords, *defaults]
            ],
        )
        if capped.changed:
            yield cap, ast.unparse(ast.fix_missing_locations(reduced))


class _Cap(ast.NodeTransformer):
    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.changed = False

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if type(node.value) is int and node.value > self.cap:
            self.changed = True
            return ast.Constant(self.cap)
        return node


def _defaults(tracer: Any, kernel: Any) -> list[tuple[str, Any]]:
    try:
        value = tracer._lookup(kernel.name)
        function = getattr(value, "func", value)
        parameters = inspect.signature(inspect.unwrap(function)).parameters.values()
    except Exception:
        return []
    return [
        (item.name, item.default)
        for item in parameters
        if type(item.default) is int and item.default > min(CAPS)
    ]


def of_function(traced: Any, limit_s: int) -> dict[str, Any]:
    """The facts of one function, and its counts if `limit_s` seconds are enough to execute it."""
    facts = facts_of(traced)
    try:
        hashed = str(tvm.ir.structural_hash(traced.function))
    except Exception:
        hashed = str(hash(str(traced.function)))
    record: dict[str, Any] = {
        "call": traced.call,
        "hash": hashed,
        "facts": codec.to_json(facts),
        "framework": facts.framework,
    }
    tiles = facts.framework == "tilelang"
    for some in (SIZES, FEW) if facts.variables else (SIZES[:1],):
        sizes = [_bound(facts, values) for values in some]
        first = counted(traced.function, sizes[0], limit_s, tiles)
        if not _too_big(first):
            break
    runs = [first, *(counted(traced.function, more, limit_s, tiles) for more in sizes[1:])]
    if runs[0].get("refused", "").startswith("depends on data"):
        bound = assumed(traced.function, sizes[0], limit_s, tiles)
        runs = [bound if "counted" in bound else runs[0]]
    operations = runs[0]["counted"]["operations"] if "counted" in runs[0] else []
    if (
        tiles
        and any(name == "mma" for name, *_ in operations)
        and not runs[0]["counted"]["assumed"]
    ):
        runs[0]["useful"] = counted(traced.function, sizes[0], limit_s, tiles, executor=Useful)
    return {**record, **runs[0], "more": [run for run in runs[1:] if "counted" in run]}


def _bound(facts: Any, values: tuple[int, ...]) -> dict[str, int]:
    """A size for each of the free variables."""
    names = [variable.name for variable in facts.variables]
    return {name: values[position % len(values)] for position, name in enumerate(names)}


def facts_of(traced: Any) -> Any:
    return extract(
        traced.function,
        definition="kernel",
        span=traced.span,
        call=traced.call,
        call_source=traced.call_source,
    )


def assumed(function: Any, sizes: dict[str, int], limit_s: int, tiles: bool) -> dict[str, Any]:
    """The counts where all that conditions on data may choose is executed.

    Of a branch with two sides one is: `alternatives` are the counts by which one it always is.
    """
    choices: dict[int, int | None] = {}
    record = counted(function, sizes, limit_s, tiles, choices)
    if "counted" in record and 0 < len(choices) <= MOST_CHOICES:
        sides = itertools.product((0, 1), repeat=len(choices))
        runs = [
            counted(function, sizes, limit_s, tiles, dict(zip(choices, some, strict=True)))
            for some in sides
        ]
        record["alternatives"] = [run["counted"] for run in runs if "counted" in run]
    return record


def counted(
    function: Any,
    sizes: dict[str, int],
    limit_s: int,
    tiles: bool,
    choices: dict[int, int | None] | None = None,
    executor: type[Executor] = Executor,
) -> dict[str, Any]:
    """The counts of an execution with these sizes, or why there are none.

    With `choices` of branches data may decide: all that is not among them is executed and added.
    """
    record: dict[str, Any] = {"sizes": sizes}
    try:
        with limited(limit_s):
            budget = limit_s * POINTS_PER_SECOND
            found = executor(function, sizes, budget, tiles, choices).run()
            made = None if tiles else compacted(function)
            if made is not None:
                run = executor(made, sizes, budget, tiles, choices).run()
                found["requests"] = [
                    one
                    for level, requests in (("global", found), ("shared", run))
                    for one in requests["requests"]
                    if one[0] == level
                ]
            record["counted"] = found
    except RefusedError as error:
        record["refused"] = str(error)
    except DataError as error:
        record["refused"] = f"depends on data: {error}"
    except (TooBigError, TimeoutError, MemoryError) as error:
        record["refused"] = f"too big: {type(error).__name__}"
    except Exception as error:
        record["refused"] = f"broken: {type(error).__name__}: {error}"
        record["detail"] = traceback.format_exc(limit=-6)
    return record


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    # The processor's time and not the clock's: how many get through must not depend on the load.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
