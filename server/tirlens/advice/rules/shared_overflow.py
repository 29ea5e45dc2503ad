"""shared-overflow: a block asks for more shared memory than the device gives to one.

Such a kernel fails at compile time or at launch.  Limits are those of the CUDA programming guide,
table of technical specifications by compute capability, and stand in the device's file.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice.rule import Question
from tirlens.model.report import Advice


def check(question: Question) -> Iterator[Advice]:
    asked = question.report.shared_bytes_per_block
    limit = question.device.limits.shared_bytes_per_block
    if question.device.kind == "gpu" and asked is not None and asked > limit:
        yield Advice(
            rule="shared-overflow",
            span=question.facts.span,
            severity="error",
            message=(
                f"a block needs {asked} bytes of shared memory and {question.device.id} gives "
                f"{limit}: use smaller tiles or fewer stages"
            ),
        )
