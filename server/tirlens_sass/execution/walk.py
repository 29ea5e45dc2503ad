"""The walk of sampled threads through the basic blocks of a kernel (see `counting`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..control_flow import Block, callee_of, immediate_dominators, is_slow_path
from ..instruction import Guard, Instruction
from ..listing import Function
from ..registers import Registers
from .lanes import Lanes
from .results import Executions
from .slicing import data_guards
from .threads import Sample, ThreadState, results_in_order

_MOST_STEPS = 20_000


class EvaluationError(Exception):
    """A kernel's control flow cannot be evaluated; the message is the reason."""


class Machine:
    """The threads and the counts of all functions."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        members: Mapping[str, frozenset[int]],
        sample: Sample,
        state: ThreadState,
    ) -> None:
        self.sample = sample
        self.state = state
        self.alive: Any = np.array(sample.active)
        self.steps = 0
        self.walks = {
            name: Walk(self, function, members[name]) for name, function in functions.items()
        }

    def call(self, name: str, mask: Any) -> None:
        """Execute a function in the threads of `mask`."""
        walk = self.walks.get(name)
        if walk is not None:
            walk.run(0, None, mask)

    def count_step(self) -> None:
        """Raise `EvaluationError` where evaluation takes too long."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise EvaluationError(f"more than {_MOST_STEPS} basic blocks are executed")


@dataclass(frozen=True)
class Step:
    """What is done for an instruction: it is executed, or calls `callee`, or its guard, which the
    instructions `guarded` have as well, is counted."""

    instruction: Instruction
    results: tuple[Registers | None, ...] = ()
    callee: str | None = None
    guarded: tuple[int, ...] = ()


def _plan(
    function: Function, block: Block, members: frozenset[int], unknown: frozenset[int]
) -> tuple[Step, ...]:
    """The steps of a block in order; each guard is counted once until its predicate is written."""
    steps: list[Step] = []
    groups: dict[Guard, int] = {}
    for index in range(block.first, block.last + 1):
        one = function.instructions[index]
        if one.guard is not None and index not in unknown:
            place = groups.get(one.guard)
            if place is None:
                groups[one.guard] = len(steps)
                steps.append(Step(one, guarded=(index,)))
            else:
                steps[place] = replace(steps[place], guarded=(*steps[place].guarded, index))
        callee = callee_of(one)
        if callee is not None:
            steps.append(Step(one, callee=callee))
            groups.clear()
        elif index in members:
            results = tuple(results_in_order(one))
            steps.append(Step(one, results))
            written = {(part.file, part.first) for part in results if part is not None}
            for guard in [g for g in groups if (g.file, g.number) in written]:
                del groups[guard]
    return tuple(steps)


