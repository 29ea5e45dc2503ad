"""What the analyses of all open documents share."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirlens import pipeline


class Caches:
    """The caches of the pipeline, each made when it is first needed.

    Importing the pipeline takes longer than an answer to the editor may.
    """

    @cached_property
    def parts(self) -> pipeline.PartCache:
        """The parts of earlier answers of workers."""
        from tirlens import pipeline

        return pipeline.PartCache()

    @cached_property
    def reports(self) -> pipeline.ReportCache:
        """The reports of kernels."""
        from tirlens import pipeline

        return pipeline.ReportCache()

    @cached_property
    def measured(self) -> pipeline.MeasuredFiles:
        """The measured times that are stored beside the files."""
        from tirlens import pipeline

        return pipeline.MeasuredFiles()
