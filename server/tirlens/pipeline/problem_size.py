"""One problem size for the kernels of a file.

The kernels of an operator (forward and backward, both steps of a split reduction) are factories
with parameters of the same names. Each has calls of its own, and these may be of different
problems: one kernel is called by a benchmark, the other by a test. Times of different problems are
not to be compared or added, so the calls of one problem come first where the kernels have them, and
what is assumed for a kernel is assumed as the calls of the others have it.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tirlens.source.source_file import KernelSource

# Parameters that are chosen for a kernel, not for a problem.
_OF_KERNEL = re.compile(
    r"(?i).*(block|blk|tile|thread|stage|warp|split|unroll|vec|swizzle|pipeline|config|layout|cta)"
    r".*|b[mnk]"
)


# So many different problems are compared.
_MAX_PROBLEMS = 64


def with_one_problem(kernels: Sequence[KernelSource]) -> list[KernelSource]:
    """`kernels` of one file with their calls in other order, and with values to assume.

    The problem is the arguments of one call. It is the call with which most arguments of the same
    name agree, if each kernel takes the call that agrees best. Only calls in other files change
    places: what the file itself or the user says stays first. Of calls that agree equally well,
    the one that was first stays first.
    """
    calls = [_Calls(kernel) for kernel in kernels]
    by_rank = itertools.chain.from_iterable(itertools.zip_longest(*(one.problems for one in calls)))
    distinct = {frozenset(problem.items()): problem for problem in by_rank if problem}
    problems = itertools.islice(distinct.values(), _MAX_PROBLEMS)
    chosen = max(problems, key=lambda problem: _agreement(calls, problem), default=dict[str, str]())
    ordered = [one.ordered_by(chosen) for one in calls]
    counts: dict[str, Counter[str]] = {}
    for one in ordered:
        for name, text in itertools.chain.from_iterable(p.items() for p in one.problems[:1]):
            counts.setdefault(name, Counter())[text] += 1
    values = {name: texts.most_common(1)[0][0] for name, texts in counts.items()} | chosen
    return [one.kernel if one.problems else _with_values(one.kernel, values) for one in ordered]


class _Calls:
    """The calls of a kernel between which the problem decides, and their problems.

    `problems` has the arguments by name: of the first call alone if it is none of another file.
    """

    def __init__(self, kernel: KernelSource) -> None:
        self.kernel = kernel
        count = sum(item.source == "repository" for item in kernel.candidates)
        first = kernel.candidates[: max(count, 1)]
        self._is_free = all(item.source == "repository" for item in first)
        self._calls = first if self._is_free else first[:1]
        self.problems = [_problem_of(kernel, item.expression) for item in self._calls]

    def ordered_by(self, problem: Mapping[str, str]) -> _Calls:
        """The same calls, those that agree best with `problem` first."""
        if len(self._calls) < 2:
            return self
        ranks = sorted(
            range(len(self._calls)), key=lambda i: -len(self.problems[i].items() & problem.items())
        )
        ordered = tuple(self._calls[rank] for rank in ranks)
        rest = self.kernel.candidates[len(ordered) :]
        return _Calls(replace(self.kernel, candidates=(*ordered, *rest)))


def _agreement(calls: Sequence[_Calls], problem: Mapping[str, str]) -> int:
    """The number of arguments that agree with `problem` in the best calls of all kernels."""
    return sum(
        max((len(other.items() & problem.items()) for other in one.problems), default=0)
        for one in calls
    )


def _with_values(kernel: KernelSource, values: Mapping[str, str]) -> KernelSource:
    """A kernel without calls, with values to assume: of the problem if its own do not exclude it.

    Its own are those that incomplete calls of the kernel give to parameters.
    """
    hints = dict(kernel.hints)
    for name in kernel.parameters:
        if name in values:
            own = hints.get(name, ())
            first = values[name] in own or not own
            ordered = (values[name], *own) if first else (*own, values[name])
            hints[name] = tuple(dict.fromkeys(ordered))
    return replace(kernel, hints=hints)


def _problem_of(kernel: KernelSource, expression: str) -> dict[str, str]:
    """The arguments of a call by name, as text, without those that are chosen for the kernel."""
    call = _call_of(kernel, expression)
    if call is None:
        return {}
    named = dict(zip(kernel.parameters, call.args, strict=False))
    named.update({item.arg: item.value for item in call.keywords if item.arg is not None})
    return {
        name: ast.unparse(value)
        for name, value in named.items()
        if name in kernel.parameters and not _OF_KERNEL.fullmatch(name) and _is_value(value)
    }


def _call_of(kernel: KernelSource, expression: str) -> ast.Call | None:
    """The call of the kernel itself, also where that of its result follows."""
    try:
        node = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == kernel.name:
            return None if any(isinstance(item, ast.Starred) for item in node.args) else node
        node = node.func
    return None


def _is_value(node: ast.expr) -> bool:
    """Whether an argument means the same in every call: a constant, or the shape of an array."""
    names = (item.id for item in ast.walk(node) if isinstance(item, ast.Name))
    return all(name in ("torch", "T") for name in names)
