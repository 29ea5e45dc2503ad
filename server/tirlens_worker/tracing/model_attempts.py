"""Assumed arguments that are those of one language model, before those by name alone."""

from __future__ import annotations

from typing import Dict, Iterator, Mapping, NamedTuple, Optional, Sequence

from ..facts import ModelSizes
from ..protocol import KernelRequest
from .assumed_values import Parameter, attempts

# Of the first model, with smaller and smaller blocks, and of each other.
_MOST_ATTEMPTS, _MOST_OF_OTHERS = 8, 2


class Attempt(NamedTuple):
    """An assignment of values to parameters, and those of them that are a model's.

    `is_consistent`: the sizes that the text gives agree with a model, and so do the others.
    """

    values: Dict[str, str]
    model: Optional[ModelSizes] = None
    is_consistent: bool = False


def attempts_with_models(
    parameters: Sequence[Parameter], request: KernelRequest, divisor: int = 1
) -> Iterator[Attempt]:
    """Assignments of values to `parameters`, the most plausible first, as in `attempts`.

    Those with the sizes of a model come first, and have them and those of the text whole, whatever
    the divisor.
    """
    hints, bindings = request.hints, request.bindings
    required = {parameter.name for parameter in parameters if not parameter.optional}
    for rank, model in enumerate(request.models):
        given = {} if model.is_chosen else first_hints(request)
        sizes = {
            name: given.get(name, value) for name, value in model.values.items() if name in required
        }
        if not sizes:
            continue
        free = {n: size for n, size in sizes.items() if n not in given and n not in bindings}
        found = attempts(parameters, hints, {**sizes, **bindings}, divisor)
        of_model = ModelSizes(model.model, free, model.is_chosen) if free else None
        for assignment, _ in zip(found, range(_MOST_OF_OTHERS if rank else _MOST_ATTEMPTS)):
            yield Attempt(assignment, of_model, True)
    for assignment in attempts(parameters, hints, bindings, divisor):
        yield Attempt(assignment)


def first_hints(request: KernelRequest) -> Dict[str, int]:
    """The first size that the text gives to each name."""
    first = {name: values[0] for name, values in request.hints.items() if values}
    return {name: int(text) for name, text in first.items() if text.isdigit()}


def sizes_of_model(
    request: KernelRequest,
    of_call: Optional[ModelSizes],
    missing: Sequence[str],
    known: Mapping[str, int],
) -> Optional[ModelSizes]:
    """The values of dynamic dimensions `missing` in the model of the call, or in one that fits.

    A model fits that agrees with the `known` sizes and arguments.
    """
    for model in request.models:
        if of_call is not None and model.model != of_call.model:
            continue
        if any(known.get(name, value) != value for name, value in model.values.items()):
            continue
        found = {name: model.values[name] for name in missing if name in model.values}
        if found:
            return ModelSizes(model.model, found, model.is_chosen)
    return None
