"""The interface of the readers of traces, and the choice of the one for a file.

A reader is a module of `readers` with the name `READER`; adding a format is one file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Protocol

from tirlens.measured import readers
from tirlens.measured.reading.trace_file import TraceError, TraceFile
from tirlens.measured.records import Record


class Reader(Protocol):
    """Reads one format."""

    @property
    def format_name(self) -> str:
        """The format in words, with the program that writes it: ``CSV of nsys stats``."""
        ...

    def recognises(self, trace: TraceFile) -> bool:
        """Whether the file has this format, decided by its content and not by its name."""
        ...

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """The records in the order of the file, in memory that does not grow with it.

        Raises
        ------
        TraceError
            The file ends before its format does, or is not what its beginning says.
        """
        ...


@cache
def all_readers() -> tuple[Reader, ...]:
    """The readers, by the names of their modules."""
    names = sorted(module.name for module in pkgutil.iter_modules(readers.__path__))
    modules = (importlib.import_module(f"{readers.__name__}.{name}") for name in names)
    return tuple(module.READER for module in modules)


def find_reader(trace: TraceFile) -> Reader | None:
    """The reader of a file, or None if it is no trace."""
    return next((reader for reader in all_readers() if reader.recognises(trace)), None)


def reader_of(trace: TraceFile) -> Reader:
    """The reader of a file that should be a trace.

    Raises
    ------
    TraceError
        No reader recognises it; the text says which formats are read.
    """
    reader = find_reader(trace)
    if reader is None:
        formats = ", ".join(reader.format_name for reader in all_readers())
        raise TraceError(f"{trace.path}: is no trace that is read. Formats: {formats}")
    return reader
