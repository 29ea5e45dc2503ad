"""Which functions a mutant changes, and their replacement in a running process."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType


@dataclass(frozen=True)
class FunctionKey:
    """Names a function across processes; functions of one line may share it."""

    file: str
    name: str
    line: int

    @classmethod
    def of(cls, code: CodeType) -> FunctionKey:
        return cls(code.co_filename, code.co_name, code.co_firstlineno)


def changed_functions(file: Path, before: str, after: str) -> dict[CodeType, CodeType]:
    """The functions of `file` whose code differs, with the code that they have in `after`.

    A function around a changed one has changed as well. What only differs in the body of a class or
    of the module has no function.
    """
    old = compile(before, str(file), "exec", dont_inherit=True)
    new = compile(after, str(file), "exec", dont_inherit=True)
    return {
        one: other
        for one, other in _pairs(old, new)
        if one != other and one.co_flags & inspect.CO_OPTIMIZED
    }


def _pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    yield old, new
    ours, theirs = (
        [one for one in code.co_consts if isinstance(one, CodeType)] for code in (old, new)
    )
    for one, other in zip(ours, theirs, strict=True):
        yield from _pairs(one, other)


def replace_code(changed: dict[CodeType, CodeType]) -> int:
    """Give the functions of this process that have a code of `changed` the other one.

    Returns
    -------
    The number of functions with another code.
    """
    files = {code.co_filename for code in changed}
    replaced = 0
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename in files:
            code = changed.get(each.__code__)
            if code is not None:
                each.__code__ = code
                replaced += 1
    return replaced
