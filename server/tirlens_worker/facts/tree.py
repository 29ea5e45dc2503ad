"""The loops and branches around the statements of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Mapping, Optional, Tuple, Union

from .expressions import Expr
from .mappings import no_entries
from .source import Span
from .statements import Statement

#: ``grid`` is a loop over blockIdx, ``block`` over threadIdx; ``parallel`` is tilelang's T.Parallel
#: or TVM's T.parallel.
LoopKind = Literal[
    "grid", "cluster", "block", "serial", "pipelined", "parallel", "vectorized", "unroll",
    "persistent",
]  # fmt: skip
#: ``if`` (of the source), ``predicate`` (T.where), ``init`` (T.init: the first iteration of the
#: reduction axes).
BranchKind = Literal["if", "predicate", "init"]


@dataclass(frozen=True)
class Loop:
    """`body` is executed for `var` in ``range(start, start + extent * step, step)``.

    `tag` is the thread tag of a grid or block loop (``blockIdx.x``).
    `annotations` are those of the schedule (``num_stages`` ...).
    """

    kind: LoopKind
    var: str
    start: Expr
    extent: Expr
    body: Tuple[Node, ...]
    step: Expr = 1
    tag: Optional[str] = None
    label: str = ""
    sites: Tuple[Span, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=no_entries)


@dataclass(frozen=True)
class Branch:
    """`then` is executed where `condition` holds, `orelse` elsewhere."""

    condition: Expr
    then: Tuple[Node, ...]
    orelse: Tuple[Node, ...] = ()
    kind: BranchKind = "if"
    label: str = ""
    sites: Tuple[Span, ...] = ()


@dataclass(frozen=True)
class While:
    """`body` is executed while `condition` holds; the trip count is not known before the run.

    `var` is the iteration number from 0, a variable of the expressions in the body.
    """

    condition: Expr
    body: Tuple[Node, ...]
    label: str = ""
    sites: Tuple[Span, ...] = ()
    var: str = ""


@dataclass(frozen=True)
class Let:
    """`var` is `value` in the rest of the enclosing body."""

    var: str
    value: Expr
    dtype: str = "int32"
    sites: Tuple[Span, ...] = ()


Node = Union[Loop, Branch, While, Let, Statement]
