"""What a measured kernel is: one kernel of the workspace, or why none is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tirlens.measured.groups import Group
from tirlens.model.report import KernelReport, SequenceLaunch


@dataclass(frozen=True)
class Candidate:
    """A kernel of the workspace with one call.

    Attributes
    ----------
    path
        Its file.
    report
        Its figures on the device of the trace.
    """

    path: str
    report: KernelReport

    @property
    def launches(self) -> tuple[SequenceLaunch, ...]:
        """The launches of the function, in their order."""
        return self.report.sequence or (self.report.launch,)

    @property
    def is_assumed(self) -> bool:
        """Whether arguments or sizes are assumed: the launch of an execution may be another."""
        return bool(self.report.assumed) or self.report.call_source == "assumed"

    @property
    def title(self) -> str:
        """``gemm.py: matmul(4096, 4096, 4096)``, with the sizes of dynamic dimensions."""
        report = self.report
        sizes = ", ".join(f"{name}={size}" for name, size in report.bindings.items())
        found = f"{self.path}: {report.call or report.definition}" + (sizes and f" with {sizes}")
        return f"{found}, arguments assumed" if self.is_assumed else found


@dataclass(frozen=True)
class Unanalysed:
    """A kernel of the workspace without figures, with the names that its function may have."""

    path: str
    names: frozenset[str]
    reason: str

    @property
    def title(self) -> str:
        """The kernel and why it has no figures."""
        return f"{self.path}: {', '.join(sorted(self.names))}, not analysed: {self.reason}"


@dataclass(frozen=True)
class Match:
    """A measured kernel and the one kernel of the workspace that it is.

    Attributes
    ----------
    number
        Which launch of the function it is; None for all together.
    evidence
        What agrees: ``name``, ``grid``, ``block``, ``arguments``, ``call``, ``capture``.
    """

    group: Group
    candidate: Candidate
    number: int | None
    evidence: tuple[str, ...]

    @property
    def title(self) -> str:
        """The kernel, with the number of its launch where its function has several."""
        title = self.candidate.title
        if self.number is None or len(self.candidate.launches) < 2:
            return title
        return f"{title}, launch {self.number + 1}"

    @property
    def launch(self) -> SequenceLaunch:
        """The launch with its prediction, that of the whole function where `number` is None."""
        if self.number is None:
            return self.candidate.report.launch
        return self.candidate.launches[self.number]


@dataclass(frozen=True)
class Ambiguous:
    """A measured kernel that several kernels of the workspace fit, or cannot be excluded for."""

    group: Group
    titles: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Unmatched:
    """A measured kernel that none of the workspace fits.

    `is_named` where one has its name, `is_of_call` where the trace names the call.  `fitting` are
    calls that no file has and that would fit.
    """

    group: Group
    reason: str
    is_named: bool = False
    is_of_call: bool = False
    fitting: tuple[str, ...] = ()


Outcome: TypeAlias = Match | Ambiguous | Unmatched
