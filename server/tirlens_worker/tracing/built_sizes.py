"""The sizes of dynamic dimensions that the kernels of a file's statements have in common.

A module of Relax is called with one size of each dimension, and a schedule is shown before and
after each of its steps. Sizes that are assumed for each kernel by itself could differ between them.
"""

from __future__ import annotations

import contextlib
from typing import Dict, Mapping, Sequence

from ..facts import KernelFacts
from ..program.load import Loaded
from ..protocol import KernelRequest
from .assumed_sizes import assumed_sizes


class BuiltSizes:
    """The assumed sizes of an analysis by name, which the first statement with a name decides."""

    def __init__(self) -> None:
        self._sizes: Dict[str, int] = {}

    def of(
        self, loaded: Loaded, request: KernelRequest, kernels: Sequence[KernelFacts]
    ) -> Mapping[str, int]:
        """The sizes for the kernels of a statement: the least that any of them has by itself."""
        least: Dict[str, int] = {}
        for facts in kernels:
            # A failure is reported with the facts of the kernel.
            with contextlib.suppress(Exception):
                sizes, _ = assumed_sizes(loaded, request, facts, given=self._sizes)
                for name, size in sizes.items():
                    least[name] = min(size, least.get(name, size))
        self._sizes.update(least)
        return self._sizes
