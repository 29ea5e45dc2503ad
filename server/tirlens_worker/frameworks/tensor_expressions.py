"""Functions of tensors that are described and of which the program makes none."""

from __future__ import annotations

import sys
from typing import Any, Dict, Set


def make_function(tensor: Any) -> Any:
    """The unscheduled function of a tensor of ``te.compute``, its inputs before its result."""
    te = sys.modules["tvm.te"]
    inputs: Dict[int, Any] = {}
    _collect_inputs(tensor, inputs, set())
    return te.create_prim_func([*inputs.values(), tensor])


def _collect_inputs(tensor: Any, inputs: Dict[int, Any], seen: Set[int]) -> None:
    """The placeholders that a tensor is made of, in the order in which they are read."""
    operation = tensor.op
    if hash(operation) in seen:
        return
    seen.add(hash(operation))
    if type(operation).__name__ == "PlaceholderOp":
        inputs[hash(operation)] = tensor
    for one in operation.input_tensors:
        _collect_inputs(one, inputs, seen)
