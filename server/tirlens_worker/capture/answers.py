"""Functions in place of those that would ask a GPU."""

from __future__ import annotations

from typing import Any, Callable


def returns(value: Any) -> Callable[..., Any]:
    """A function of any arguments that returns `value`."""

    def answer(*_: Any, **__: Any) -> Any:
        return value

    return answer
