"""The one place where numbers become text: labels, lenses, hovers, tables and reports use it.

ASCII only, SI prefixes, at most three significant digits, trailing zeros left out, halves rounded
away from zero.  An unknown value is ``?``, never 0.  An estimated time has two digits, and its band
where that is wide.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from tirlens.quantity_text import SMALL_PREFIXES, plain, with_prefix
from tirlens.quantity_text import bytes_ as bytes_
from tirlens.quantity_text import number as number
from tirlens.quantity_text import percent as percent
from tirlens.quantity_text import quantity as quantity
from tirlens.quantity_text import seconds as seconds
from tirlens.quantity_text import significant as significant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirlens.model.operations import Operations
    from tirlens.model.report import Advice, BreakdownEntry, KernelReport

INLAY_LIMIT = 30
"""The most characters of one inlay hint; VS Code cuts all hints of a line at 43 together."""
ESTIMATE_DIGITS = 2
"""The significant digits of estimated times and bytes."""
# From this ratio of its ends on, the band of a time is wide.
_WIDE_BAND = 2.0


def estimate(value_s: float | None, band_s: tuple[float, float] | None, note: str = "") -> str:
    """An estimated time: ``2.6 ms``, ``about 15 us (9 to 24)`` where its band is wide.

    A `note`, such as a change, stands in the brackets: ``about 15 us (9 to 24, -28%)``.
    """
    if value_s is None or not is_wide(band_s):
        return _with_notes(seconds(value_s, ESTIMATE_DIGITS), [note])
    assert band_s is not None
    exact = Decimal(repr(value_s))
    rounded = significant(exact, ESTIMATE_DIGITS)
    number, prefix = with_prefix(float(rounded), ESTIMATE_DIGITS, SMALL_PREFIXES)
    step = Decimal(1).scaleb(rounded.adjusted() - ESTIMATE_DIGITS + 1)
    scale = _exponent(prefix)
    low, high = (plain(_rounded_to(end, step).scaleb(-scale)) for end in band_s)
    return _with_notes(f"about {number} {prefix}s", [f"{low} to {high}", note])


def brief_estimate(
    value_s: float | None, band_s: tuple[float, float] | None, note: str = ""
) -> str:
    """An estimated time without its band: ``2.6 ms``, ``about 15 us``."""
    if value_s is not None and is_wide(band_s):
        rounded = significant(Decimal(repr(value_s)), ESTIMATE_DIGITS)
        return _with_notes(f"about {seconds(float(rounded), ESTIMATE_DIGITS)}", [note])
    return _with_notes(seconds(value_s, ESTIMATE_DIGITS), [note])


def is_wide(band_s: tuple[float, float] | None) -> bool:
    """Whether the ends of the band of a time differ by a factor of two or more."""
    return band_s is not None and band_s[0] > 0 and band_s[1] >= _WIDE_BAND * band_s[0]


def saving(value_s: float | None, time_s: float | None) -> str:
    """A part of a time, no more precise than the time is: ``0.5 ms`` of ``2.6 ms``."""
    if not value_s or not time_s:
        return seconds(value_s, ESTIMATE_DIGITS)
    number, prefix = with_prefix(float(time_s), ESTIMATE_DIGITS, SMALL_PREFIXES)
    scale = _exponent(prefix)
    decimals = len(number.partition(".")[2])
    part = _rounded_to(value_s, Decimal(1).scaleb(scale - decimals))
    return f"{plain(part.scaleb(-scale))} {prefix}s"


def _exponent(prefix: str) -> int:
    """The power of ten of a prefix of small quantities."""
    return next(exponent for exponent, name in SMALL_PREFIXES if name == prefix)


def _rounded_to(value: float, step: Decimal) -> Decimal:
    """`value` as a multiple of `step`; with one significant digit where it is less."""
    exact = Decimal(repr(value))
    rounded = exact.quantize(step, rounding=ROUND_HALF_UP)
    return rounded or significant(exact, 1)


def _with_notes(text: str, notes: Sequence[str]) -> str:
    said = ", ".join(filter(None, notes))
    return f"{text} ({said})" if said else text


def flop(value: float | None) -> str:
    """``137 GFLOP``; ``? FLOP`` for what is not known."""
    return quantity(value, "FLOP")


def work(operations: Operations, digits: int = 3) -> str:
    """``137 GFLOP``; ``34.4 GIOP`` where most of the operations are on integers."""
    return quantity(operations.main, operations_unit(operations), digits)


def operations_unit(operations: Operations) -> str:
    """The unit of the operations that `work` counts."""
    return "IOP" if operations.are_integer else "FLOP"


def all_work(operations: Operations) -> str:
    """``137 GFLOP``, or both units where both have a part: ``137 GFLOP, 2.1 GIOP``."""
    found = [quantity(operations.float_ops, "FLOP")] if operations.float_ops != 0 else []
    if operations.iop:
        found.append(quantity(operations.iop, "IOP"))
    return ", ".join(found) or quantity(0, "FLOP")


def compulsory(report: KernelReport) -> str:
    """``403 MB``, or ``at most 403 MB`` where the distinct bytes are not counted exactly."""
    text = bytes_(report.compulsory_bytes)
    is_bound = report.compulsory_bytes is not None and not report.compulsory_is_exact
    return f"at most {text}" if is_bound else text


def rate(value: float | None, unit: str) -> str:
    """A rate: ``701 TFLOP/s``, ``2.9 TB/s``."""
    return quantity(value, f"{unit}/s")


def count(number: int, noun: str) -> str:
    """``1 kernel``, ``3 kernels``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def title(kernel: KernelReport) -> str:
    """The name in the text, followed by the function's own name where that differs.

    What a function builds has the call of the function: ``build(1024).sch.bind (main)``.
    """
    own = kernel.name if kernel.name != kernel.definition.split(".")[-1] else ""
    name = kernel.definition
    function = kernel.call.partition("(")[0]
    if kernel.built is not None and function and name.startswith(f"{function}."):
        name = ascii_(kernel.call) + name[len(function) :]
    return f"{name} ({own})" if own else name


