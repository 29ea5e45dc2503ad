"""One problem size for the kernels of a file.

The kernels of an operator (forward and backward, both steps of a split reduction) are factories
with parameters of the same names. Each has calls of its own, and these may be of different
problems: one kernel is called by a benchmark, the other by a test. Times of different problems are
not to be compared or added, so the calls of one problem come first where the kernels have them, and
what is assumed for a kernel is assumed as the calls of the others have it.

Kernels for different sizes, such as reductions by a warp and by a block, have no problem in common.
They keep their calls.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tirlens.source.source_file import KernelSource
from tirlens_worker.protocol import CallCandidate

# Parameters that are chosen for a kernel, not for a problem.
_OF_KERNEL = re.compile(
    r"(?i).*(block|blk|tile|thread|stage|warp|split|unroll|vec|swizzle|pipeline|config|layout|cta)"
    r".*|b[mnk]"
)


_IS_BATCH = re.compile(r"(?i)(.*_)?batch(_?size)?|bs|b")
# So many different problems are compared with all calls.
_MAX_PROBLEMS = 16


@dataclass(frozen=True)
class _Problem:
    """The arguments of a call by parameter, as text, without those of the kernel.

    `sizes` are those that are numbers or arrays, `bindings` the sizes of dynamic dimensions, `kind`
    is that of the program with the call.
    """

    arguments: Mapping[str, str]
    sizes: Mapping[str, str]
    bindings: Mapping[str, int] = field(default_factory=dict[str, int])
    kind: str = ""

    def is_same(self, other: _Problem) -> bool:
        """Whether two calls have sizes in common, and all that they have in common are equal."""
        common = self.sizes.keys() & other.sizes.keys()
        return bool(common) and all(self.sizes[name] == other.sizes[name] for name in common)


def with_one_problem(kernels: Sequence[KernelSource]) -> list[KernelSource]:
    """`kernels` of one file with their calls in other order, and with values to assume.

    The problem is that of the most typical call of one kernel, the one of which most kernels have a
    call; where one of these calls is a benchmark's, no test's. Only calls in other files change
    places: what the file itself or the user says stays first. A kernel without a call of this
    problem keeps its own. Where one kernel alone has a call, it is the problem of those without
    any. Those share what incomplete calls of them say, too.
    """
    problems = [_problems_of(kernel) for kernel in kernels]
    return _with_values_of_others(_with_common_problem(kernels, problems), problems)


def _with_common_problem(
    kernels: Sequence[KernelSource], problems: Sequence[Sequence[_Problem]]
) -> list[KernelSource]:
    """`kernels` with the calls and the values of the problem that most of them have."""
    distinct = {tuple(one[0].sizes.items()): one[0] for one in problems if one and one[0].sizes}
    typical = _without_tests(list(distinct.values()))[:_MAX_PROBLEMS]
    counts = [_count(problems, problem) for problem in typical]
    if max(counts, default=0) < 2 and len(typical) != 1:
        return list(kernels)
    chosen = typical[counts.index(max(counts))]
    return [
        _with_call_first(kernel, own, chosen)
        if any(one.arguments for one in own)
        else _with_values(kernel, chosen)
        for kernel, own in zip(kernels, problems, strict=True)
    ]


def _without_tests(problems: Sequence[_Problem]) -> list[_Problem]:
    """`problems` without those of tests where some are of benchmarks."""
    is_measured = any(problem.kind == "benchmark" for problem in problems)
    return [problem for problem in problems if not is_measured or problem.kind != "test"]


def _problems_of(kernel: KernelSource) -> list[_Problem]:
    """The problems of the calls that may come first: one if none of them is of another file."""
    found = list(itertools.takewhile(_is_of_repository, kernel.candidates))
    calls = found or kernel.candidates[:1]
    return [
        replace(
            _problem_of(kernel.name, kernel.parameters, call.expression),
            bindings=call.bindings,
            kind=call.kind,
        )
        for call in calls
    ]


def _is_of_repository(call: CallCandidate) -> bool:
    return call.source == "repository"


def _count(problems: Sequence[Sequence[_Problem]], problem: _Problem) -> int:
    """The number of kernels that have a call of `problem`."""
    return sum(any(other.is_same(problem) for other in one) for one in problems)


def _with_call_first(
    kernel: KernelSource, own: Sequence[_Problem], problem: _Problem
) -> KernelSource:
    """`kernel` with the first call of `problem` before the others."""
    place = next((place for place, other in enumerate(own) if other.is_same(problem)), 0)
    calls = list(kernel.candidates)
    calls.insert(0, calls.pop(place))
    return replace(kernel, candidates=tuple(calls))


def _with_values_of_others(
    kernels: Sequence[KernelSource], problems: Sequence[Sequence[_Problem]]
) -> list[KernelSource]:
    """`kernels` of which those without calls share the sizes that incomplete calls of them give.

    A kernel to whose parameter no call gives a value takes that of the one with the most of them.
    """
    is_open = [not any(one.arguments for one in own) for own in problems]
    given = [_sizes_in(kernel) for kernel, one in zip(kernels, is_open, strict=True) if one]
    shared: dict[str, str] = {}
    for sizes in sorted(given, key=len, reverse=True):
        shared = {**sizes, **shared}
    return [
        _with_missing(kernel, shared) if one else kernel
        for kernel, one in zip(kernels, is_open, strict=True)
    ]


def _sizes_in(kernel: KernelSource) -> dict[str, str]:
    """The sizes of the problem that incomplete calls give to parameters of a kernel."""
    return {
        name: values[0]
        for name, values in kernel.hints.items()
        if name in kernel.parameters
        and values
        and values[0].isdigit()
        # A kernel in a mode without experts has one of them.
        and (int(values[0]) > 1 or _IS_BATCH.fullmatch(name))
        and not _OF_KERNEL.fullmatch(name)
    }


def _with_missing(kernel: KernelSource, sizes: Mapping[str, str]) -> KernelSource:
    """A kernel with those of `sizes` that are of parameters to which nothing gives a value."""
    missing = {
        name: (size,)
        for name, size in sizes.items()
        if name in kernel.parameters and name not in kernel.hints
    }
    return replace(kernel, hints={**kernel.hints, **missing})


def _with_values(kernel: KernelSource, problem: _Problem) -> KernelSource:
    """A kernel without calls, with values to assume: of the problem if its own do not exclude it.

    Its own are those that incomplete calls of the kernel give to parameters.
    """
    hints = dict(kernel.hints)
    for name in kernel.parameters:
        if name in problem.arguments:
            own, value = hints.get(name, ()), problem.arguments[name]
            ordered = (value, *own) if value in own or not own else (*own, value)
            hints[name] = tuple(dict.fromkeys(ordered))
    dimensions = {name for names in kernel.dimensions.values() for name in names}
    for name, size in problem.bindings.items():
        if name in dimensions and name not in kernel.parameters:
            hints[name] = tuple(dict.fromkeys((*hints.get(name, ()), str(size))))
    return replace(kernel, hints=hints)


@functools.lru_cache(maxsize=8192)
def _problem_of(kernel: str, parameters: tuple[str, ...], expression: str) -> _Problem:
    """The problem of a call of `kernel`; empty if it is another's, or not understood."""
    call = _call_of(kernel, expression)
    if call is None:
        return _Problem({}, {})
    named = dict(zip(parameters, call.args, strict=False))
    named.update({item.arg: item.value for item in call.keywords if item.arg is not None})
    arguments = {
        name: ast.unparse(value)
        for name, value in named.items()
        if name in parameters and not _OF_KERNEL.fullmatch(name) and _is_value(value)
    }
    sizes = {name: text for name, text in arguments.items() if text.isdigit() or "(" in text}
    return _Problem(arguments, sizes)


def _call_of(kernel: str, expression: str) -> ast.Call | None:
    """The call of the kernel itself, also where that of its result follows."""
    try:
        node = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == kernel:
            return None if any(isinstance(item, ast.Starred) for item in node.args) else node
        node = node.func
    return None


def _is_value(node: ast.expr) -> bool:
    """Whether an argument means the same in every call: a constant, or the shape of an array."""
    names = (item.id for item in ast.walk(node) if isinstance(item, ast.Name))
    return all(name in ("torch", "T") for name in names)
