"""The recording of ``nsys profile``, which NVIDIA's own program alone reads."""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.reading.trace_file import TraceError, TraceFile
from tirlens.measured.records import Record

# The beginning of .nsys-rep, and of .qdrep before version 2021.4.
_MAGIC = b"NVIDIA Tegra Profiler Report"


class NsightSystemsReport:
    """Says how to make a database of it: the format is not documented."""

    format_name = "recording of nsys profile, once it is exported"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether it begins as a recording."""
        return trace.head.startswith(_MAGIC)

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """None.

        Raises
        ------
        TraceError
            Always; the text has the command that exports it.
        """
        raise TraceError(
            f"{trace.path}: only Nsight Systems reads its recordings:"
            " nsys export --type sqlite FILE writes a database, which is read"
        )


READER = NsightSystemsReport()