def ascii_(text: str) -> str:
    """`text` on one line, with characters other than printable ASCII replaced by ``?``."""
    return "".join(c if " " <= c <= "~" else " " if c.isspace() else "?" for c in text)


def inlay(
    time_s: float | None,
    share: float | None,
    flop_count: float | None,
    dram_bytes: float | None,
    change: str = "",
    unit: str = "FLOP",
) -> str:
    """The hint of one line: ``81 us 93% | 137 GFLOP | 1.2 GB``, ``81 us 93% (-28%) | 137 GFLOP``.

    Parts that are zero are left out, and the bytes where there is no room for them; `unit` is that
    of the operations. It has at most `INLAY_LIMIT` characters without a `change` of the time.
    """
    digits = ESTIMATE_DIGITS
    parts: list[str] = []
    if time_s is not None:
        changed = f" ({change})" if change else ""
        parts.append(f"{seconds(time_s, digits)} {percent(share)}{changed}")
    if flop_count:
        parts.append(quantity(flop_count, unit, digits))
    if dram_bytes:
        parts.append(quantity(dram_bytes, "B", digits))
    text = " | ".join(parts)
    return text if change else cut_hint(text, INLAY_LIMIT)


def cut_hint(label: str, most: int) -> str:
    """The first parts of a hint that have at most `most` characters together; may be empty.

    `most` is negative behind a line that is longer than the window.
    """
    while label and len(label) > most:
        label = label.rpartition(" | ")[0]
    return label


def in_brackets(label: str) -> str:
    """A hint of a line that has changed since, or of the text before a syntax error."""
    return f"({label})"


def cut(text: str, limit: int) -> str:
    """`text` with at most `limit` characters; ``...`` in place of what is cut off."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def shorten(call: str, limit: int = 28) -> str:
    """A call expression cut after an argument: ``matmul(8192, ...)``."""
    text = ascii_(" ".join(call.split()))
    if len(text) <= limit or "(" not in text:
        return cut(text, limit)
    head, _, arguments = text.partition("(")
    kept = ""
    depth = 0
    for index, character in enumerate(arguments):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            candidate = arguments[: index + 1] + " "
            if kept and len(head) + len(candidate) + 5 > limit:
                break
            kept = candidate
    return f"{head}({kept}...)"


def time_or_overlap(cost: BreakdownEntry) -> str:
    """``2.18 ms``, or ``695 us overlapped`` for work that slower work overlaps entirely."""
    if not cost.time_s and cost.overlapped_s:
        return f"{seconds(cost.overlapped_s)} overlapped"
    return seconds(cost.time_s)


def over_budget(kernel: KernelReport) -> list[str]:
    """``takes 140 us, more than its max-time of 120 us``, for each limit that it exceeds."""
    out: list[str] = []
    if "time_s" in kernel.over_budget:
        most = seconds(kernel.budget.time_s)
        out.append(f"takes {seconds(kernel.time_s)}, more than its max-time of {most}")
    if "dram_bytes" in kernel.over_budget:
        most = bytes_(kernel.budget.dram_bytes)
        moved = bytes_(kernel.dram_bytes.total)
        out.append(f"moves {moved} from and to DRAM, more than its max-dram of {most}")
    return out


def advice(found: Advice) -> str:
    """The change, followed by ``(saves about 292 us)`` if the saving is known."""
    gain = f" (saves about {seconds(found.saving_s)})" if found.saving_s else ""
    return f"{found.message}{gain}"
