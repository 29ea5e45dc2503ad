"""The statements that the walk reads, for IRs whose own statements have another form.

Classes and attributes have the names of apache-tvm 0.26.  Nodes are compared by identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Tuple


class SourceName(NamedTuple):
    """The file of a span."""

    name: str


class SourceSpan(NamedTuple):
    """A part of a file: lines and columns from 1 on, the end exclusive."""

    source_name: SourceName
    line: int
    column: int
    end_line: int
    end_column: int


class Spans(NamedTuple):
    """The source of a statement, behind the calls of the macros that contain it."""

    spans: Tuple[SourceSpan, ...]


@dataclass(eq=False)
class PrimFunc:
    """A function; `source` is that of the framework."""

    params: Sequence[Any]
    body: Any
    attrs: Mapping[str, Any]
    source: Any


@dataclass(eq=False)
class Var:
    """A variable of the launch."""

    name: str
    dtype: str = "int32"


class ThreadBinding(NamedTuple):
    """The index of blocks or threads that a loop is bound to: ``blockIdx.x``."""

    thread_tag: str


@dataclass(eq=False)
class SeqStmt:
    """Statements one after the other."""

    seq: Tuple[Any, ...]
    span: Optional[Spans] = None


@dataclass(eq=False)
class For:
    """A loop; `kind` is one of `dialect.SERIAL` and the following."""

    loop_var: Any
    min: Any
    extent: Any
    kind: int
    body: Any
    step: Any = None
    thread_binding: Optional[ThreadBinding] = None
    annotations: Optional[Mapping[str, Any]] = None
    span: Optional[Spans] = None


@dataclass(eq=False)
class While:
    """A loop while `condition` holds."""

    condition: Any
    body: Any
    span: Optional[Spans] = None


@dataclass(eq=False)
class IfThenElse:
    """A branch."""

    condition: Any
    then_case: Any
    else_case: Any
    span: Optional[Spans] = None


@dataclass(eq=False)
class Bind:
    """A name for a value."""

    var: Any
    value: Any
    span: Optional[Spans] = None


@dataclass(eq=False)
class AllocBuffer:
    """The allocation of an array; `storage` is its shape and strides where threads share it."""

    buffer: Any
    storage: Optional[Tuple[Tuple[Any, ...], Tuple[Any, ...]]] = None
    span: Optional[Spans] = None


@dataclass(eq=False)
class DeclBuffer:
    """A view of the memory at the address `data`."""

    buffer: Any
    data: Any
    span: Optional[Spans] = None


@dataclass(eq=False)
class BufferStore:
    """The store of `value` to an element or vector."""

    buffer: Any
    indices: Sequence[Any]
    value: Any
    span: Optional[Spans] = None


@dataclass(eq=False)
class Evaluate:
    """The evaluation of an expression for its effects."""

    value: Any
    span: Optional[Spans] = None


@dataclass(eq=False)
class AttrStmt:
    """A property of the launch that holds in `body`."""

    attr_key: str
    value: Any
    body: Any
    node: Any = None
    span: Optional[Spans] = None


@dataclass(eq=False)
class AssertStmt:
    """A condition that holds from here on."""

    condition: Any
    span: Optional[Spans] = None


@dataclass(eq=False)
class Break:
    """The exit of a loop."""

    span: Optional[Spans] = None


@dataclass(eq=False)
class Continue:
    """The next iteration of a loop."""

    span: Optional[Spans] = None


@dataclass(eq=False)
class Return:
    """The end of the function."""

    value: Any = None
    span: Optional[Spans] = None


@dataclass(eq=False)
class RegionStmt:
    """A region of an operation that no adapter knows: it is left out, with a caveat."""

    op: Any
    span: Optional[Spans] = None
