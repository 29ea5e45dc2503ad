"""What to change in a kernel, and how much it would save.

`advise` runs every rule of `tirlens.advice.rules`; a rule is one module there, with its
documentation in its docstring and its tests beside those of its name.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from tirlens.advice import rules
from tirlens.advice.rule import Question, Rule
from tirlens.model.report import Advice

__all__ = ["Question", "advise"]

_SEVERITIES = ("error", "warning", "info", "hint")


def advise(question: Question) -> tuple[Advice, ...]:
    """The advice of every rule, errors first, then by predicted saving."""
    if not question.report.has_counts:
        return ()
    found = [advice for rule in _rules() for advice in question.answer(rule)]
    found.sort(key=lambda one: (_SEVERITIES.index(one.severity), -(one.saving_s or 0.0)))
    return tuple(found)


@functools.cache
def _rules() -> tuple[Rule, ...]:
    names = sorted(module.name for module in pkgutil.iter_modules(rules.__path__))
    return tuple(importlib.import_module(f"{rules.__name__}.{name}").check for name in names)
