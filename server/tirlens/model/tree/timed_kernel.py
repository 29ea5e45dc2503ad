"""The end of the stages: what the model of any kind of device finds of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from .busy import Busy
from .kernel_time import KernelTime
from .moved import Traffic
from .node import CostNode, Leaf, leaves_of
from .route import Route
from .table import Table
from .timed_node import TimedNode


@dataclass(frozen=True)
class TimedKernel:
    """A kernel with its time, and with what the stages find of its statements.

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
    node_times
        The time of a block of a GPU, or of a core of a CPU, node by node.
    time
        The time of the kernel.
    """

    tree: tuple[CostNode, ...]
    traffic: Table[Traffic]
    busy: Busy
    routes: Table[Route] | None
    node_times: TimedNode
    time: KernelTime

    @cached_property
    def leaves(self) -> Sequence[Leaf]:
        """The statements in program order."""
        return leaves_of(self.tree)

    def l2_bytes(self, leaf: Leaf) -> float:
        """Bytes between the SMs and L2: of arrays in global memory, and of spills."""
        spills = self.busy.spills[leaf]
        return self.traffic[leaf].l2_bytes + spills.stored_bytes + spills.missed_bytes
