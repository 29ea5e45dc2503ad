"""What the stage of the units hands on: how long each statement keeps each unit busy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .table import Table


@dataclass(frozen=True)
class Spills:
    """What of a statement's arrays and registers is in local memory, over the launch.

    Attributes
    ----------
    read_bytes
        The bytes that its threads load.
    stored_bytes
        The bytes that they store there; L1 writes them through to L2.
    missed_bytes
        Those of `read_bytes` that L1 does not have.
    """

    read_bytes: float
    stored_bytes: float
    missed_bytes: float


#: The spills of a statement without any.
NO_SPILLS = Spills(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Busy:
    """What the stage of the units finds.

    Attributes
    ----------
    unit_s
        Seconds for which each statement keeps each unit of the whole device busy, by unit.
    spills
        The spills of each statement.
    """

    unit_s: Table[Mapping[str, float]]
    spills: Table[Spills]
