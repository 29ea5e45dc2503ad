"""The model's entry: facts, a device and bindings to a report.

The way of a kernel: `_analyze` substitutes known data and counts (`workload`); `reporting` composes
the report of what `gpu` or `cpu` find of its time.
"""

from __future__ import annotations

from collections.abc import Mapping

from tirlens.hardware.spec import Device
from tirlens_worker.facts import KernelFacts

from .counting.data_substitution import bind_data_extents, split_rows_evenly
from .multi_kernel import merge_reports, split_kernels
from .report import KernelReport
from .reporting.composition import compose_report
from .reporting.identity import identify, identity_notes, resolve_sizes
from .workload import Workload, count_workload


def analyze(
    facts: KernelFacts,
    device: Device,
    bindings: Mapping[str, int] | None = None,
    known: Workload | None = None,
    by_line: bool = True,
) -> KernelReport:
    """The cost of a kernel on a device.

    Parameters
    ----------
    facts
        The kernel, as extracted from its IR.
    device
        The device.
    bindings
        Sizes of shape variables.  A variable without one has the size of the facts' call, else an
        assumed size, which the report names.
    known
        The workload of these facts, or of facts with the same counts, to be reused.
    by_line
        Whether the report has the breakdown by line; what-ifs that compare times need none.

    Returns
    -------
    The report.  A number that cannot be known is None with a caveat.  Facts that the model cannot
    handle have the status ``error`` or ``needs-bindings``.  The function is pure, takes
    milliseconds and never raises.
    """
    try:
        return _analyze(facts, device, bindings, known, by_line)
    except Exception as error:  # the model must not take the editor down, whatever the facts
        message = f"the model could not handle this kernel: {type(error).__name__}: {error}"
        return KernelReport(
            **vars(identify(facts, device, bindings)),
            status="error",
            message=message,
            caveats=identity_notes(facts, device, bindings),
        )


def workload_of(facts: KernelFacts, bindings: Mapping[str, int] | None = None) -> Workload | None:
    """The workload that several calls of `analyze` for these or similar facts share.

    None for a function with several kernels, and for facts that the model cannot handle.
    """
    try:
        facts = split_rows_evenly(facts)
        if len(split_kernels(facts)) > 1:
            return None
        sizes = resolve_sizes(facts, bindings)
        return count_workload(bind_data_extents(facts, sizes), sizes)
    except Exception:  # `analyze` reports it
        return None


def _analyze(
    facts: KernelFacts,
    device: Device,
    bindings: Mapping[str, int] | None,
    known: Workload | None,
    by_line: bool,
) -> KernelReport:
    counted_sizes = known.counted.bindings if known is not None and known.facts is facts else None
    if counted_sizes is None:
        facts = split_rows_evenly(facts)
    parts = split_kernels(facts)
    if len(parts) > 1:
        return merge_reports([analyze(part, device, bindings, None, by_line) for part in parts])
    sizes = resolve_sizes(facts, bindings)
    if counted_sizes != sizes:
        facts = bind_data_extents(facts, sizes)
    found = None if known is None else known.for_facts(facts, sizes)
    return compose_report(
        identify(facts, device, bindings),
        identity_notes(facts, device, bindings),
        found or count_workload(facts, sizes),
        device,
        by_line,
    )
