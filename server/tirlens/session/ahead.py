"""Import what an analysis needs in steps, between which requests are answered.

All importing is the event loop's: when two threads import at the same time, each may be handed a
module of the other's that is not complete.
"""

from __future__ import annotations

import asyncio
import importlib
import pkgutil

# From the lowest to the highest; the first is the slowest.
_STEPS = (
    "numpy",
    "tirlens.hardware",
    "tirlens_counting.expressions",
    "tirlens.model",
    "tirlens.advice",
    "tirlens.pipeline",
)


async def import_pipeline() -> None:
    """Import `tirlens.pipeline` and what it imports late itself."""
    for name in _STEPS:
        importlib.import_module(name)
        await asyncio.sleep(0)
    rules = importlib.import_module("tirlens.advice.rules")
    for module in pkgutil.iter_modules(rules.__path__, f"{rules.__name__}."):
        importlib.import_module(module.name)
        await asyncio.sleep(0)
