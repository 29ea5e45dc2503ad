"""What the route of a statement depends on: its kernel, its pipelined loop, and its branches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Buffer, KernelFacts, LoweredLaunch

from ...counting.kernel_counts import AccessCount
from ...tree.compiled import Instructions
from ...tree.node import BranchCost, CostNode
from ...tree.route import CopyRoute
from ...tree.table import Table

#: The scopes of shared memory that copies of tiles fill.


@dataclass(frozen=True)
class RoutedKernel:
    """What the routes of a kernel's statements depend on; `ids` has arrays by lowered name."""

    facts: KernelFacts
    device: Device
    lowered: LoweredLaunch | None
    ids: Mapping[str, str]
    instructions: Table[Instructions]

    @property
    def is_tilelang(self) -> bool:
        """Whether tilelang's rules choose the routes."""
        return self.facts.framework == "tilelang"

    @property
    def has_tma(self) -> bool:
        """Whether the device has TMA, and the kernel does not disable it."""
        return "tma" in self.device.features and self.facts.attributes.get("tma") is not False

    @property
    def async_copy(self) -> CopyRoute | None:
        """The asynchronous copies to shared memory that threads issue; None without any."""
        if "cp.async" in self.device.features:
            return "async"
        return "lds" if self.device.arch == "gfx950" else None

    def buffer_of(self, entry: AccessCount) -> Buffer:
        """The array of an access, and not a view of it."""
        owner = entry.buffer.alias_of
        if owner is None:
            return entry.buffer
        return next((one for one in self.facts.buffers if one.id == owner), entry.buffer)


@dataclass(frozen=True)
class Pipeline:
    """The pipelined loop around a statement, of so many stages; `is_divided` into warp roles."""

    stages: int
    is_divided: bool = False


NO_PIPELINE = Pipeline(0)


@dataclass(frozen=True)
class Guard:
    """The branches between a statement and its pipelined loop; `has_sides`: one has an else."""

    is_there: bool = False
    has_sides: bool = False

    def inside(self, node: CostNode) -> Guard:
        """The branches around the children of `node`, which these are around."""
        if not isinstance(node, BranchCost):
            return self
        return Guard(True, self.has_sides or bool(node.source.orelse))


NO_GUARD = Guard()
