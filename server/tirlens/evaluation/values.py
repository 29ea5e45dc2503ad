"""Values of the evaluation of a repository's code.

Numbers, strings, lists, tuples and dicts are Python's own, and may contain the values below.
"""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from tirlens.evaluation.syntax import Conditions, Syntax

Value: TypeAlias = Any
FunctionNode: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda"


#: The kinds of programs that call kernels, those with the most typical calls first.
KINDS = ("benchmark", "program", "test", "code")
#: No list, dict or text that an evaluation makes is longer.
MAX_ITEMS = 1 << 16
_DTYPE = re.compile(r"(torch|tilelang\.language)\.(bool|b?float\d\w*|u?int\d+|complex\d+)")


class Unknown:
    """A value that the text does not give."""

    def __repr__(self) -> str:
        return "?"


UNKNOWN = Unknown()


@dataclass(eq=False, repr=False)
class LibraryResult(Unknown):
    """What a function of a framework returns, which the text does not give: its call."""

    path: str
    positional: tuple[Value, ...]
    named: dict[str, Value]


class Data:
    """Base class of values that have contents at run time only, so that no condition is known."""

    def items(self) -> list[Value] | None:
        """The items of an iteration over it; None if they are not known."""
        return None


@dataclass(frozen=True)
class External:
    """A name of a library, by its dotted path: ``torch.float16``."""

    path: str

    @property
    def is_dtype(self) -> bool:
        """Whether it is the type of a tensor's elements."""
        return _DTYPE.fullmatch(self.path) is not None


@dataclass(eq=False, repr=False)
class Frame:
    """The names of one execution of a module, a function or a class.

    `possible_return` is the value of a return in a branch that may not be taken. The names of a
    class (`is_class`) are not those of its methods. `arguments` are those of the call of a
    function. `facts` are the values that conditions of the text give to expressions that are not
    names, by their text (`constraints.py`).
    """

    module: ModuleScope
    names: dict[str, Value] = field(default_factory=dict[str, Any])
    parent: Frame | None = None
    yields: list[Value] = field(default_factory=list[Any])
    possible_return: Value = UNKNOWN
    is_class: bool = False
    arguments: Mapping[str, Value] = field(default_factory=dict[str, Any])
    facts: dict[str, Value] = field(default_factory=dict[str, Any])


@dataclass(eq=False, repr=False)
class ModuleScope:
    """A module of the repository, whose names are evaluated when they are used.

    `import_name` is the name under which Python imports it.
    """

    path: str
    name: str
    import_name: str
    syntax: Syntax
    is_package: bool
    frame: Frame = field(init=False)
    pending: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.frame = Frame(self)

    @property
    def tree(self) -> ast.Module:
        """The tree of its text."""
        return self.syntax.tree

    @property
    def bindings(self) -> dict[str, list[ast.stmt]]:
        """The top-level statements that bind or change each name."""
        return self.syntax.bindings

    @property
    def conditions(self) -> dict[ast.stmt, Conditions]:
        """The conditions under which top-level statements are executed, of those that have any."""
        return self.syntax.conditions


@dataclass(eq=False, repr=False)
class Function:
    """A function or lambda; `owner` is the class of a method, `self_` the instance if bound.

    A function that `is_kernel` runs on a device, and is not executed. One that `is_cached` is
    executed once without arguments, with the result `cached`. `outputs` are the parameters of a
    kernel, or of the kernel that a factory returns, that are allocated and returned.
    `method` is that of the kernel by which it is called, such as ``specialize``.
    `parameter_sets` are the values of ``pytest.mark.parametrize``, a list of dicts for each use,
    `fixture_parameters` those of ``pytest.fixture(params=...)``.
    """

    node: FunctionNode
    frame: Frame
    name: str
    owner: Class | None = None
    self_: Value = None
    is_bound: bool = False
    is_static: bool = False
    is_class_method: bool = False
    is_property: bool = False
    is_fixture: bool = False
    is_kernel: bool = False
    is_cached: bool = False
    method: str = ""
    cached: Value = UNKNOWN
    outputs: tuple[int, ...] = ()
    parameter_sets: tuple[tuple[dict[str, Value], ...], ...] = ()
    fixture_parameters: tuple[Value, ...] = ()

    @functools.cached_property
    def is_generator(self) -> bool:
        """Whether its body yields values."""
        kinds = (ast.Yield, ast.YieldFrom)
        return any(isinstance(node, kinds) for node in ast.walk(self.node))

    @property
    def dotted_name(self) -> str:
        """``matmul`` or ``Class.method``; empty for a function inside another."""
        if self.owner is not None:
            return f"{self.owner.node.name}.{self.name}"
        return self.name if self.frame is self.frame.module.frame else ""


@dataclass(eq=False, repr=False)
class Class:
    """A class of the repository; `metaclass` is UNKNOWN if its statement has none."""

    node: ast.ClassDef
    frame: Frame
    bases: tuple[Value, ...]
    metaclass: Value = UNKNOWN
    names: dict[str, Value] = field(default_factory=dict[str, Any])
    is_dataclass: bool = False

    def lineage(self) -> list[Class]:
        """The class and its bases in the repository, each before its own bases."""
        found: list[Class] = []
        pending: list[Value] = [self]
        while pending and len(found) < 32:
            item = pending.pop(0)
            if isinstance(item, Class) and item not in found:
                found.append(item)
                pending[:0] = item.bases
        return found

    @property
    def is_enum(self) -> bool:
        """Whether it derives from `enum.Enum`."""
        return any(
            isinstance(base, External) and base.path.startswith("enum.")
            for item in self.lineage()
            for base in item.bases
        )