class Walk:
    """The execution of one function."""

    def __init__(self, machine: Machine, function: Function, members: frozenset[int]) -> None:
        self._machine = machine
        self._function = function
        self._is_slow = is_slow_path(function.name)
        self._joins = postdominators(function.blocks)
        self._loops = [_loops_around(function, block.index) for block in function.blocks]
        self._data_guards = data_guards(function)
        self._plans = [
            _plan(function, block, members, self._data_guards) for block in function.blocks
        ]
        count = len(function.instructions)
        self._block_warps = [0.0] * len(function.blocks)
        self._block_threads = [0.0] * len(function.blocks)
        self._block_by_warp: list[Any] = [0.0] * len(function.blocks)
        self._guard_threads: list[float | None] = [0.0] * count
        self._open_loops: set[int] = set()
        self._conditional: set[int] = set()
        # Visits of the headers of loops since the loop was entered.
        self._visits: dict[int, int] = {}

    def run(self, block: int | None, stop: int | None, mask: Any) -> None:
        """Execute from `block` until `stop` in the threads of `mask`."""
        machine = self._machine
        waiting: list[tuple[int | None, Any]] = []
        previous: int | None = None
        while True:
            while waiting and block == waiting[-1][0]:
                mask = mask | waiting.pop()[1]
            mask = mask & machine.alive
            if block is None or block == stop or not mask.any():
                if not waiting:
                    return
                block, mask = waiting.pop()
                continue
            machine.count_step()
            self._count_visit(previous, block)
            self._execute(self._function.blocks[block], mask)
            previous, (block, mask) = block, self._branch(block, mask, waiting)

    def _count_visit(self, previous: int | None, block: int) -> None:
        for number in self._loops[block]:
            loop = self._function.loops[number]
            if loop.header == block:
                inside = previous is not None and previous in loop.blocks
                self._visits[number] = self._visits.get(number, 0) + 1 if inside else 1

    def _execute(self, block: Block, mask: Any) -> None:
        machine = self._machine
        self._block_warps[block.index] += machine.sample.warps(mask)
        self._block_threads[block.index] += machine.sample.threads(mask)
        self._block_by_warp[block.index] += machine.sample.by_warp(mask)
        state = machine.state
        state.mask = mask
        for step in self._plans[block.index]:
            one = step.instruction
            if step.guarded:
                self._count_guards(step, mask)
            elif step.callee is None:
                state.step(one, step.results)
            else:
                holds = state.condition(one)
                machine.call(step.callee, mask & (holds.values != 0) & np.asarray(holds.known))
                state.mask = mask

    def _count_guards(self, step: Step, mask: Any) -> None:
        holds = self._machine.state.condition(step.instruction)
        threads: float | None = None
        if holds.is_known or bool((np.asarray(holds.known) | ~mask).all()):
            threads = self._machine.sample.threads(mask & (holds.values != 0))
        for index in step.guarded:
            total = self._guard_threads[index]
            if total is not None:
                self._guard_threads[index] = None if threads is None else total + threads

    def _branch(
        self, number: int, mask: Any, waiting: list[tuple[int | None, Any]]
    ) -> tuple[int | None, Any]:
        """The next block and its threads; those that go elsewhere have been executed, or wait."""
        block = self._function.blocks[number]
        last = self._function.instructions[block.last]
        if block.has_unknown_target:
            raise EvaluationError(f"the targets of {last.text} are not known")
        following = block.successors
        if len(following) == 0:
            if last.guard is None and last.name == "EXIT":
                self._machine.alive &= ~mask
            return None, mask
        condition = self._branch_condition(last)
        if condition is None:
            if len(following) != 1:
                raise EvaluationError(f"the target of {last.text} is not known")
            return following[0], mask
        if last.name in ("EXIT", "KILL"):
            leaves = mask & (condition.values != 0) & np.asarray(condition.known)
            self._machine.alive &= ~leaves
            return following[0], mask & ~leaves
        if last.name == "RET":
            return following[0], mask & (condition.values == 0)
        target, after = following[-1], following[0]
        known = np.asarray(condition.known)
        taken = mask & known & (condition.values != 0)
        passed = mask & known & (condition.values == 0)
        doubt = mask & ~known
        if doubt.any():
            choice = self._choose(number, target, after)
            if choice is None:
                return self._both(number, (taken | doubt, passed | doubt, doubt), target, after)
            taken, passed = (taken | doubt, passed) if choice else (taken, passed | doubt)
        return self._split(number, (target, taken), (after, passed), waiting)

    def _branch_condition(self, last: Instruction) -> Lanes | None:
        """Whether a conditional branch is taken; None of one without a condition."""
        state = self._machine.state
        if last.guard is not None and not last.guard.is_constant:
            return state.condition(last)
        if last.name not in ("BRA", "JMP"):
            return None
        if "DIV" in last.modifiers:
            # Taken only where the warp has diverged, which it has not where compilers ask.
            return Lanes(np.uint64(0))
        conditions = [one for one in last.operands if one.kind == "predicate" and one.registers]
        return state.read(conditions[0]) if conditions else None

    def _split(
        self,
        number: int,
        first: tuple[int, Any],
        second: tuple[int, Any],
        waiting: list[tuple[int | None, Any]],
    ) -> tuple[int | None, Any]:
        if not second[1].any():
            return first
        if not first[1].any():
            return second
        join = self._joins[number]
        for one, other in ((first, second), (second, first)):
            if one[0] == join:
                waiting.append(one)
                return other
        self.run(first[0], join, first[1])
        self.run(second[0], join, second[1])
        return join, first[1] | second[1]

    def _choose(self, number: int, target: int, after: int) -> bool | None:
        """Whether to take a branch whose condition is not known; None: both ways."""
        loops = self._loops[number]
        if loops:
            index = loops[-1]
            loop = self._function.loops[index]
            stays = [successor in loop.blocks for successor in (target, after)]
            if stays[0] != stays[1] or loop.header in (target, after):
                leaves = loop.header not in (target, after)
                self._open_loops.add(index)
                if not leaves:
                    # The back edge.
                    return target != loop.header
                wants_out = self._visits.get(index, 0) > 1
                return stays[0] != wants_out
        slow = [self._reaches_slow_path(side, self._joins[number]) for side in (target, after)]
        if slow[0] != slow[1]:
            return slow[1]
        return None

    def _reaches_slow_path(self, block: int, stop: int | None) -> bool:
        seen: set[int] = set()
        pending = [block]
        while pending:
            one = pending.pop()
            if one in seen or one == stop:
                continue
            seen.add(one)
            place = self._function.blocks[one]
            for index in range(place.first, place.last + 1):
                if is_slow_path(callee_of(self._function.instructions[index]) or ""):
                    return True
            pending += place.successors
        return False

    def _both(
        self, number: int, masks: tuple[Any, Any, Any], target: int, after: int
    ) -> tuple[int | None, Any]:
        """Execute both sides in the threads of doubt; what differs after it is not known."""
        taken, passed, doubt = masks
        state, join = self._machine.state, self._joins[number]
        alive = self._machine.alive.copy()
        before = dict(state.registers)
        self._mark(target, join)
        self._mark(after, join)
        self.run(target, join, taken)
        after_target = state.registers
        alive_after, self._machine.alive = self._machine.alive, alive.copy()
        state.registers = dict(before)
        self.run(after, join, passed)
        self._machine.alive |= alive_after & doubt
        self._machine.alive &= alive_after | passed | ~taken
        for key, value in after_target.items():
            other = state.registers.get(key)
            if other is value:
                continue
            merged = value if other is None else value.merge(other, taken)
            state.registers[key] = Lanes(merged.values, np.asarray(merged.known) & ~doubt)
        for key in state.registers.keys() - after_target.keys():
            value = state.registers[key]
            state.registers[key] = Lanes(value.values, np.asarray(value.known) & ~doubt)
        return join, taken | passed

    def _mark(self, block: int, stop: int | None) -> None:
        """Mark what is between a branch and where its sides join as conditional."""
        pending = [block]
        seen: set[int] = set()
        while pending:
            one = pending.pop()
            if one != stop and one not in seen:
                seen.add(one)
                pending += self._function.blocks[one].successors
        self._conditional |= seen

    def result(self) -> tuple[Executions, ...]:
        """The executions of each instruction."""
        found: list[Executions] = []
        for block in self._function.blocks:
            loops = tuple(n for n in self._loops[block.index] if n in self._open_loops)
            warps, threads = self._block_warps[block.index], self._block_threads[block.index]
            is_conditional = block.index in self._conditional
            by_warp = tuple(np.atleast_1d(self._block_by_warp[block.index]).tolist())
            for index in range(block.first, block.last + 1):
                active = threads
                if self._function.instructions[index].guard is not None:
                    is_data = index in self._data_guards
                    active = None if is_data else self._guard_threads[index]
                found.append(Executions(warps, active, loops, is_conditional, by_warp))
        return tuple(found)


def _loops_around(function: Function, block: int) -> tuple[int, ...]:
    """The loops around a block by their index, from the outside in."""
    found = [n for n, loop in enumerate(function.loops) if block in loop.blocks]
    return tuple(sorted(found, key=lambda n: function.loops[n].depth))


def postdominators(blocks: Sequence[Block]) -> list[int | None]:
    """The immediate postdominator of each block; None where the paths never join."""
    end = len(blocks)
    before: list[list[int]] = [[] for _ in range(end + 1)]
    for block in blocks:
        for successor in block.successors or (end,):
            before[successor].append(block.index)
        if block.successors and block.has_unknown_target:
            before[end].append(block.index)
    # The graph with its edges turned round, from its end.
    order = [end, *range(end)]
    place = {one: n for n, one in enumerate(order)}
    turned = [Block(n, n, n, tuple(place[p] for p in before[one])) for n, one in enumerate(order)]
    found = immediate_dominators(turned)
    result: list[int | None] = [None] * end
    for n, dominator in found.items():
        if n and dominator:
            result[order[n]] = order[dominator]
    return result
