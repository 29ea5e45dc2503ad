"""The numbers of problems in paths, as benchmarks of generated kernels write them.

A problem of KernelBench is ``level1/12_Matmul.py``, a solution of it
``runs/name/level_1_problem_12_sample_0_kernel.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

_LEVEL = r"(?<![a-z])l(?:evel|v)?[_-]?(\d+)(?!\d)"
_AFTER_LEVEL = re.compile(_LEVEL + r"[_-](?:problem|p)?[_-]?(\d+)(?!\d)")
_PROBLEM = re.compile(r"(?<![a-z])(?:problem|task|p)[_-]?(\d+)(?!\d)")
_AT_THE_START = re.compile(r"(\d+)(?=[_.-]|$)")


def files_of_number(path: str, others: Iterable[str]) -> Iterator[str]:
    """Those of `others` with the problem's number of `path`; first those that name its level, too.

    A level that both name is the same.
    """
    number = problem_number(path)
    if number is None:
        return
    exact: list[str] = []
    without_level: list[str] = []
    for other in others:
        found = problem_number(other)
        if other == path or found is None or found[1] != number[1]:
            continue
        if found[0] == number[0]:
            exact.append(other)
        elif None in (found[0], number[0]):
            without_level.append(other)
    yield from (*exact, *without_level)


def problem_number(path: str) -> tuple[int | None, int] | None:
    """The level, None if there is none, and the number of a problem; None without a number."""
    parts = PurePosixPath(path.lower()).with_suffix("").parts
    levels = [int(level) for part in parts for level in re.findall(_LEVEL, part)]
    level = levels[-1] if levels else None
    for part in reversed(parts):
        for pattern in (_AFTER_LEVEL, _PROBLEM, _AT_THE_START):
            found = pattern.match(part) if pattern is _AT_THE_START else pattern.search(part)
            if found is not None:
                return level, int(found.group(found.lastindex or 0))
    return None
