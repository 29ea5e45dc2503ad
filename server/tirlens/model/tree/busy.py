"""What the stage of the units hands on: how long each statement keeps each unit busy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .table import Table


@dataclass(frozen=True)
class Spills:
    """The register arrays of a statement that are in local memory.

    Attributes
    ----------
    share
        The share of its register arrays.
    stored_bytes
        The bytes that its threads store there over the launch; L1 writes them through to L2.
    """

    share: float
    stored_bytes: float


#: The spills of a statement without any.
NO_SPILLS = Spills(0.0, 0.0)


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
