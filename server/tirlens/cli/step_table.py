"""The table of ``tirlens report --by-launches``: what a captured step costs, by kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.ide import call_text, labels, places
from tirlens.pipeline import FileReport
from tirlens.pipeline.step_cost import CallCost, KernelCost, StepCost, step_cost

# Calls of a kernel that have rows of their own.
_MAX_CALLS = 5
_MAX_OTHERS = 4
_LEAST_CALL = 24


def print_step(
    out: Console, reports: Sequence[FileReport], others: Mapping[str, int] | None = None
) -> None:
    """Print the table of the captured step; `others` are the operations of other libraries."""
    out.print(step_table(step_cost(reports, others)))
    out.print()


def step_table(step: StepCost) -> Table:
    """A row for each kernel, then one for each of its calls, and the sum."""
    out = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    out.add_column("kernel", min_width=_LEAST_CALL)
    share = "share" if step.is_complete else "of the sum"
    for name in ("launches", "time", "sum", share, "bound"):
        out.add_column(name, justify="left" if name == "bound" else "right", no_wrap=True)
    for kernel in step.kernels:
        _add_kernel(out, kernel)
    out.add_section()
    # A share of what is known only is no share of the step.
    out.add_row(
        Text("all" if step.is_complete else "sum of these kernels", style="bold"),
        f"{step.launches:,}",
        "",
        labels.seconds(step.total_s),
        labels.percent(1.0 if step.total_s else None) if step.is_complete else "",
        "",
    )
    if step.others:
        names = sorted(step.others, key=lambda name: -step.others[name])
        listed = ", ".join(names[:_MAX_OTHERS])
        rest = f" and {len(names) - _MAX_OTHERS} more" if len(names) > _MAX_OTHERS else ""
        out.add_row(
            Text(f"{listed}{rest}", style="bold", no_wrap=True, overflow="ellipsis"),
            f"{sum(step.others.values()):,}",
            "",
            "not known",
            "",
            "not estimated",
        )
    if step.unknown_launches:
        out.add_row(
            Text("launches without a time", style="bold"),
            f"{step.unknown_launches:,}",
            "",
            "not known",
        )
    return out


def _add_kernel(out: Table, kernel: KernelCost) -> None:
    first = kernel.calls[0]
    name = f"{labels.title(first.report)}  {places.place(first.path, first.report.span)}"
    single = first if len(kernel.calls) == 1 else None
    out.add_row(
        Text(name, style="bold", no_wrap=True, overflow="ellipsis"),
        f"{kernel.launches:,}",
        labels.seconds(single.report.time_s) if single else "",
        labels.seconds(kernel.total_s),
        labels.percent(kernel.share),
        (single.report.bound or "") if single else "",
    )
    for call in kernel.calls[:_MAX_CALLS]:
        _add_call(out, call, single is None)
    if len(kernel.calls) > _MAX_CALLS:
        rest = kernel.calls[_MAX_CALLS:]
        out.add_row(
            f"  {len(rest)} more calls",
            f"{sum(call.launches for call in rest):,}",
            "",
            labels.seconds(sum(call.total_s or 0.0 for call in rest)),
        )


def _add_call(out: Table, call: CallCost, has_figures: bool) -> None:
    assumed = call.report.assumed
    sizes = ", ".join(
        f"{name}={size}{' (depends on data)' if name in assumed else ''}"
        for name, size in call.report.bindings.items()
    )
    text = ", ".join(filter(None, (call_text.readable(call.report.call), sizes)))
    row = [Text(f"  {text}", style="dim", no_wrap=True, overflow="ellipsis")]
    if has_figures:
        figures = (
            f"{call.launches:,}",
            labels.seconds(call.report.time_s),
            labels.seconds(call.total_s),
            "",
            call.report.bound or call.report.status,
        )
        row += [Text(figure) for figure in figures]
    out.add_row(*row)
