"""not-pipelined: a loop loads tiles into shared memory and waits for them in every iteration.

With `num_stages` of 2 or more, tilelang's T.Pipelined loads the tiles of later iterations while the
current ones are computed with, at the price of one shared buffer a stage.  The rule tries 2 to 4
stages and reports the best that fits into shared memory; what two do not help, more do not.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens.source.changes import LoopKind
from tirlens_worker.facts import Loop

#: Loops that T.Pipelined can take the place of.  Those of blocks and threads take no turns.
IN_TURN = frozenset({"serial", "pipelined", "unroll"})


def check(question: Question) -> Iterator[Advice]:
    if question.facts.framework != "tilelang":
        return
    shared = {buffer.id for buffer in question.facts.buffers if buffer.scope.startswith("shared")}
    for loop, _ in rewrite.loops(question.facts):
        now = loop.annotations.get("num_stages", 0)
        if now > 1 or loop.kind not in IN_TURN or not loop.sites:
            continue
        if not _loads_tiles(loop, shared):
            continue
        options = list(_options(question, loop))
        if not options:
            continue
        saving_s, stages = max(options, key=lambda option: (option[0], -option[1]))
        if question.is_noticeable(saving_s):
            yield Advice(
                rule="not-pipelined",
                span=loop.sites[0],
                severity="hint",
                message=(
                    "loads and compute take turns in every iteration; "
                    f"T.Pipelined(..., num_stages={stages}) {'in place of 1 ' if now else ''}"
                    "overlaps them"
                ),
                saving_s=saving_s,
                change=LoopKind(loop.sites[0], "Pipelined", stages),
            )


def _options(question: Question, loop: Loop) -> Iterator[tuple[float, int]]:
    """What each number of stages saves, as long as more of them can save anything."""
    for stages in (2, 3, 4):
        saving_s = question.saving_s(rewrite.with_stages(question.facts, loop, stages))
        if saving_s is None or saving_s <= 0.0:
            return
        yield saving_s, stages


def _loads_tiles(loop: Loop, shared: set[str]) -> bool:
    direct = (node for node in loop.body if not isinstance(node, Loop))
    copies = [node for node in direct if getattr(node, "op", "") in ("copy", "tma_copy")]
    return any(
        access.mode == "write" and access.buffer in shared
        for copy in copies
        for access in getattr(copy, "accesses", ())
    )
