"""not-vectorized: each thread moves one narrow element where it could move a vector of 16 bytes.

A load or store instruction moves up to 16 bytes a thread; with less, the same bytes take more
instructions and more threads to keep as many under way (NVIDIA, "CUDA Pro Tip: Increase
Performance with Vectorized Memory Access").  The rule asks what the kernel would take with
T.vectorized over neighbouring elements.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.dtypes import byte_count
from tirlens.model.report import Advice

VECTOR_BYTES = 16


def check(question: Question) -> Iterator[Advice]:
    facts = question.facts
    loop = rewrite.thread_loop(facts)
    if facts.framework == "tilelang" or loop is None or question.device.kind != "gpu":
        return
    touched = {access.buffer for one, _ in rewrite.statements(facts) for access in one.accesses}
    arrays = [item for item in facts.buffers if item.id in touched and item.scope == "global"]
    sizes = [byte_count(1, item.dtype) or VECTOR_BYTES for item in arrays]
    width = VECTOR_BYTES // max(sizes, default=VECTOR_BYTES)
    options: list[tuple[float, int]] = []
    while width > 1:
        changed = rewrite.with_vectors(facts, width)
        saving_s = question.saving_s(changed) if changed is not None else None
        if saving_s is not None:
            options.append((saving_s, width))
        width //= 2
    saving_s, width = max(options, default=(None, 0))
    if question.is_noticeable(saving_s):
        yield Advice(
            rule="not-vectorized",
            span=loop.sites[0] if loop.sites else facts.span,
            severity="hint",
            message=f"each thread moves one element: T.vectorized({width}) moves {width} at once",
            saving_s=saving_s,
        )
