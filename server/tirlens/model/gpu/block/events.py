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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import mean

from tirlens_counting.expressions import UnknownValueError, evaluate
from tirlens_worker.facts import Expr, Signal

from .role_steps import Body, Bring, Choice, Meet, Multiply, Repeat, Run, Step, meetings
from .turns import ALL, Shown, executed, in_turn_s, shown_turns

# So many steps are soon gone through.
FEW_STEPS = 2_000
MOST_STEPS = 30_000

Place = tuple[str, int]
Needed = Callable[[Place], float]
# How often turns of each group of loops were left out, and what they take.
LeftOut = Mapping[int, tuple[int, float]]
NOTHING = (0, 0.0)
Age = frozenset[tuple[int, int]]
# Units that take what roles start one after the other, while these go on.
QUEUES = ("tensor", "port")
# A role gives way after each step; where it waits, until a barrier has ended that phase.
Wait = tuple["_Barrier", int] | None


@dataclass(eq=False)
class _Barrier:
    """`over_s` are the times at which its phases have ended, `left_out` what of them the turns
    take that nobody has followed."""

    needed: float
    over_s: list[float] = field(default_factory=list[float])
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])
    arrived: float = 0.0
    latest_s: float = 0.0
    latest_left_out: LeftOut = field(default_factory=dict[int, tuple[int, float]])

    def arrive(self, threads: float, at_s: float, left_out: LeftOut) -> None:
        self.latest_s = max(self.latest_s, at_s)
        self.latest_left_out = _latest(self.latest_left_out, left_out)
        self.arrived += threads
        if self.arrived >= self.needed:
            self.over_s.append(self.latest_s)
            self.left_out.append(self.latest_left_out)
            self.arrived = self.latest_s = 0.0


def _latest(mine: LeftOut, theirs: LeftOut) -> LeftOut:
    """What is left out so far, when who has got further tells the other."""
    if not theirs or mine is theirs:
        return mine
    return {
        **mine,
        **{group: max(other, mine.get(group, NOTHING)) for group, other in theirs.items()},
    }


