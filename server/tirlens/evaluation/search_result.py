"""What a search for the calls of a function is of, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tirlens_worker.facts import Span


@dataclass(frozen=True)
class RepositoryCall:
    """A call of a kernel in the repository.

    Attributes
    ----------
    expression
        The call with the values of its arguments, valid in the kernel's module.
    span
        Where it is; `file` is the path relative to the repository.
    kind
        ``benchmark``, ``program``, ``test`` or ``code``.
    bindings
        The sizes of dynamic dimensions, by name.
    """

    expression: str
    span: Span
    kind: str
    bindings: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class KnownValue:
    """The value of a parameter, as an expression, and the place of the call that gives it."""

    name: str
    text: str
    span: Span


@dataclass(frozen=True)
class Target:
    """The function whose calls are searched for.

    Attributes
    ----------
    path
        Its file, relative to the repository.
    name
        Its dotted name: ``matmul`` or ``Class.method``.
    """

    path: str
    name: str


@dataclass(frozen=True)
class Search:
    """The calls of a target.

    Attributes
    ----------
    calls
        The most typical first.
    values
        The values that calls give to parameters, as expressions, the most frequent first.
    missing
        The number of calls without a value for each parameter.
    relations
        Conditions on parameters without a value, in Python: ``topk % block == 0``.
    known
        What one call gives to parameters that does not give a value to all of them.
    files
        The files that were read for it.
    data_files
        The other files that their code reads, with the times of their last change.
    """

    calls: tuple[RepositoryCall, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    missing: Mapping[str, int] = field(default_factory=dict[str, int])
    relations: tuple[str, ...] = ()
    known: tuple[KnownValue, ...] = ()
    files: frozenset[str] = frozenset()
    data_files: Mapping[str, int] = field(default_factory=dict[str, int])
