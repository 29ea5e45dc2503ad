"""Executes the TIR of small TVMScript functions in plain Python and counts what happens.

Runs under the framework's Python, imports nothing of TIRLens, and follows the language's
definition: blocks bind their iteration variables and run where their predicate holds, `T.init`
runs at the first step of every reduction, thread bindings are loops.  Data are dictionaries of
elements, floats from a fixed function of the index, so that branches on data run for real.

Counted are floating-point operations by (op, dtype), casts, and, for arrays that are parameters,
the bits of each load and store and the distinct elements.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from typing import Any

_BINARY = {
    "Add": ("add", lambda a, b: a + b),
    "Sub": ("sub", lambda a, b: a - b),
    "Mul": ("mul", lambda a, b: a * b),
    "Max": ("max", max),
    "Min": ("min", min),
    "FloorDiv": ("floordiv", lambda a, b: a // b),
    "FloorMod": ("mod", lambda a, b: a % b),
    "EQ": ("compare", lambda a, b: a == b),
    "NE": ("compare", lambda a, b: a != b),
    "LT": ("compare", lambda a, b: a < b),
    "LE": ("compare", lambda a, b: a <= b),
    "GT": ("compare", lambda a, b: a > b),
    "GE": ("compare", lambda a, b: a >= b),
}
_FUNCTIONS = {
    "exp": math.exp,
    "sqrt": lambda x: math.sqrt(abs(x)),
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "fabs": abs,
}
_NAMED = {"fabs": "abs"}


class Executor:
    def __init__(self, func: Any) -> None:
        self.func = func
        self.operations: Counter = Counter()
        self.bits: Counter = Counter()
        self.touched: dict = defaultdict(set)
        self.values: dict = {}
        self.memory: dict = {}
        self.parameters: set = set()

    def run(self) -> dict:
        for param in self.func.params:
            buffer = self._buffer_of_parameter(param)
            self.parameters.add(buffer.name)
        self.statement(self.func.body)
        return {
            "operations": sorted([*key, count] for key, count in self.operations.items()),
            "bits": sorted([*key, count] for key, count in self.bits.items()),
            "touched": sorted([name, len(found)] for name, found in self.touched.items()),
        }

    def _buffer_of_parameter(self, param: Any) -> Any:
        buffer_map = getattr(self.func, "buffer_map", None)
        return buffer_map[param] if buffer_map is not None and param in buffer_map else param

    # -- statements -----------------------------------------------------------------------------

    def statement(self, node: Any) -> None:
        name = type(node).__name__
        if name == "SeqStmt":
            for item in node.seq:
                self.statement(item)
        elif name == "For":
            start = self.value(node.min)
            step = getattr(node, "step", None)
            stride = 1 if step is None else self.value(step)
            for position in range(self.value(node.extent)):
                self.values[node.loop_var] = start + position * stride
                self.statement(node.body)
        elif name in ("SBlockRealize", "BlockRealize"):
            self.block(node)
        elif name in ("BufferStore", "TensorStore"):
            self.store(node)
        elif name == "IfThenElse":
            if self.value(node.condition):
                self.statement(node.then_case)
            elif node.else_case is not None:
                self.statement(node.else_case)
        elif name == "AttrStmt":
            self.statement(node.body)
        elif name in ("AllocBuffer", "DeclBuffer"):
            body = getattr(node, "body", None)
            if body is not None:
                self.statement(body)
        elif name == "Evaluate":
            self.value(node.value)
        elif name in ("Bind", "LetStmt"):
            self.values[node.var] = self.value(node.value)
        else:
            raise NotImplementedError(name)

    def block(self, realize: Any) -> None:
        if not self.value(realize.predicate):
            return
        block = realize.block
        first = True
        for variable, bound in zip(block.iter_vars, realize.iter_values, strict=True):
            value = self.value(bound)
            self.values[variable.var] = value
            if int(variable.iter_type) == 2 and value != self.value(variable.dom.min):
                first = False
        if block.init is not None and first:
            self.statement(block.init)
        self.statement(block.body)

    def store(self, node: Any) -> None:
        buffer = getattr(node, "buffer", None)
        buffer = node.dest if buffer is None else buffer
        value = self.value(node.value)
        index = tuple(self.value(item) for item in node.indices)
        self.touch(buffer, index, "write")
        self.memory[buffer.name, index] = value

    def touch(self, buffer: Any, index: tuple, mode: str) -> None:
        if buffer.name in self.parameters:
            width = int(re.search(r"\d+", str(buffer.dtype)).group())
            self.bits[buffer.name, mode] += width
            self.touched[buffer.name].add(index)

    # -- expressions ----------------------------------------------------------------------------

    def value(self, node: Any) -> Any:
        if isinstance(node, (bool, int, float)):
            return node
        name = type(node).__name__
        if name in ("IntImm", "FloatImm"):
            return node.value
        if name in ("Var", "SizeVar"):
            return self.values[node]
        if name in _BINARY:
            operation, function = _BINARY[name]
            self.count(operation, node.a)
            return function(self.value(node.a), self.value(node.b))
        if name == "Div":
            self.count("div", node.a)
            right = self.value(node.b)
            return self.value(node.a) / (right if right else 1.0)
        if name == "And":
            return self.value(node.a) and self.value(node.b)
        if name == "Or":
            return self.value(node.a) or self.value(node.b)
        if name == "Not":
            return not self.value(node.a)
        if name in ("BufferLoad", "TensorLoad"):
            return self.load(node)
        if name == "Cast":
            if self.is_float(node.value) or self.is_float(node):
                self.operations["cast", self.dtype(node.value)] += 1
            return self.value(node.value)
        if name == "Select":
            self.count("select", node.true_value)
            chosen = (self.value(node.true_value), self.value(node.false_value))
            return chosen[0] if self.value(node.condition) else chosen[1]
        if name == "Call":
            return self.call(node)
        raise NotImplementedError(name)

    def load(self, node: Any) -> Any:
        buffer = getattr(node, "buffer", None)
        buffer = node.source if buffer is None else buffer
        index = tuple(self.value(item) for item in node.indices)
        self.touch(buffer, index, "read")
        return self.memory.get((buffer.name, index), 0.5 + sum(index) % 7)

    def call(self, node: Any) -> Any:
        name = node.op.name.rsplit(".", 1)[-1]
        if name == "if_then_else":
            return self.value(node.args[1] if self.value(node.args[0]) else node.args[2])
        if name in ("likely", "ret"):
            return self.value(node.args[0])
        self.count(_NAMED.get(name, name), node.args[0])
        return _FUNCTIONS[name](self.value(node.args[0]))

    def count(self, operation: str, operand: Any) -> None:
        if self.is_float(operand):
            self.operations[operation, self.dtype(operand)] += 1

    def is_float(self, node: Any) -> bool:
        return self.dtype(node).startswith(("float", "bfloat"))

    @staticmethod
    def dtype(node: Any) -> str:
        found = getattr(node, "dtype", None)
        return str(node.ty.dtype if found is None else found)
