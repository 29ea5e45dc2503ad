"""What would make measured operations faster, and how much time it could save.

`advice_for` runs every rule of `tirlens.measured.advice.rules`; a rule is one module there, with
its documentation in its docstring and an example that is its test.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Sequence

from tirlens.hardware import Device
from tirlens.measured.advice import rules
from tirlens.measured.advice.question import MeasuredAdvice, Question, Rule, question_of
from tirlens.measured.performance.rates import Performance
from tirlens.measured.records import Operation

__all__ = ["MeasuredAdvice", "Question", "advice_for"]

#: Savings below this share of the device time of all operations are left out. Gaps do not count:
#: those of a step that compiles are longer than all its operations.
NOTICEABLE_SHARE = 0.005


def advice_for(
    rows: Sequence[Performance], device_of: Callable[[Operation], Device | None]
) -> tuple[MeasuredAdvice, ...]:
    """The advice of every rule, the largest saving first; what saves no time is last.

    Parameters
    ----------
    rows
        The operations that are reported, in the order of their execution.
    device_of
        The catalogue's entry of the device that an operation ran on; None where it has none.
    """
    question = question_of(rows, device_of)
    least_s = NOTICEABLE_SHARE * question.busy_s
    found = [
        advice
        for rule in _rules()
        for advice in rule(question)
        if advice.saving_s is None or advice.saving_s >= max(least_s, 1e-12)
    ]
    return tuple(sorted(found, key=lambda one: -(one.saving_s or 0.0)))


@functools.cache
def _rules() -> tuple[Rule, ...]:
    names = sorted(module.name for module in pkgutil.iter_modules(rules.__path__))
    return tuple(importlib.import_module(f"{rules.__name__}.{name}").check for name in names)
