"""How many examples Hypothesis tries of a property."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_WHOLE = 100
"""Hypothesis' own number of examples, which the quick profile halves."""


def examples(number: int, derandomize: bool = False) -> settings:
    """Tries so many examples, or as many as the environment's TIRLENS_EXAMPLES asks for.

    The quick loop tries half of them, as of properties that state no number.

    `TIRLENS_EXAMPLES=20000 pytest --timeout=0 tests/unit/model` looks for what the quick runs miss.
    """
    asked = int(os.environ.get("TIRLENS_EXAMPLES", "0"))
    share = settings.default.max_examples / _WHOLE if settings.default else 1.0
    return settings(
        max_examples=max(round(number * share), asked),
        derandomize=derandomize and not asked,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
