"""The mark of a section of a program, for ``tirlens capture``."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any


class section(ContextDecorator):  # noqa: N801  A context manager is called as a function is.
    """A part of a program whose launches can be reported by themselves.

    ``tirlens capture`` records the sections that each launch is inside of, so that a report can
    leave out the warm-up; without it nothing happens.  NVTX ranges and torch's ``record_function``
    are sections, too.

    Parameters
    ----------
    name
        The name for ``tirlens report --signpost NAME``.

    Examples
    --------
    >>> import tirlens
    >>> with tirlens.section("decode"):
    ...     pass
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> section:
        return self

    def __exit__(self, *_: Any) -> None:
        pass
