"""How the time of a block comes about: the runs of its software pipelines and warp roles.

The stages note them on request, for a timeline of the block.  The times of the block do not depend
on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...tree.node import CostNode, Leaf
from ...tree.timed_node import TimedNode

if TYPE_CHECKING:
    from .warp_roles.warp_program import Step


@dataclass(frozen=True)
class PipelineRun:
    """A pipelined loop of a block.

    Attributes
    ----------
    loads
        What is loaded ahead of its use.
    computation
        The other code, with its times over all iterations and executions in the block.
    iterations
        The iterations over all executions in the block.
    stages
        The buffers; 0 without any.
    transfer_s, latency_s
        Seconds of one iteration's transfers, and until the first bytes arrive.
    steady_s
        Seconds from one iteration to the next.
    """

    loads: tuple[Leaf, ...]
    computation: tuple[TimedNode, ...]
    iterations: float
    stages: int
    transfer_s: float
    latency_s: float
    steady_s: float


@dataclass(frozen=True)
class StepRun:
    """An execution of a step of a warp role.

    Without a `unit` it occupies the warps of the role from `begin_s` to `end_s`; the last `wait_s`
    of that they wait.  With one (``port`` or ``tensor``), it occupies that unit asynchronously and
    is complete at `complete_s`.
    """

    step: Step
    begin_s: float
    end_s: float
    wait_s: float = 0.0
    unit: str = ""
    complete_s: float = 0.0


@dataclass(frozen=True)
class RoleRun:
    """A warp role of a simulated block, which ends at `end_s`."""

    end_s: float
    steps: Sequence[StepRun]


@dataclass(frozen=True)
class BlockRecord:
    """The runs of one block: the pipelined loops by node, and each simulated group of roles."""

    pipelines: dict[CostNode, PipelineRun] = field(default_factory=dict[CostNode, PipelineRun])
    roles: list[list[RoleRun]] = field(default_factory=list[list[RoleRun]])