@dataclass(eq=False)
class _Role:
    """One of the `groups` of a role's warps; `own` are the indices of barriers of which each group
    has the next one.  `left_out` is what of its time the turns take that are not followed, by
    group of loops."""

    own: Mapping[Expr, int]
    groups: int
    rank: int
    clock_s: float = 0.0
    left_out: LeftOut = field(default_factory=dict[int, tuple[int, float]])
    started_s: list[float] = field(default_factory=list[float])
    values: dict[str, int] = field(default_factory=dict[str, int])
    visits: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    phases: dict[Place, int] = field(default_factory=dict[Place, int])
    rests: dict[Step, float] = field(default_factory=dict[Step, float])
    waited: dict[Step, list[float]] = field(default_factory=dict[Step, list[float]])

    @property
    def age(self) -> Age:
        """How often turns of which loops were left out: who has done so less often is behind."""
        return frozenset((group, number) for group, (number, _) in self.left_out.items())

    def within_s(self, group: int) -> float:
        """The time without what is left out of a group of loops."""
        return self.clock_s - self.left_out.get(group, NOTHING)[1]

    def leave_out(self, group: int, number: int, until_s: float) -> None:
        """Pass over turns for the `number`-th time, if nobody who has done so has told it yet."""
        so_far = self.left_out.get(group, NOTHING)
        if (number, until_s) > so_far:
            self.clock_s += max(until_s - so_far[1], 0.0)
            self.left_out = {**self.left_out, group: (number, max(until_s, so_far[1]))}

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

    `needed` is how many threads have to arrive at a barrier.  Where roles whose turns are followed
    in part wait for ever, or for longer than all that they do takes one after the other, all of
    their turns are followed.
    """
    steps = sum(map(executed, roles))
    if steps > FEW_STEPS:
        found = _followed(roles, needed, shown_turns(roles))
        groups = [max(_own(body).values(), default=1) for body in roles]
        most_s = sum(groups) * sum(map(in_turn_s, roles))
        if found is not None and max(one.end_s for one in found) <= most_s:
            return found
        if steps > MOST_STEPS:
            return None
    return _followed(roles, needed, {})


def _followed(
    roles: Sequence[Body], needed: Needed, turns: Mapping[Repeat, Shown]
) -> list[Followed] | None:
    states: list[_Role] = []
    bodies: list[Body] = []
    for body in roles:
        own = _own(body)
        groups = max(own.values(), default=1)
        states.extend(_Role(own, groups, rank) for rank in range(groups))
        bodies.extend([body] * groups)
    machine = _Machine(needed, len(bodies), turns)
    going = {
        number: machine.steps(state, body)
        for number, (state, body) in enumerate(zip(states, bodies, strict=True))
    }
    waits: dict[int, Wait] = dict.fromkeys(going)
    let_go = 0
    for _ in range(MOST_STEPS):
        ready = [number for number, wait in waits.items() if _is_over(wait)]
        if not ready:
            ready = [number for number, wait in waits.items() if _was_over(wait)]
            let_go += 1
        if not ready or let_go > len(bodies):
            break
        number = min(ready, key=lambda one: states[one].clock_s)
        try:
            waits[number] = next(going[number])
        except StopIteration:
            del waits[number]
    if waits:
        return None
    ends = iter(states)
    return [
        max(
            (Followed(state.clock_s, state.waited) for state in islice(ends, len(group))),
            key=lambda one: one.end_s,
        )
        for group in (range(max(_own(body).values(), default=1)) for body in roles)
    ]


def _is_over(wait: Wait) -> bool:
    return wait is None or len(wait[0].over_s) > wait[1]


def _was_over(wait: Wait) -> bool:
    """Whether a role that waits for ever may have meant the phase before, which is over.

    It does where the parity changes in a way that is not followed, behind a loop say: kernels
    do not hang, and a wait for that phase does not block (PTX ISA, "mbarrier.try_wait").
    """
    return wait is not None and len(wait[0].over_s) == wait[1] > 0 and not wait[0].arrived


def _own(role: Body) -> dict[Expr, int]:
    """How many groups of a role's warps have barriers of their own, by what tells which.

    Such a role has as many times the threads whose arrival ends a phase: each of its warpgroups
    has the next one of a ring.
    """
    found: dict[Expr, int] = {}
    for step in meetings(role):
        count, index = step.signal.count, step.signal.index
        counted = isinstance(index, tuple) and index[0] == "load"
        arrives = step.signal.kind == "arrive" and counted
        if arrives and isinstance(count, int) and 0 < count < step.threads:
            found[index] = step.threads // count
    return found


class _Machine:
    """The barriers and units that the roles share."""

    def __init__(self, needed: Needed, roles: int, turns: Mapping[Repeat, Shown]) -> None:
        self._needed = needed
        self._others = roles - 1
        self._turns = turns
        self._barriers: dict[Place, _Barrier] = {}
        self._free_s: dict[tuple[str, Age], float] = {}

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
        shown = self._turns.get(step, ALL)
        skipped = min(shown.skipped, max(turns - shown.before, 0))
        number, entered_s = role.left_out.get(shown.group, NOTHING)
        taken: list[float] = []
        for turn in range(turns - skipped):
            if turn == shown.before and skipped:
                until_s = entered_s + skipped * mean(taken[-shown.turns :])
                age, before_s = role.age, role.clock_s
                role.leave_out(shown.group, number + 1, until_s)
                for unit in QUEUES:  # what stands in a queue goes along
                    later = self._free_s.get((unit, age), 0.0) + role.clock_s - before_s
                    after = unit, role.age
                    self._free_s[after] = max(self._free_s.get(after, 0.0), later)
            begin_s = role.within_s(shown.group)
            if step.start is not None:
                passed = turn if turn < shown.before else turn + skipped
                role.values[step.var] = step.start + passed * step.stride
            yield from self.steps(role, step.body)
            taken.append(role.within_s(shown.group) - begin_s)
        role.values.pop(step.var, None)

    def _run(self, role: _Role, step: Run) -> None:
        now_s, age = role.clock_s, role.age
        end_s = now_s + step.seconds
        for unit, all_busy_s in step.units.items():
            busy_s = all_busy_s / role.groups
            free_s = max(self._free_s.get((unit, age), 0.0), now_s)
            end_s = max(end_s, now_s + busy_s + min(free_s - now_s, self._others * busy_s))
            self._free_s[unit, age] = free_s + busy_s
        role.clock_s = end_s

    def _start(self, role: _Role, step: Bring | Multiply) -> None:
        unit = ("tensor" if isinstance(step, Multiply) else "port"), role.age
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
            threads = step.threads / role.groups
            if signal.kind == "wait":
                phase = role.phases.get(place, -1 if signal.parity else 0)
                role.phases[place] = phase + 1
            elif signal.kind == "commit":
                at_s = max(role.started_s, default=role.clock_s)
                barrier.arrive(threads, at_s, role.left_out)
            else:
                barrier.arrive(threads, role.clock_s + step.after_s, role.left_out)
            if signal.kind in ("wait", "sync") and phase >= 0:
                yield barrier, phase
                if phase >= len(barrier.over_s):  # it was for the one before
                    role.phases[place] = phase
                    phase -= 1
                role.clock_s = max(role.clock_s, barrier.over_s[phase])
                role.left_out = _latest(role.left_out, barrier.left_out[phase])
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
            if signal.index in role.own:
                number = number * role.groups + role.rank
            slots = signal.slots if isinstance(signal.slots, int) else 1
            return signal.barrier, number % max(slots, 1)

    def _barrier(self, place: Place) -> _Barrier:
        found = self._barriers.get(place)
        if found is None:
            found = self._barriers[place] = _Barrier(self._needed(place))
        return found


def _taken(role: _Role, step: Choice) -> bool:
    if step.condition is not None:
        try:
            return bool(evaluate(step.condition, role.values))
        except UnknownValueError:
            pass
    return role.whole(step, step.share) > 0
