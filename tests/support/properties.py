"""How many examples Hypothesis tries of a property."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings


def examples(number: int, derandomize: bool = False) -> settings:
    """Tries so many examples, or as many as the environment's TIRLENS_EXAMPLES asks for.

    `TIRLENS_EXAMPLES=20000 pytest --timeout=0 tests/unit/model` looks for what the quick runs miss.
    """
    asked = int(os.environ.get("TIRLENS_EXAMPLES", "0"))
    return settings(
        max_examples=max(number, asked),
        derandomize=derandomize and not asked,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
