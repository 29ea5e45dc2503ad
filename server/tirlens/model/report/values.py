"""The values of a report that have several parts."""

from __future__ import annotations

from dataclasses import dataclass

from tirlens.source.edits import Change, Replacement
from tirlens_worker.facts import Span


@dataclass(frozen=True)
class ReadWrite:
    """Bytes read and written."""

    read: int | None
    write: int | None

    @property
    def total(self) -> int | None:
        """The sum in bytes; None where one of both is not known."""
        if self.read is None or self.write is None:
            return None
        return self.read + self.write


@dataclass(frozen=True)
class ArrayShape:
    """An array that the kernel takes; `shape` is None where a dimension is not known."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class Occupancy:
    """Blocks resident on one SM, the fraction of its warp slots they fill, and what limits them."""

    blocks_per_sm: int
    fraction: float
    limiter: str


@dataclass(frozen=True)
class Waves:
    """`count` full and partial waves of blocks; `tail_fraction` of the time the SMs wait."""

    count: float
    tail_fraction: float


@dataclass(frozen=True)
class Advice:
    """A change that the model expects to help, with its predicted saving.

    `action` is the change in a few words, a plural noun to be followed by "save 0.7 ms": ``3
    stages``.
    `change` is what to write where that needs no thought, `edit` how that is written in the text,
    if it can be in one place.  It `is_tried` if the framework has accepted the edit, and `saving_s`
    is the difference of both texts.
    """

    rule: str
    span: Span
    severity: str
    message: str
    action: str
    saving_s: float | None = None
    change: Change | None = None
    edit: Replacement | None = None
    is_tried: bool = False

    @property
    def offered_edit(self) -> Replacement | None:
        """The edit, once it was tried."""
        return self.edit if self.is_tried else None


@dataclass(frozen=True)
class CaveatNote:
    """What is assumed, left out or not known, and where.

    `is_spill`: it says that the registers of a thread do not hold its part of the tiles.
    `is_defect`: the kernel itself is wrong, for example where it reads past the end of an array.
    """

    message: str
    span: Span | None = None
    is_spill: bool = False
    is_defect: bool = False


@dataclass(frozen=True)
class SequenceLaunch:
    """One of the launches of a function that launches several kernels in sequence."""

    grid: tuple[int, ...]
    threads_per_block: int | None
    shared_bytes_per_block: int | None
    time_s: float | None
    time_band_s: tuple[float, float] | None
    roofline_time_s: float | None
    bound: str | None


@dataclass(frozen=True)
class MeasuredTime:
    """A measured time of a kernel with the same call, from the file of measured times.

    `time_s` is the median or mean of one execution, `low_s` and `high_s` its 10th and 90th
    percentile.  `measured_at_s` is Unix time.  `is_edited`: the kernel's text is another since;
    None where that is not known.  `edits` are the saved texts of the kernel since, where they are
    known.
    """

    device_id: str
    time_s: float
    measured_at_s: float
    tool: str
    low_s: float | None = None
    high_s: float | None = None
    samples: int | None = None
    board: str = ""
    is_edited: bool | None = None
    edits: int | None = None
