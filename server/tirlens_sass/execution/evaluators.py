"""The table of evaluators: what the results of an instruction are, by its opcode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..instruction import Instruction
from ..operands import Operand
from ..registers import Registers
from .lanes import Lanes, constant


class Threads(Protocol):
    """The state that an instruction reads."""

    def read(self, operand: Operand, bits: int = 32) -> Lanes:
        """The value of an operand; a predicate is 0 or 1."""
        ...

    def words(self, registers: Registers, bits: int) -> Lanes:
        """The value of the first of some registers, of a pair for 64 bits."""
        ...

    def special(self, name: str) -> Lanes:
        """The value of a special register."""
        ...

    def ballot(self, predicate: Lanes) -> Lanes:
        """The lanes of each warp that are active and have a predicate, as bits."""
        ...

    def is_elected(self) -> Lanes:
        """Whether a thread is the first active one of its warp."""
        ...

    def from_lane(self, value: Lanes, lane: Lanes) -> Lanes:
        """The value that another lane of the warp has."""
        ...


# The values of the results of an instruction, in the order of its operands.
Evaluator = Callable[[Instruction, Threads], Sequence[Lanes]]
_EVALUATORS: dict[str, Evaluator] = {}
ONE = np.uint64(1)
TRUE = constant(1)


def is_evaluated(instruction: Instruction) -> bool:
    """Whether the results of an instruction are computed from the registers that it reads."""
    return instruction.name in _EVALUATORS


def evaluate(instruction: Instruction, threads: Threads) -> Sequence[Lanes]:
    """The values of the results, as many as are known; of a pair of registers, one of 64 bits."""
    evaluator = _EVALUATORS.get(instruction.name)
    return evaluator(instruction, threads) if evaluator is not None else ()


def of(*names: str) -> Callable[[Evaluator], Evaluator]:
    def add(function: Evaluator) -> Evaluator:
        for name in names:
            _EVALUATORS[name] = function
        return function

    return add


def source_operands(one: Instruction, results: int = 1) -> tuple[Operand, ...]:
    """The operands after `results` results, without the predicates around them."""
    rest = one.operands[results:]
    return tuple(operand for operand in rest if operand.kind != "predicate")


def known_where(*parts: Lanes) -> Any:
    known: Any = True
    for part in parts:
        known = known & part.known
    return known
