"""The steps that a role of a block takes: straight code, copies, products, barriers, loops.

A role is the part of a block's code that some of its warps execute (`roles`).  Straight code is
timed as anywhere else; what others wait for, or what waits for others, is a step of its own.
`program` makes them of the kernel's tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tirlens_worker.facts import Expr, Signal, Statement

from ...tree.node import CostNode
from ...tree.timed_node import TimedNode


@dataclass(frozen=True, eq=False)
class Run:
    """Straight code: it takes `seconds` each time and keeps units busy for some of them."""

    timed: tuple[TimedNode, ...]
    seconds: float
    units: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Action:
    """A statement that is executed `runs` times in a block and takes `seconds` of its warps."""

    item: CostNode
    runs: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Bring(Action):
    """A copy by TMA that is started here; `barriers` tell its end."""

    busy_s: float
    latency_s: float
    barriers: tuple[Signal, ...]


@dataclass(frozen=True, eq=False)
class Multiply(Action):
    """A product that is started here."""

    busy_s: float
    latency_s: float


@dataclass(frozen=True, eq=False)
class Meet(Action):
    """What `threads` do to a barrier, or to the products that they have started.

    An arrival counts `after_s` later, when what they copy is there.
    """

    signal: Signal
    threads: int
    after_s: float = 0.0


@dataclass(frozen=True, eq=False)
class Repeat:
    """`start` is the variable's first value, None where it is not known."""

    item: CostNode
    trips: float
    body: Body
    var: str = ""
    start: int | None = None
    stride: int = 1


@dataclass(frozen=True, eq=False)
class Choice:
    """A branch that is taken by its `condition`, or `share` of the times where that is None.

    These are the first turns of the loop over `until`, where it asks for a number in memory.
    """

    item: CostNode
    share: float
    then: Body
    orelse: Body
    condition: Expr | None
    until: str = ""


Step = Run | Bring | Multiply | Meet | Repeat | Choice
Body = tuple[Step, ...]


def meetings(body: Body) -> Iterator[Meet]:
    """Every place of `body`, inside loops and branches too, where threads wait for one another."""
    for step in body:
        if isinstance(step, Meet):
            yield step
        elif isinstance(step, Repeat):
            yield from meetings(step.body)
        elif isinstance(step, Choice):
            yield from meetings((*step.then, *step.orelse))


def choices(body: Body) -> Iterator[Choice]:
    """Every branch of `body`, inside loops and other branches too."""
    for step in body:
        if isinstance(step, Repeat):
            yield from choices(step.body)
        elif isinstance(step, Choice):
            yield step
            yield from choices((*step.then, *step.orelse))


def retimed(body: Body, waited: Callable[[Step], float]) -> Iterator[TimedNode]:
    """The times of a role whose steps wait so long on average, each time."""
    for step in body:
        if isinstance(step, Run):
            longer = (step.seconds + waited(step)) / step.seconds if step.seconds else 1.0
            yield from (part.scale(longer) for part in step.timed)
        elif isinstance(step, Repeat):
            yield TimedNode(step.item, 0.0, tuple(retimed(step.body, waited)))
        elif isinstance(step, Choice):
            parts = tuple(retimed((*step.then, *step.orelse), waited))
            yield from (
                parts
                if isinstance(step.item.source, Statement)
                else (TimedNode(step.item, 0.0, parts),)
            )
        else:
            yield TimedNode(step.item, step.runs * (step.seconds + waited(step)))
