"""Which turns of the loops of several roles are followed: what the others take, these show.

Roles that wait for each other keep in step, so as much is left out of each of their loops.  A loop
of half as many turns, in each of which it does twice as much to a barrier, is one that its author
or a compiler has unrolled: of it half as many turns are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from tirlens_counting.expressions import free_variables, is_data_dependent

from .role_steps import Body, Bring, Choice, Meet, Multiply, Repeat, Run, meetings

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
# Turns of a loop that stand in one of another.
MOST_UNROLLED = 8


@dataclass(frozen=True)
class Shown:
    """`skipped` turns of a loop are left out `before` one of them; the last `turns` in front of it
    show what those take.  `group` is the same for loops that keep in step."""

    turns: int
    skipped: int
    before: int
    group: int


ALL = Shown(turns=1, skipped=0, before=0, group=-1)


def executed(body: Body) -> float:
    """About how many steps a run of `body` has."""
    return _summed(body, lambda _: 1.0)


def in_turn_s(body: Body) -> float:
    """How long a run of `body` takes if nothing of it goes on beside anything else."""
    return _summed(body, _alone_s)


def _summed(body: Body, each: Callable[[Bring | Meet | Multiply | Run], float]) -> float:
    """The sum over the steps of a run of what `each` says of one."""
    total = 0.0
    for step in body:
        if isinstance(step, Repeat):
            total += step.trips * _summed(step.body, each)
        elif isinstance(step, Choice):
            then, orelse = _summed(step.then, each), _summed(step.orelse, each)
            total += step.share * then + (1 - step.share) * orelse
        else:
            total += each(step)
    return total


def _alone_s(step: Bring | Meet | Multiply | Run) -> float:
    if isinstance(step, Run):
        return max(step.seconds, *step.units.values(), 0.0)
    if isinstance(step, Meet):
        return step.seconds + step.after_s
    return step.seconds + step.busy_s + step.latency_s


def slots(roles: Sequence[Body]) -> int:
    """The most barriers that a ring has."""
    told = (step.signal for role in roles for step in meetings(role))
    return max((one.slots for one in told if isinstance(one.slots, int)), default=1)


def shown_turns(roles: Sequence[Body]) -> dict[Repeat, Shown]:
    """For each loop of the roles.

    As many turns are skipped in each of those that keep in step, or one role would wait for turns
    of another that are not followed.
    """
    deep, rounds = slots(roles), _rounds(roles)
    found: dict[Repeat, Shown] = {}
    for number, parts in enumerate(_in_step(roles)):
        fewest = int(min(one.trips * part for one, part in parts.items()))
        outer = any(_has_long_loops(one.body) for one in parts)
        shown = MOST_OUTER_TURNS if outer else max(MOST_TURNS, deep)
        # Who works ahead has to know when the end is near.
        last = deep if any(_asks_its_turn(one) for one in parts) else LAST_TURNS
        kept = shown + (2 if outer else deep + 2) + last
        whole = math.lcm(*parts.values(), rounds)
        skipped = max(fewest - kept, 0) // whole * whole
        before = fewest - skipped - last
        for one, part in parts.items():
            found[one] = Shown(max(shown // part, 1), skipped // part, before // part, number)
    return found


def _rounds(roles: Sequence[Body]) -> int:
    """Whole rounds are left out of rings whose barriers go by the number of the turn.

    Who counts finds the next barrier after the one before; and turns may differ by twos.
    """
    told = (step.signal for role in roles for step in meetings(role))
    rings = [
        one.slots for one in told if isinstance(one.slots, int) and not is_data_dependent(one.index)
    ]
    return math.lcm(2, *rings)


def _in_step(roles: Sequence[Body]) -> Iterator[dict[Repeat, int]]:
    """Loops that keep in step, and how many turns of the others each turn of a loop is."""
    loops = [(number, loop) for number, role in enumerate(roles) for loop in _repeats(role)]
    phases = {loop: _phases(loop.body) for _, loop in loops}
    links: dict[Repeat, dict[Repeat, Fraction]] = {loop: {} for loop in phases}
    for (mine, one), (theirs, other) in combinations(loops, 2):
        if mine == theirs or min(one.trips, other.trips) <= SHORT:
            continue
        for barrier in (name for name in phases[one] if name in phases[other]):
            ratio = Fraction(phases[one][barrier] / phases[other][barrier])
            ratio = ratio.limit_denominator(MOST_UNROLLED)
            here, there = ratio.numerator, ratio.denominator
            if here and abs(one.trips * here - other.trips * there) <= PEELED * min(here, there):
                links[one][other], links[other][one] = 1 / ratio, ratio
                break
    seen: set[Repeat] = set()
    for loop in links:
        if loop in seen:
            continue
        shares = {loop: Fraction(1)}
        ahead = [loop]
        while ahead:
            one = ahead.pop()
            for other, ratio in links[one].items():
                if other not in shares:
                    shares[other] = shares[one] * ratio
                    ahead.append(other)
        common = math.lcm(*(share.denominator for share in shares.values()))
        numbers = {one: int(share * common) for one, share in shares.items()}
        divisor = math.gcd(*numbers.values())
        seen |= numbers.keys()
        yield {one: number // divisor for one, number in numbers.items()}


def _phases(body: Body) -> Mapping[str, float]:
    """How many phases of each barrier a run of `body` is for: its waits, else what ends them."""
    waits: dict[str, float] = {}
    tells: dict[str, float] = {}

    def count(steps: Body, times: float) -> None:
        for step in steps:
            if isinstance(step, Repeat):
                count(step.body, times * step.trips)
            elif isinstance(step, Choice):
                count(step.then, times * step.share)
                count(step.orelse, times * (1 - step.share))
            elif isinstance(step, Meet) and step.signal.kind != "drain":
                is_wait = step.signal.kind in ("wait", "sync")
                into, name = waits if is_wait else tells, step.signal.barrier
                into[name] = into.get(name, 0.0) + times

    count(body, 1.0)
    return {name: number for name, number in {**tells, **waits}.items() if number}


def _repeats(body: Body) -> Iterator[Repeat]:
    for step in body:
        if isinstance(step, Repeat):
            yield step
            yield from _repeats(step.body)
        elif isinstance(step, Choice):
            yield from _repeats((*step.then, *step.orelse))


def _has_long_loops(body: Body) -> bool:
    """Whether loops stand in others that roles keep in step, too."""
    return any(
        loop.trips > SHORT and next(meetings(loop.body), None) is not None
        for loop in _repeats(body)
    )


def _asks_its_turn(loop: Repeat) -> bool:
    """Whether a branch in a loop goes by the number of its turn."""

    def asks(body: Body) -> bool:
        return any(
            (isinstance(step, Repeat) and asks(step.body))
            or (
                isinstance(step, Choice)
                and (
                    (step.condition is not None and loop.var in free_variables(step.condition))
                    or asks((*step.then, *step.orelse))
                )
            )
            for step in body
        )

    return asks(loop.body)
