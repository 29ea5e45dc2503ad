"""The costs of a kernel's statements that a report tells, whatever device they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from .busy import Busy
from .moved import Traffic
from .node import CostNode, Leaf, leaves_of
from .route import Route
from .table import Table


@dataclass(frozen=True)
class Leafs:
    """What the stages find of the statements of a kernel.

    Attributes
    ----------
    tree
        The kernel.
    traffic
        The bytes that each statement moves.
    busy
        For how long each statement keeps the units of the device busy, and its spills.
    routes
        What each statement becomes; None for code of a CPU, and of no device.
    """

    tree: tuple[CostNode, ...]
    traffic: Table[Traffic]
    busy: Busy
    routes: Table[Route] | None

    @cached_property
    def leaves(self) -> Sequence[Leaf]:
        """The statements in program order."""
        return leaves_of(self.tree)

    def l2_bytes(self, leaf: Leaf) -> float:
        """Bytes between the SMs and L2: of arrays in global memory, and of spills."""
        return self.traffic[leaf].l2_bytes + self.busy.spills[leaf].stored_bytes
