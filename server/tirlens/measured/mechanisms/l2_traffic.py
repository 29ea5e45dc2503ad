"""Sectors between L2 and the SMs that differ from the prediction: coalescing, and hits in L1."""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.mechanisms.mechanism import Mechanism, Question, disagreement, times
from tirlens.quantity_text import bytes_

SECTOR_BYTES = 32
LEAST_RATIO = 1.3
#: The least share of the measured time that L2 needs for the bytes, to be its cause.
LEAST_SHARE = 0.25

_SECTORS = (
    ("lts__t_sectors_srcunit_tex_op_read.sum", "lts__t_sectors_srcunit_tex_op_write.sum"),
    ("lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum"),
)
_ALL_SECTORS = ("lts__t_sectors_srcunit_tex.sum", "lts__t_sectors.sum")
_LOAD_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
_LOAD_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"


def check(question: Question) -> Iterator[Mechanism]:
    """More sectors of a slower kernel, or fewer of a faster one."""
    found = _sectors(question)
    predicted = question.report.l2_bytes
    if found is None or not predicted:
        return
    names, sectors = found
    measured = sectors * SECTOR_BYTES
    l2 = question.device.l2
    least_s = max(measured, predicted) / (l2.bytes_per_s * l2.sustained_fraction)
    longer_s = max(question.measured_s, question.report.time_s or 0.0)
    ratio = measured / predicted
    differs = ratio >= LEAST_RATIO if question.is_slower else ratio <= 1 / LEAST_RATIO
    if not differs or least_s < LEAST_SHARE * longer_s:
        return
    text = f"L2 sectors {times(measured, predicted)}: {bytes_(measured)}, not {bytes_(predicted)}"
    loads, requests = question.counter(_LOAD_SECTORS), question.counter(_LOAD_REQUESTS)
    if ratio > 1 and loads is not None and requests is not None and requests[1]:
        text += f"; {loads[1] / requests[1]:.1f} sectors a load request of a warp"
    yield Mechanism(
        "l2-sectors", text, measured, predicted, "bytes", names, disagreement(measured, predicted)
    )


def _sectors(question: Question) -> tuple[tuple[str, ...], float] | None:
    for names in _SECTORS:
        total = question.sum_counters(*names)
        if total is not None:
            return names, total
    whole = question.counter(*_ALL_SECTORS)
    return None if whole is None else ((whole[0],), whole[1])
