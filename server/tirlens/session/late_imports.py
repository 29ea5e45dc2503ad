"""Late import of the analysis pipeline, in steps between which requests are answered.

Only the event loop imports: two threads that import at the same time can each receive a module
that the other has not completed.
"""

from __future__ import annotations

import asyncio
import importlib
import pkgutil

# From the lowest layer to the highest. The first takes longest.
_STEPS = (
    "tirlens_counting.arrays",
    "tirlens.hardware",
    "tirlens_counting.expressions",
    "tirlens.model",
    "tirlens.advice",
    "tirlens.pipeline",
)


async def import_pipeline() -> None:
    """Import `tirlens.pipeline` and the modules that it imports late itself."""
    for name in _STEPS:
        importlib.import_module(name)
        await asyncio.sleep(0)
    rules = importlib.import_module("tirlens.advice.rules")
    for module in pkgutil.iter_modules(rules.__path__, f"{rules.__name__}."):
        importlib.import_module(module.name)
        await asyncio.sleep(0)
