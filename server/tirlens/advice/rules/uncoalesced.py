"""uncoalesced: neighbouring threads access elements of global memory that are far apart.

What it finds
-------------
An array of global memory of which neighbouring lanes access elements that are far apart: they go
along a dimension other than the last, or by a stride of several elements. Lanes are the threads of
a program for single threads, and the iterations of the innermost `T.Parallel` loop.

Why it costs time
-----------------
A request of a warp moves whole sectors of 32 bytes. Threads that are far apart in memory need a
sector each, of which the request uses a few bytes.

Evidence
--------
The hover of the access has a row "coalescing": the bytes moved for each byte asked for. The message
has the distance of neighbouring lanes in bytes. The saving is the difference between two
predictions. The second is of the first of these programs that saves at least half of what the best
one does; where vectors in a sequential loop do as well, the rule not-vectorized reports them:

1. Other lanes take the elements: `threadIdx.x` and `threadIdx.y` are exchanged, `t % 32` and
   `t // 32` of one thread index, the thread index and a sequential loop, or the order of the
   `T.Parallel` loops. A code action writes the order of the loops where nothing else depends on
   it.
2. A block loads its tile along rows and passes it through shared memory, as transposes need it.
3. The array is stored with the dimension of the lanes last: transposed, or a structure of arrays in
   place of an array of structures.

How to change it
----------------
Let neighbouring lanes run along the last dimension of the array, load a tile through shared memory,
or store the array transposed.

Example
-------
```diff
 from tvm.script import tirx as T

 ROWS = 524288


 # tirlens: device=h100-sxm
 @T.prim_func(s_tir=True)
-def row_sum(x: T.Buffer((ROWS, 512), "float32"), out: T.Buffer((ROWS,), "float32")):
+def row_sum(x: T.Buffer((512, ROWS), "float32"), out: T.Buffer((ROWS,), "float32")):
     for b in T.thread_binding(ROWS // 256, thread="blockIdx.x"):
         for t in T.thread_binding(256, thread="threadIdx.x"):
             out[b * 256 + t] = T.float32(0)
             for k in range(512):
-                out[b * 256 + t] = out[b * 256 + t] + x[b * 256 + t, k]
+                out[b * 256 + t] = out[b * 256 + t] + x[k, b * 256 + t]
```

Source
------
NVIDIA, CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tirlens.advice import rewrite
from tirlens.advice.distant_accesses import DistantAccess, distant_accesses
from tirlens.advice.lane_order import lane_orders
from tirlens.advice.rule import Question
from tirlens.advice.staging import reaches_along, with_staging
from tirlens.advice.vector_loops import vector_loops
from tirlens.model.report import Advice
from tirlens.source.edits import Change
from tirlens_counting.expressions import free_variables, simplify
from tirlens_counting.intervals import Interval
from tirlens_worker.facts import Buffer, Expr, KernelFacts

#: A change of the program is preferred to another layout of an array if it saves this share of it.
PREFERRED_SHARE = 0.5
#: Vectors are preferred to both if they save this share of it: the lines stay where they are.
VECTORS_SHARE = 0.8
#: A program in which more than this share of the excess bytes is left mends nothing: a transpose
#: has them in the other array then.
MOST_LEFT = 0.5


@dataclass(frozen=True)
class _Option:
    """A change that mends accesses, with its saving."""

    saving_s: float
    action: str
    remedy: str
    change: Change | None = None


def check(question: Question) -> Iterator[Advice]:
    if question.device.kind != "gpu" or question.report.schedule != "gpu":
        return
    buffers = {buffer.id: buffer for buffer in question.facts.buffers}
    distant = [
        one
        for one in distant_accesses(question.requests, buffers)
        if question.can_save(one.statement)
    ]
    if not distant:
        return
    by_array: dict[str, DistantAccess] = {}
    for one in distant:
        by_array.setdefault(one.buffer.id, one)
    order = _best_order(question, distant)
    others = {array: _best_of_array(question, one) for array, one in by_array.items()}
    best_s = max((option.saving_s for option in others.values() if option), default=0.0)
    if _is_cured_by_vectors(question, max(best_s, order.saving_s if order else 0.0)):
        return
    if order is not None and order.saving_s >= PREFERRED_SHARE * best_s:
        yield from _advice(question, distant[0], order)
        return
    for array, option in others.items():
        if option is not None:
            yield from _advice(question, by_array[array], option)


def _is_cured_by_vectors(question: Question, best_s: float) -> bool:
    """Whether vectors in a loop over neighbouring elements make all accesses coalesced, and save
    about as much as `best_s`.
    """
    return best_s > 0 and any(
        _excess_bytes(question, one.facts) == 0
        and (question.saving_s(one.facts) or 0.0) >= VECTORS_SHARE * best_s
        for one in vector_loops(question.facts)
    )


def _advice(question: Question, distant: DistantAccess, option: _Option) -> Iterator[Advice]:
    if not question.is_noticeable(option.saving_s):
        return
    sites = distant.statement.sites
    yield Advice(
        rule="uncoalesced",
        span=sites[0] if sites else question.facts.span,
        severity="hint",
        action=option.action,
        message=(
            f"neighbouring lanes access {distant.buffer.name} {distant.distance_bytes} bytes "
            f"apart: {option.remedy}"
        ),
        saving_s=option.saving_s,
        change=option.change,
    )


def _best_order(question: Question, distant: list[DistantAccess]) -> _Option | None:
    """The best of the programs in which other lanes take the elements.

    One that has as many distant accesses in another array is none of them.
    """
    excess_bytes = sum(one.excess_bytes for one in distant)
    options = [
        _Option(saving_s, order.action, order.remedy, order.change)
        for order in lane_orders(question.facts, distant)
        if (saving_s := question.saving_s(order.facts)) is not None
        and question.is_noticeable(saving_s)
        and _excess_bytes(question, order.facts) < MOST_LEFT * excess_bytes
    ]
    return max(options, key=lambda option: option.saving_s, default=None)


def _excess_bytes(question: Question, facts: KernelFacts) -> float:
    buffers = {buffer.id: buffer for buffer in facts.buffers}
    found = distant_accesses(question.requests_of(facts), buffers)
    return sum(one.excess_bytes for one in found)


def _best_of_array(question: Question, distant: DistantAccess) -> _Option | None:
    """A tile through shared memory where a block has one, else another layout of the array."""
    layout = _lanes_last(question, distant)
    if layout is None:
        return None
    if reaches_along(layout.along_row, distant, question.facts):
        staged = with_staging(question.facts, layout.facts, distant)
        saving_s = None if staged is None else question.saving_s(staged)
        if saving_s is not None:
            way = "load" if distant.access.mode == "read" else "store"
            remedy = f"{way} tiles along its rows, and pass them through shared memory"
            return _Option(saving_s, "tiles in shared memory", remedy)
    saving_s = question.saving_s(layout.facts)
    if saving_s is None:
        return None
    return _Option(saving_s, f"coalesced accesses to {distant.buffer.name}", layout.remedy)


@dataclass(frozen=True)
class _Layout:
    """`facts` with an array stored so that the lanes go along its last dimension.

    `along_row` is the index along the rows that the array has now.
    """

    facts: KernelFacts
    along_row: Expr
    remedy: str


def _lanes_last(question: Question, distant: DistantAccess) -> _Layout | None:
    facts, buffer = question.facts, distant.buffer
    if buffer.alias_of is not None or not rewrite.is_compact(buffer):
        return None
    dimension, last = distant.dimension, len(buffer.shape) - 1
    if dimension is not None and dimension != last:
        order = [axis for axis in range(last + 1) if axis != dimension] + [dimension]
        text = _layout_text(buffer, order)
        along_row = distant.access.indices[-1]
        remedy = f"store it {text}, a structure of arrays"
        if free_variables(along_row):
            remedy = f"let them go along its last dimension, or store it {text}"
        return _Layout(rewrite.with_order(facts, buffer, order), along_row, remedy)
    if last or distant.step <= 1:
        return None
    split = rewrite.with_rows(facts, buffer, distant.step, _ranges(question))
    if split is None:
        return None
    rows = next(other for other in split.buffers if other.id == buffer.id)
    changed = rewrite.with_order(split, rows, (1, 0))
    text = ", ".join(map(str, reversed(rows.shape)))
    along_row = ("%", distant.access.indices[0], distant.step)
    remedy = f"store what they access at once side by side, as ({text})"
    return _Layout(changed, simplify(along_row), remedy)


def _layout_text(buffer: Buffer, order: Sequence[int]) -> str:
    """How an array is stored: by its sizes where they tell the axes apart, else by the axes."""
    if len(set(buffer.shape)) == len(buffer.shape):
        return f"as ({', '.join(str(buffer.shape[axis]) for axis in order)})"
    moved = [axis for position, axis in enumerate(order) if position != axis]
    if len(moved) > 2:
        return f"with its axes in the order {', '.join(map(str, order))}"
    exchanged = f"axes {min(moved)} and {max(moved)} exchanged"
    return f"transposed, its {exchanged}" if len(order) == 2 else f"with its {exchanged}"


def _ranges(question: Question) -> dict[str, Interval]:
    """The values of the variables of the kernel's loops."""
    found: dict[str, Interval] = {}
    for leaf, _ in question.requests:
        found.update(leaf.context.ranges)
    return found
