"""Assumed values that satisfy the conditions of a definition together.

What is assumed for each parameter by itself may contradict what the definition demands of several:
``assert dim == heads * dim_head``, ``assert topk % block == 0``. Values are changed, as few and as
little as can be, those by name alone before those of a model, and these before those that the text
gives, until no condition is broken. What the user gives stays.
"""

from __future__ import annotations

import ast
import heapq
import math
from dataclasses import replace
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..protocol import KernelRequest
from .assumed_values import Parameter, plausible_values
from .definition_conditions import Broken, broken_conditions, has_conditions
from .model_attempts import Attempt, attempts_with_models

# Each change mends at least one condition.
_MOST_CHANGES = 6
# Of the numbers of conditions, of which every product of two is tried.
_MOST_NUMBERS = 32
_POWERS = tuple(1 << exponent for exponent in range(16))


def consistent_attempts(
    parameters: Sequence[Parameter],
    request: KernelRequest,
    conditions: Conditions,
    divisor: int = 1,
) -> Iterator[Attempt]:
    """The distinct attempts of `attempts_with_models`, with values that satisfy `conditions`."""
    names = [parameter.name for parameter in parameters]
    choices = {
        parameter.name: (
            *request.hints.get(parameter.name, ()),
            *plausible_values(parameter, names),
        )
        for parameter in parameters
    }
    seen: List[Dict[str, str]] = []
    for attempt in attempts_with_models(parameters, request, divisor):
        model = attempt.model
        of_user: Collection[str] = model.values if model is not None and model.is_chosen else ()
        trusted = (
            {*request.bindings, *of_user},
            frozenset(request.hints),
            frozenset(model.values if model is not None else ()),
        )
        values = conditions.satisfied_by(attempt.values, choices, trusted)
        if values in seen:
            continue
        seen.append(values)
        yield attempt if values == attempt.values else _with_values(attempt, values)


def _with_values(attempt: Attempt, values: Dict[str, str]) -> Attempt:
    """`attempt` with other values, of which those that are no longer a model's are not its."""
    model = attempt.model
    if model is not None:
        kept = {name: size for name, size in model.values.items() if values[name] == str(size)}
        model = replace(model, values=kept) if kept else None
    return attempt._replace(values=values, model=model)


class Conditions:
    """The conditions of one definition, and `relations` between its parameters where it is called.

    `namespace` has the names of its module, `defaults` the values of parameters that have one.
    """

    def __init__(
        self,
        definition: Optional[ast.AST],
        namespace: Mapping[str, Any],
        defaults: Mapping[str, Any],
        relations: Sequence[str] = (),
    ) -> None:
        self._relations = [ast.parse(text, mode="eval").body for text in relations]
        is_tested = definition is not None and (bool(self._relations) or has_conditions(definition))
        self._definition = definition if is_tested else None
        self._namespace = namespace
        self._defaults = defaults

    def satisfied_by(
        self,
        texts: Mapping[str, str],
        choices: Mapping[str, Sequence[str]],
        trusted: Sequence[Collection[str]],
    ) -> Dict[str, str]:
        """`texts`, the values of parameters, changed so that they break fewest conditions.

        Parameters
        ----------
        choices
            Other values of parameters, as text.
        trusted
            The names whose values are trusted, those that are never changed first.
        """
        found = dict(texts)
        broken = self._broken(found)
        for _ in range(_MOST_CHANGES):
            if not broken:
                break
            change = self._best_change(found, broken, choices, trusted)
            if change is None:
                break
            found[change[0]], broken = change[1], change[2]
        return found

    def _best_change(
        self,
        texts: Mapping[str, str],
        broken: Sequence[Broken],
        choices: Mapping[str, Sequence[str]],
        trusted: Sequence[Collection[str]],
    ) -> Optional[Tuple[str, str, List[Broken]]]:
        """The parameter, its value, and what is still broken then; None if nothing helps."""
        best: Optional[Tuple[Tuple[int, int, float], Tuple[str, str, List[Broken]]]] = None
        for name in sorted({name for one in broken for name in one.names}):
            rank = next(
                (position for position, one in enumerate(trusted) if name in one), len(trusted)
            )
            if rank == 0 or name not in texts:
                continue
            for value in dict.fromkeys(_values(name, texts, broken, choices.get(name, ()))):
                left = self._broken({**texts, name: value})
                if len(left) < len(broken):
                    cost = (len(left), -rank, _distance(texts[name], value))
                    if best is None or cost < best[0]:
                        best = cost, (name, value, left)
        return None if best is None else best[1]

    def _broken(self, texts: Mapping[str, str]) -> List[Broken]:
        if self._definition is None:
            return []
        values = dict(self._defaults)
        for name, text in texts.items():
            values.pop(name, None)
            try:
                values[name] = ast.literal_eval(text)
            except (ValueError, SyntaxError):
                continue
        return broken_conditions(self._definition, self._relations, values, self._namespace)


def _values(
    name: str, texts: Mapping[str, str], broken: Sequence[Broken], choices: Sequence[str]
) -> Iterator[str]:
    """Values that may mend conditions: those listed, and sizes that follow from the numbers.

    An equation has the value of its other side, a product that divided by the other factor; what is
    to be divided without rest is near a multiple or a divisor.
    """
    yield from choices
    text = texts[name]
    if not text.isdigit() or text == "0":
        return
    value = int(text)
    found = {number for one in broken if name in one.names for number in one.numbers} - {value}
    nearest = heapq.nsmallest(_MOST_NUMBERS, found, key=lambda number: _factor(value, number))
    numbers = sorted(nearest)
    for number in numbers:
        yield str(number)
        yield str(max(value // number, 1) * number)
        yield str(math.gcd(value, number))
        for other in numbers:
            if number % other == 0:
                yield str(number // other)
            yield str(number * other)
    for power in _POWERS:
        yield str(power)


def _distance(before: str, after: str) -> float:
    """How much a size changes, as a factor of two; other values are the last choice."""
    if before.isdigit() and after.isdigit() and int(before) and int(after):
        return _factor(int(before), int(after))
    return 64.0 if after.isdigit() == before.isdigit() else 65.0


def _factor(before: int, after: int) -> float:
    """By which power of two a size changes, up or down."""
    return abs(math.log2(after / before))
