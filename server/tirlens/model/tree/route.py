"""What a statement becomes in the code of a device: how it copies, multiplies and is pipelined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tirlens_worker.facts import MatrixInstruction

#: ``tma``, ``async`` (cp.async), ``lds`` (AMD's ``global_load_lds``) or ``thread`` (loads and
#: stores of threads).
CopyRoute = Literal["tma", "async", "lds", "thread"]


@dataclass(frozen=True)
class Route:
    """What a statement becomes.

    Attributes
    ----------
    copy
        How a tile is copied between global and shared memory, or from global memory to registers;
        None for any other statement.
    is_ahead
        Whether a pipelined loop loads the tile for later iterations while it computes.
    buffers
        Buffers of the tile in shared memory that a pipelined loop loads; 0 outside of one.
    is_producers
        Whether warps that tilelang adds for copies execute it.
    instruction
        The family of a product's matrix instructions; None for any other statement.
    lost
        What the source asks for and the code is not, and why; empty where nothing is lost.
    """

    copy: CopyRoute | None = None
    is_ahead: bool = False
    buffers: int = 0
    is_producers: bool = False
    instruction: MatrixInstruction | None = None
    lost: str = ""


#: A statement that neither copies tiles nor multiplies them.
NO_ROUTE = Route()
