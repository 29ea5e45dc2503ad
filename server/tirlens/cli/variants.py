"""The same kernels under several conditions: devices, calls, revisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tirlens import pipeline
from tirlens.cli import outcome
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport


@dataclass(frozen=True)
class Variant:
    """One column: its heading and its reports."""

    name: str
    reports: tuple[FileReport, ...]

    def kernels(self) -> Iterator[tuple[str, KernelReport]]:
        """Each kernel with the path of its file."""
        for file in self.reports:
            for kernel in file.kernels:
                yield file.path, kernel


def variants_json(variants: Sequence[Variant]) -> dict[str, Any]:
    """What ``compare --format json`` prints."""
    return {
        "schema_version": pipeline.SCHEMA_VERSION,
        "variants": [
            {
                "name": variant.name,
                **pipeline.to_json(
                    variant.reports, outcome.device_of(variant.reports, pipeline.Options())
                ),
            }
            for variant in variants
        ],
    }
