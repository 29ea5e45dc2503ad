"""What conditions that hold say of values that are not known: ``assert width == 576``.

The value becomes that of a name in the frame; of another expression, such as ``q.shape[-1]``, it is
a fact of the frame. Equations are solved for the only part that is not known.
"""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ast

from tirlens.evaluation import unknown_sizes
from tirlens.evaluation.machine import Machine
from tirlens.evaluation.values import UNKNOWN, Frame, Unknown, Value, is_known, is_literal


def suppose(machine: Machine, test: ast.expr, holds: bool, frame: Frame) -> None:
    """Note what a condition that holds, or does not hold, says of the names of a frame."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        suppose(machine, test.operand, not holds, frame)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
        for part in test.values:
            suppose(machine, part, holds, frame)
    elif isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        wanted = ast.Eq if holds else ast.NotEq
        if not holds and len(test.ops) > 1:
            return
        for operator, left, right in zip(test.ops, sides, sides[1:], strict=False):
            first, second = machine.value(left, frame), machine.value(right, frame)
            unknown_sizes.note(
                machine.conditions, unknown_sizes.condition(operator, first, second, holds)
            )
            if isinstance(operator, wanted):
                _equate(machine, (left, first), (right, second), frame)


def _equate(
    machine: Machine, one: tuple[ast.expr, Value], other: tuple[ast.expr, Value], frame: Frame
) -> None:
    """Note that two expressions, of which the values are given as known so far, are equal."""
    (left, first), (right, second) = one, other
    if isinstance(first, Unknown) and is_known(second):
        _solve(machine, left, second, frame)
    elif isinstance(second, Unknown) and is_known(first):
        _solve(machine, right, first, frame)
    elif isinstance(left, (ast.Tuple, ast.List)) and isinstance(second, (tuple, list)):
        for part, value in zip(left.elts, second, strict=False):
            if isinstance(machine.value(part, frame), Unknown) and is_known(value):
                _solve(machine, part, value, frame)


def _solve(machine: Machine, node: ast.expr, value: Value, frame: Frame) -> None:
    """Note the value of an expression that is not known."""
    if not is_literal(value):
        return
    if isinstance(node, ast.Name):
        frame.names[node.id] = value
    elif isinstance(node, (ast.Attribute, ast.Subscript)):
        frame.facts[ast.unparse(node)] = value
    elif isinstance(node, ast.BinOp) and type(value) is int:
        left, right = machine.value(node.left, frame), machine.value(node.right, frame)
        if type(right) is int and isinstance(left, Unknown):
            _solve_part(machine, node.left, _left_operand(node.op, value, right), frame)
        elif type(left) is int and isinstance(right, Unknown):
            _solve_part(machine, node.right, _right_operand(node.op, value, left), frame)


def _solve_part(machine: Machine, node: ast.expr, value: int | None, frame: Frame) -> None:
    if value is not None:
        _solve(machine, node, value, frame)


def _left_operand(operator: ast.operator, value: int, right: int) -> int | None:
    """The x of ``x <operator> right == value``; None if it is not one number."""
    if isinstance(operator, ast.Add):
        return value - right
    if isinstance(operator, ast.Sub):
        return value + right
    if isinstance(operator, ast.Mult) and right and value % right == 0:
        return value // right
    return None


def _right_operand(operator: ast.operator, value: int, left: int) -> int | None:
    """The x of ``left <operator> x == value``; None if it is not one number."""
    if isinstance(operator, ast.Sub):
        return left - value
    return _left_operand(operator, value, left)


def fact(frame: Frame, node: ast.expr) -> Value:
    """The value that the facts give to an expression; `UNKNOWN` if they give none."""
    return frame.facts.get(ast.unparse(node), UNKNOWN) if frame.facts else UNKNOWN


def forget(frame: Frame, name: str) -> None:
    """Drop the facts of expressions with a name that is assigned."""
    for text in [text for text in frame.facts if name in _names(text)]:
        del frame.facts[text]


def _names(text: str) -> set[str]:
    nodes = ast.walk(ast.parse(text, mode="eval"))
    return {node.id for node in nodes if isinstance(node, ast.Name)}
