"""bank-conflict: threads of a warp want different words of the same bank of shared memory.

Shared memory has 32 banks of 4 bytes, and a bank gives one word a clock (CUDA C++ Programming
Guide, "Shared Memory").  The rule asks what the kernel would take with the rows of the array padded
by one word, or by one vector where vectors are moved, and by more of them: a block that is not as
wide as a warp touches several rows at once.  tilelang swizzles its arrays itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.dtypes import byte_count
from tirlens.model.report import Advice
from tirlens.source.changes import LongerRows

BANK_BYTES = 4
#: Shared memory that is busy for less of the time cannot hold the kernel up noticeably.
LEAST_BUSY = 0.1
#: Paddings to try, in words or vectors.
PADDINGS = (1, 2, 4, 8, 16)


def check(question: Question) -> Iterator[Advice]:
    facts = question.facts
    busy = question.report.utilisation.get("shared", 0.0)
    if facts.framework == "tilelang" or busy < LEAST_BUSY:
        return
    for buffer in facts.buffers:
        shared = buffer.scope in ("shared", "shared.dyn") and buffer.alias_of is None
        if not shared or len(buffer.shape) < 2 or buffer.strides:
            continue
        touching = [
            (statement, access)
            for statement, _ in rewrite.statements(facts)
            for access in statement.accesses
            if access.buffer == buffer.id
        ]
        if not touching or any(access.route != "thread" for _, access in touching):
            continue
        size = byte_count(1, buffer.dtype) or BANK_BYTES
        word = max(max(access.lanes for _, access in touching), BANK_BYTES // size, 1)
        options = [
            (saving_s, -padding)
            for padding in (words * word for words in PADDINGS)
            if (saving_s := question.saving_s(rewrite.with_padding(facts, buffer, padding)))
            is not None
        ]
        saving_s, less = max(options, default=(None, 0))
        if question.is_noticeable(saving_s):
            sites = touching[0][0].sites
            yield Advice(
                rule="bank-conflict",
                span=sites[0] if sites else facts.span,
                severity="hint",
                message=(
                    f"{buffer.name} has bank conflicts: rows of {buffer.shape[-1]} + {-less} "
                    f"{buffer.dtype} in place of {buffer.shape[-1]} have none, or fewer"
                ),
                saving_s=saving_s,
                change=LongerRows(facts.span, buffer.name, -less),
            )
