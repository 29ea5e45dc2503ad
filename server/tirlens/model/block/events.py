"""Warps of a block that wait for each other: when each gets on, event by event.

Each role runs through its `program`.  What it starts goes on beside it: a copy by TMA takes its
place in the queue of the SM's port and arrives after a latency, a product takes its place in the
queue of the tensor cores.  A barrier ends a phase when enough threads have arrived at it and all
that they told it to wait for is there (PTX ISA, "mbarrier" and "bar"); the n-th wait of a role for
a barrier is for the n-th phase, or for the one before where the first wait takes the barrier as it
was made (parity 1).  Roles that use a unit at the same time have equal shares of it.

Loops are followed for some turns.  What a turn takes after that, the later ones take too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from statistics import mean

from tirlens_worker.facts import Signal

from ..expr import UnknownValueError, evaluate, is_data_dependent
from .program import Body, Bring, Choice, Meet, Multiply, Repeat, Run, Step, meetings

# Turns of a loop that are followed once a ring of buffers is full: they show what follows, even if
# it has a period of two.  Of a loop around others fewer do.
MOST_TURNS = 4
MOST_OUTER_TURNS = 2
# In the last turns of a loop, roles tell each other that all of it is done.
LAST_TURNS = 1
# By so many turns do loops of several roles differ that keep in step, for what stands before and
# behind them.
PEELED = 2
# Loops of more turns than these are followed and not gone through.
SHORT = 4
MOST_STEPS = 30_000

Place = tuple[str, int]
Needed = Callable[[Place], float]
# A role gives way after each step; where it waits, until a barrier has ended that phase.
Wait = tuple["_Barrier", int] | None


@dataclass(eq=False)
class _Barrier:
    """`over_s` are the times at which its phases have ended."""

    needed: float
    over_s: list[float] = field(default_factory=list[float])
    arrived: float = 0.0
    latest_s: float = 0.0

    def arrive(self, threads: float, at_s: float) -> None:
        self.latest_s = max(self.latest_s, at_s)
        self.arrived += threads
        if self.arrived >= self.needed:
            self.over_s.append(self.latest_s)
            self.arrived = self.latest_s = 0.0


@dataclass(eq=False)
class _Role:
    """`beyond_s` is what the turns take that are not followed."""

    clock_s: float = 0.0
    beyond_s: float = 0.0
    started_s: list[float] = field(default_factory=list[float])
    values: dict[str, int] = field(default_factory=dict[str, int])
    visits: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    phases: dict[Place, int] = field(default_factory=dict[Place, int])
    rests: dict[Step, float] = field(default_factory=dict[Step, float])
    waited: dict[Step, list[float]] = field(default_factory=dict[Step, list[float]])

    @property
    def end_s(self) -> float:
        return self.clock_s + self.beyond_s

    def whole(self, step: Step, times: float) -> int:
        """`times` on average, in whole numbers."""
        total = self.rests.get(step, 0.5) + times
        self.rests[step] = total - int(total)
        return int(total)

    def got_on(self, step: Step, before_s: float, seconds: float) -> None:
        self.waited.setdefault(step, []).append(max(self.clock_s - before_s - seconds, 0.0))


@dataclass(frozen=True)
class Followed:
    """When a role ends, and how long its steps have waited, each time that they were executed."""

    end_s: float
    waited: Mapping[Step, Sequence[float]]

    def waited_s(self, step: Step) -> float:
        """On average."""
        times = self.waited.get(step, ())
        return sum(times) / len(times) if times else 0.0


def follow(roles: Sequence[Body], needed: Needed) -> list[Followed] | None:
    """The roles side by side; None where they wait for each other for ever, or are too long.

    `needed` is how many threads have to arrive at a barrier.
    """
    machine = _Machine(needed, roles)
    states = [_Role() for _ in roles]
    going = {
        number: machine.steps(state, body)
        for number, (state, body) in enumerate(zip(states, roles, strict=True))
    }
    waits: dict[int, Wait] = dict.fromkeys(going)
    for _ in range(MOST_STEPS):
        ready = [number for number, wait in waits.items() if _is_over(wait)]
        if not ready:
            break
        number = min(ready, key=lambda one: states[one].clock_s)
        try:
            waits[number] = next(going[number])
        except StopIteration:
            del waits[number]
    if waits:
        return None
    return [Followed(state.end_s, state.waited) for state in states]


def _is_over(wait: Wait) -> bool:
    return wait is None or len(wait[0].over_s) > wait[1]


class _Machine:
    """The barriers and units that the roles share."""

    def __init__(self, needed: Needed, roles: Sequence[Body]) -> None:
        self._needed = needed
        self._others = len(roles) - 1
        told = [step.signal for role in roles for step in meetings(role)]
        self._slots = max((one.slots for one in told if isinstance(one.slots, int)), default=1)
        # Whoever finds a barrier of a ring by the number of the turn finds the next one after it;
        # and turns may differ by twos.
        self._rounds = math.lcm(
            2,
            *(
                one.slots
                for one in told
                if isinstance(one.slots, int) and not is_data_dependent(one.index)
            ),
        )
        self._skipped = self._skips([loop for role in roles for loop in _repeats(role)])
        self._barriers: dict[Place, _Barrier] = {}
        self._free_s: dict[str, float] = {}

    def steps(self, role: _Role, body: Body) -> Iterator[Wait]:
        for step in body:
            if isinstance(step, Repeat):
                yield from self._repeated(role, step)
            elif isinstance(step, Choice):
                yield from self.steps(role, step.then if _taken(role, step) else step.orelse)
            elif isinstance(step, Meet):
                yield from self._met(role, step)
            else:
                before_s = role.clock_s
                if isinstance(step, Run):
                    self._run(role, step)
                else:
                    self._start(role, step)
                role.got_on(step, before_s, step.seconds)
                yield None

    def _repeated(self, role: _Role, step: Repeat) -> Iterator[Wait]:
        turns = role.whole(step, step.trips)
        shown, skipped = self._skipped[step]
        skipped = max(min(skipped, turns - 1 - LAST_TURNS), 0)
        taken: list[float] = []
        for turn in range(turns - skipped):
            begin_s = role.end_s
            if turn == turns - skipped - LAST_TURNS and skipped:
                role.beyond_s += skipped * mean(taken[-shown:])
            if step.start is not None:
                number = turn if turn < turns - skipped - LAST_TURNS else turn + skipped
                role.values[step.var] = step.start + number * step.stride
            yield from self.steps(role, step.body)
            taken.append(role.end_s - begin_s)
        role.values.pop(step.var, None)

    def _skips(self, loops: Sequence[Repeat]) -> dict[Repeat, tuple[int, int]]:
        """How many turns show what those take that are not followed, and how many those are.

        Loops that turn almost equally often are taken to keep in step: as many turns are skipped in
        each, or one role would wait for turns of another that are not followed.
        """
        found: dict[Repeat, tuple[int, int]] = {}
        group: list[Repeat] = []
        loops = sorted(loops, key=_all_turns)
        for loop, following in zip_longest(loops, loops[1:]):
            group.append(loop)
            if following is None or _all_turns(following) - _all_turns(loop) > PEELED:
                outer = any(_has_long_loops(one.body) for one in group)
                shown = MOST_OUTER_TURNS if outer else MOST_TURNS
                followed = shown + (2 if outer else self._slots + 1) + LAST_TURNS
                parts = [_parts(one) for one in group]
                whole = math.lcm(*parts, self._rounds)
                skipped = max(int(_all_turns(group[0])) - followed, 0) // whole * whole
                for one, part in zip(group, parts, strict=True):
                    found[one] = max(shown // part, 1), skipped // part
                group = []
        return found

    def _run(self, role: _Role, step: Run) -> None:
        now_s = role.clock_s
        end_s = now_s + step.seconds
        for unit, busy_s in step.units.items():
            free_s = max(self._free_s.get(unit, 0.0), now_s)
            end_s = max(end_s, now_s + busy_s + min(free_s - now_s, self._others * busy_s))
            self._free_s[unit] = free_s + busy_s
        role.clock_s = end_s

    def _start(self, role: _Role, step: Bring | Multiply) -> None:
        unit = "tensor" if isinstance(step, Multiply) else "port"
        begin_s = max(role.clock_s, self._free_s.get(unit, 0.0))
        self._free_s[unit] = begin_s + step.busy_s
        end_s = begin_s + step.busy_s + step.latency_s
        if isinstance(step, Multiply):
            role.started_s.append(end_s)
        else:
            for signal in step.barriers:
                barrier = self._barrier(self._place(role, signal))
                barrier.latest_s = max(barrier.latest_s, end_s)
        role.clock_s += step.seconds

    def _met(self, role: _Role, step: Meet) -> Iterator[Wait]:
        signal, before_s = step.signal, role.clock_s
        role.clock_s += step.seconds
        if signal.kind == "drain":
            kept = signal.count if isinstance(signal.count, int) else 0
            left = max(len(role.started_s) - kept, 0)
            role.clock_s = max(role.clock_s, *role.started_s[:left], 0.0)
            del role.started_s[:left]
        else:
            place = self._place(role, signal)
            barrier = self._barrier(place)
            phase = len(barrier.over_s)
            if signal.kind == "wait":
                phase = role.phases.get(place, -1 if signal.parity else 0)
                role.phases[place] = phase + 1
            elif signal.kind == "commit":
                barrier.arrive(step.threads, max(role.started_s, default=role.clock_s))
            else:
                barrier.arrive(step.threads, role.clock_s + step.after_s)
            if signal.kind in ("wait", "sync") and phase >= 0:
                yield barrier, phase
                role.clock_s = max(role.clock_s, barrier.over_s[phase])
        role.got_on(step, before_s, step.seconds)
        yield None

    def _place(self, role: _Role, signal: Signal) -> Place:
        """Which of its barriers a signal is for: where its index is data, one after the other."""
        if isinstance(signal.index, int):
            return signal.barrier, signal.index
        try:
            return signal.barrier, int(evaluate(signal.index, role.values))
        except UnknownValueError:
            key = signal.barrier, signal.kind
            number = role.visits.get(key, 0)
            if signal.kind == "bring":
                number = role.visits.get((signal.barrier, "arrive"), 0)
            else:
                role.visits[key] = number + 1
            slots = signal.slots if isinstance(signal.slots, int) else 1
            return signal.barrier, number % max(slots, 1)

    def _barrier(self, place: Place) -> _Barrier:
        found = self._barriers.get(place)
        if found is None:
            found = self._barriers[place] = _Barrier(self._needed(place))
        return found


def _repeats(body: Body) -> Iterator[Repeat]:
    for step in body:
        if isinstance(step, Repeat):
            yield step
            yield from _repeats(step.body)
        elif isinstance(step, Choice):
            yield from _repeats((*step.then, *step.orelse))


def _all_turns(loop: Repeat) -> float:
    """How often a loop turns, with what a compiler or an author has split off as a short one."""
    return loop.trips * _parts(loop)


def _parts(loop: Repeat) -> int:
    """The turns of a short loop in which all stands that a loop does to barriers."""
    met = sum(1 for _ in meetings(loop.body))
    for inner in _repeats(loop.body):
        if inner.trips <= SHORT and sum(1 for _ in meetings(inner.body)) == met:
            return max(round(inner.trips), 1)
    return 1


def _has_long_loops(body: Body) -> bool:
    return any(
        (isinstance(step, Repeat) and (step.trips > SHORT or _has_long_loops(step.body)))
        or (isinstance(step, Choice) and _has_long_loops((*step.then, *step.orelse)))
        for step in body
    )


def _taken(role: _Role, step: Choice) -> bool:
    if step.condition is not None:
        try:
            return bool(evaluate(step.condition, role.values))
        except UnknownValueError:
            pass
    return role.whole(step, step.share) > 0