@dataclass(eq=False, repr=False)
class Instance:
    """An object of a class of the repository; `arguments` are those that it was made with."""

    of: Class
    attributes: dict[str, Value] = field(default_factory=dict[str, Any])
    arguments: tuple[tuple[Value, ...], dict[str, Value]] | None = None


@dataclass(frozen=True)
class LibraryObject:
    """What a library's class or function makes of known arguments: ``T.dtype("float16")``."""

    path: str
    positional: tuple[Value, ...]


@dataclass(frozen=True)
class EnumMember:
    """A member of an enumeration of the repository."""

    of: Class
    name: str
    value: Value


@dataclass(eq=False, repr=False)
class Super:
    """``super()`` of an instance in a method of a class."""

    instance: Value
    of: Class


@dataclass(eq=False, repr=False)
class AutogradApply:
    """The method ``apply`` of a `torch.autograd.Function`."""

    of: Class


@dataclass(eq=False, repr=False)
class SaveTensors:
    """The method ``save_for_backward`` of the context of a `torch.autograd.Function`."""

    context: Instance


@dataclass(eq=False, repr=False)
class Partial:
    """A function with its first arguments given."""

    function: Value
    positional: tuple[Value, ...]
    named: dict[str, Value]


@dataclass(frozen=True, eq=False, repr=False)
class FieldFactory:
    """The default of a field of a data class that a call makes for each instance."""

    factory: Value


@dataclass(eq=False, repr=False)
class Parser:
    """An `argparse.ArgumentParser`, or a group of its options, with their defaults."""

    defaults: dict[str, Value] = field(default_factory=dict[str, Any])


@dataclass(eq=False, repr=False)
class Options:
    """The result of parsing a command line without options."""

    values: dict[str, Value]


@dataclass(frozen=True)
class Goal:
    """A function whose calls are recorded, by its file and its dotted name.

    One that `is_executed` is executed as well, as the function around a kernel is; the call of
    another gives a `GoalCall`.
    """

    path: str
    name: str
    is_executed: bool = False


@dataclass(frozen=True, eq=False)
class CallSite:
    """The expression of a call, evaluated in `frame` of the file `path`.

    `function` is what it calls.
    """

    path: str
    node: ast.Call
    frame: Frame
    function: Value


@dataclass(eq=False, repr=False)
class GoalCall:
    """The result of a call of a goal, the function `node`.

    `arguments` are the known arguments by parameter, `missing` the parameters without a value,
    and `defaults` the values of those that are not given. `positional` and `named` are the
    arguments as they are given. `site` is the innermost expression with the call, None where
    there is none. `inner` are the arguments of a call of the result. `made` evaluates the kernel
    itself, `self_` is the object whose method is called, `method` as in `Function`. `around` are
    the arguments of the function in which the goal is defined. `root` is the kind of the
    program that leads to the call, one of `KINDS`. `relations` are conditions on the parameters
    that are not known (`unknown_sizes.py`), `record_sizes` sizes that a record has
    with the result, by name.
    """

    goal: Goal
    node: FunctionNode
    arguments: dict[str, Value]
    missing: frozenset[str]
    defaults: dict[str, Value]
    positional: list[Value]
    named: dict[str, Value]
    site: CallSite | None
    inner: tuple[list[Value], dict[str, Value]] | None = None
    made: Callable[[], Value] = lambda: UNKNOWN
    self_: Value = None
    method: str = ""
    around: Mapping[str, Value] = field(default_factory=dict[str, Any])
    root: str = "program"
    relations: tuple[str, ...] = ()
    record_sizes: dict[str, int] = field(default_factory=dict[str, int])


def is_known(value: Value) -> bool:
    """Whether `value` has no unknown part, two levels deep."""
    if isinstance(value, (list, tuple, set)):
        return all(not isinstance(item, Unknown) for item in value)
    if isinstance(value, dict):
        return all(not isinstance(item, Unknown) for item in value.values())
    return not isinstance(value, Unknown)


def size_of(value: Value, most: int) -> int:
    """The number of values in nested lists and dicts, each as often as it is named.

    The count ends above `most`.
    """
    count, pending = 0, [value]
    while pending and count <= most:
        item = pending.pop()
        count += 1
        if isinstance(item, (list, tuple, set)):
            pending.extend(itertools.islice(item, most))
        elif isinstance(item, dict):
            pending.extend(itertools.islice(item.values(), most))
    return count


def truth(value: Value) -> bool | None:
    """Whether a condition holds; None if that is not known."""
    if isinstance(value, External) and value.is_dtype:
        return True
    if isinstance(value, (Unknown, External, Data)):
        return None
    if value is None or isinstance(value, (bool, int, float, str, list, tuple, dict, set, range)):
        return bool(value)
    return True


def is_plain(value: Value) -> bool:
    """Whether `value` is a value of Python's own, known in its first levels."""
    kinds = (bool, int, float, str, list, tuple, dict, set, range)
    return value is None or (isinstance(value, kinds) and is_known(value))


def is_literal(value: Value) -> bool:
    """Whether `value` consists of nothing else than values with literals."""
    if isinstance(value, (list, tuple)):
        return all(is_literal(item) for item in value)
    if isinstance(value, dict):
        return all(is_literal(key) and is_literal(item) for key, item in value.items())
    return value is None or isinstance(value, (bool, int, float, str))


def items_of(value: Value) -> list[Value] | None:
    """The items of an iteration over `value`; None if they are not known."""
    if isinstance(value, (list, tuple, set, dict, str, range)):
        return list(cast("Iterable[Value]", value)) if len(value) <= MAX_ITEMS else None
    if isinstance(value, Class) and value.is_enum:
        return [item for item in value.names.values() if isinstance(item, EnumMember)]
    if isinstance(value, Instance) and value.of.is_dataclass:
        return list(value.attributes.values())
    return value.items() if isinstance(value, Data) else None
