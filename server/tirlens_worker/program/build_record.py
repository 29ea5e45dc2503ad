"""What the statements of a document build with TVM's API while it is executed.

The value of each statement that a request names is recorded, and the module of a schedule after
each primitive that user code calls, both by line of the document.
"""

from __future__ import annotations

import ast
import contextlib
import sys
from typing import (
    Any,
    Callable,
    Dict,
    Generator,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    cast,
)

from .. import framework_names
from ..facts import Span
from ..protocol import CallCandidate
from ..statements import walk_statements
from .compilations import CapturedKernel
from .document import Document
from .document_frames import call_above, frame_above, frame_of

#: The name under which the instrumented statements of a document find `BuildRecord.note`.
NOTE_NAME = "__tirlens_note__"
# Methods of a schedule that change nothing.
_QUERIES = ("get", "can_", "show", "seed", "fork_", "same_as", "work_on", "enter_", "remove_")
_MAX_ELEMENTS = 100
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


class Event(NamedTuple):
    """A function, a module or a compiled kernel, and how it was built.

    The versions of one schedule have a `sequence` and ascending `number`.  `origin` is the call
    that executed the statement; None for the execution of the document itself.  `column` is that
    of the statement, whose line may have several; None for a version of a schedule.  `call` is the
    call of the function around the statement by another one of the document; empty if there is
    none.
    """

    line: int
    value: Any
    step: str
    sequence: Optional[int] = None
    number: int = 0
    origin: Optional[CallCandidate] = None
    column: Optional[int] = None
    call: str = ""

    def is_in(self, span: Span) -> bool:
        """Whether the event is of a statement in `span`."""
        if self.column is None:
            return span.line <= self.line <= span.end_line
        start, end = (span.line, span.column), (span.end_line, span.end_column)
        return start <= (self.line, self.column) < end


class BuildRecord:
    """The events of one document in the order of the execution."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._events: List[Event] = []
        self._schedules: List[Any] = []
        self._lengths: List[int] = []
        # The lines of the blocks of each function, with the number of events before it.
        self._block_lines: List[Tuple[int, Dict[str, int]]] = []
        self._operation_lines: Dict[int, Tuple[Any, int]] = {}
        # The name of what each watched statement calls, by line and column.
        self._watched: Dict[Tuple[int, int], str] = {}
        self._remarks: Dict[int, List[str]] = {}
        self._origin: Optional[CallCandidate] = None
        self._chosen: Set[str] = set()

    def replace_document(self, document: Document) -> None:
        """Go on with another version, of which the executed statements are the same.

        Its statements are to be watched again: they are other objects at, perhaps, the same place.
        """
        self._document = document
        self._watched.clear()

    def watch(self, spans: Sequence[Span]) -> None:
        """Record the values of the simple statements at `spans`; their code is changed."""
        for node in walk_statements(self._document.tree) if spans else ():
            value = getattr(node, "value", None)
            if not isinstance(node, _SIMPLE) or value is None or self.is_watched(node):
                continue
            if any(span.line <= node.lineno <= span.end_line for span in spans):
                column = self._document.column_of(node)
                self._watched[node.lineno, column] = _callee_name(value)
                _instrument(node, value, column)

    @contextlib.contextmanager
    def during(self, call: CallCandidate) -> Generator[None, None, None]:
        """Record `call` as the origin of what is built inside."""
        self._origin, before = call, self._origin
        try:
            yield
        finally:
            self._origin = before

    def choose(self, call: str) -> None:
        """Show what `call` has built: a kernel has this call, of all that were tried."""
        self._chosen.add(call)

    def is_watched(self, statement: ast.stmt) -> bool:
        """Whether the value of `statement` is recorded."""
        return (statement.lineno, self._document.column_of(statement)) in self._watched

    def note(self, line: int, column: int, value: Any) -> Any:
        """Record the `value` of the statement at `line` and `column`, and return it."""
        name = type(value).__name__
        if name == "Schedule":
            self._add_version(
                value, line, "Schedule", call_above(self._document.path, frame_above(1))
            )
        elif _is_built(value):
            step = self._watched.get((line, column), "")
            event = Event(
                line,
                _snapshot(value),
                step,
                origin=self._origin,
                column=column,
                call=call_above(self._document.path, frame_above(1)),
            )
            self._events.append(event)
        return value

    def note_step(self, schedule: Any, step: str, depth: int) -> None:
        """Record the module of `schedule` after the primitive `step`.

        The caller is `depth` frames above; a call by the framework itself is not recorded.
        """
        caller = frame_above(depth + 1)
        module = "" if caller is None else str(caller.f_globals.get("__name__", ""))
        if module.partition(".")[0] in framework_names.MODULES:
            return
        line = self.line_above(depth + 1)
        if line is not None:
            self._add_version(schedule, line, step, call_above(self._document.path, caller))

    def note_operation(self, tensors: Any) -> None:
        """Record the line at which the operation of `tensors` was made by ``te.compute``."""
        line = self.line_above(2)
        for tensor in elements(tensors) or [tensors]:
            operation = getattr(tensor, "op", None)
            if line is not None and operation is not None:
                # A hash identifies an object only while the object is alive.
                self._operation_lines[hash(operation)] = operation, line

    def note_blocks(self, tensors: Any) -> None:
        """Record the lines of the blocks of the function that is made of `tensors`."""
        lines: Dict[str, int] = {}
        for operation in _operations(tensors):
            known = self._operation_lines.get(hash(operation))
            if known is not None:
                lines.setdefault(str(operation.name), known[1])
        if lines:
            self._block_lines.append((len(self._events), lines))

    def note_remark(self, text: str) -> None:
        """Record what was left out of the statement that is executed."""
        line = self.line_above(2)
        if line is not None and text not in self._remarks.setdefault(line, []):
            self._remarks[line].append(text)

    def remarks(self, first_line: int, last_line: int) -> List[str]:
        """What was left out at these lines."""
        lines = [line for line in self._remarks if first_line <= line <= last_line]
        return list(dict.fromkeys(text for line in lines for text in self._remarks[line]))

    def events(self, span: Span) -> List[Event]:
        """The last event of each schedule at the lines of `span`, and the last other one in it.

        They are of the execution of the document and of the chosen calls.
        """
        found: Dict[Optional[int], Event] = {}
        for event in self._events:
            is_displayed = event.origin is None or event.origin.expression in self._chosen
            if is_displayed and event.is_in(span):
                found[event.sequence] = event
        if len(found) > 1:
            found.pop(None, None)
        return list(found.values())

    def earlier(self, event: Event) -> Iterator[Event]:
        """The events before `event`."""
        for other in self._events:
            if other is event:
                return
            yield other

    def operation_lines(self, tensor: Any) -> Dict[str, int]:
        """The lines of the operations that `tensor` is made of, by their names."""
        known = ((one, self._operation_lines.get(hash(one))) for one in _operations(tensor))
        return {str(one.name): found[1] for one, found in known if found is not None}

    def block_lines(self, names: Sequence[str], event: Event) -> Dict[str, int]:
        """The lines of ``te.compute`` for the blocks `names` that come from one."""
        end = self._events.index(event)
        known = [lines for number, lines in self._block_lines if number <= end]
        fitting: Dict[str, int] = {}
        for lines in reversed(known):
            if _count_stems(names, lines) > _count_stems(names, fitting):
                fitting = lines
        stems = {name: _stem(name, fitting) for name in names}
        return {name: fitting[stem] for name, stem in stems.items() if stem is not None}

    def versions(self, event: Event) -> List[Event]:
        """The versions of the schedule of `event` up to it."""
        if event.sequence is None:
            return []
        return [
            other
            for other in self._events
            if other.sequence == event.sequence and other.number <= event.number
        ]

    def line_above(self, depth: int) -> Optional[int]:
        """The line of the document that is executed by the nearest of the frames above."""
        frame = frame_of(self._document.path, frame_above(depth))
        return None if frame is None else frame.f_lineno

    def _add_version(self, schedule: Any, line: int, step: str, call: str) -> None:
        sequence = next(
            (index for index, one in enumerate(self._schedules) if one.same_as(schedule)), None
        )
        if sequence is None:
            sequence = len(self._schedules)
            self._schedules.append(schedule)
            self._lengths.append(0)
        number = self._lengths[sequence]
        event = Event(line, schedule.mod, step, sequence, number, self._origin, call=call)
        self._lengths[sequence] += 1
        last = self._events[-1] if self._events else None
        if last is not None and last.sequence == sequence and last.line == line:
            # Only the last version of a line is shown.
            self._events[-1] = event
        else:
            self._events.append(event)


class _Current:
    record: Optional[BuildRecord] = None


def use(record: BuildRecord) -> None:
    """Let the patched functions record in `record`."""
    _Current.record = record


def remark(text: str) -> None:
    """Record what was left out of the statement that is executed."""
    if _Current.record is not None:
        _Current.record.note_remark(text)


def patch_schedule(module: Any) -> None:
    """Patch the primitives of the class ``Schedule`` of a module."""
    schedule: Any = module.Schedule
    own: Dict[str, Any] = dict(schedule.__dict__)
    for name, method in own.items():
        if callable(method) and not name.startswith(("_", *_QUERIES)):
            setattr(schedule, name, _recorded_step(name, method))


def patch_te(te: Any) -> None:
    """Patch ``te.compute`` and ``te.create_prim_func`` to record the lines of operations."""
    make = te.create_prim_func

    def create_prim_func(ops: Any, *args: Any, **kwargs: Any) -> Any:
        function = make(ops, *args, **kwargs)
        if _Current.record is not None:
            _Current.record.note_blocks(ops)
        return function

    te.create_prim_func = create_prim_func
    for name in ("compute", "scan", "extern"):
        operation = _recorded_operation(getattr(te, name))
        for module in (te, sys.modules.get("tvm.te.operation")):
            if hasattr(module, name):
                setattr(module, name, operation)


def _recorded_step(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = method(self, *args, **kwargs)
        if _Current.record is not None:
            _Current.record.note_step(self, name, 1)
        return result

    return step


def _recorded_operation(make: Callable[..., Any]) -> Callable[..., Any]:
    def operation(*args: Any, **kwargs: Any) -> Any:
        tensors = make(*args, **kwargs)
        if _Current.record is not None:
            _Current.record.note_operation(tensors)
        return tensors

    return operation


def _is_built(value: Any, depth: int = 2) -> bool:
    if isinstance(value, CapturedKernel) or type(value).__name__ in ("PrimFunc", "IRModule"):
        return True
    if is_tensor_expression(value):
        return True
    inner = elements(value)
    if not depth or len(inner) > _MAX_ELEMENTS:
        return False
    return any(_is_built(one, depth - 1) for one in inner)


def _snapshot(value: Any, depth: int = 2) -> Any:
    """`value` as it is now; a later statement may change a module: ``mod["main"] = ...``."""
    if type(value).__name__ == "IRModule" and hasattr(value, "clone"):
        return value.clone()
    if isinstance(value, CapturedKernel):
        return CapturedKernel(_snapshot(value.prim_func))
    if not depth or not elements(value):
        return value
    if isinstance(value, dict):
        items = cast(Dict[Any, Any], value).items()
        return {key: _snapshot(one, depth - 1) for key, one in items}
    return [_snapshot(one, depth - 1) for one in elements(value)]


def is_tensor_expression(value: Any) -> bool:
    """Whether `value` is a tensor of ``te.compute``."""
    return type(value).__name__ == "Tensor" and type(value).__module__.startswith("tvm.te")


def elements(value: Any) -> List[Any]:
    """The elements of a list, a tuple or the values of a dict; none of anything else."""
    if isinstance(value, dict):
        return list(cast(Dict[Any, Any], value).values())
    return list(cast(Sequence[Any], value)) if isinstance(value, (list, tuple)) else []


def _operations(tensors: Any) -> List[Any]:
    """The operations that `tensors` are made of, inputs first."""
    pending: List[Any] = elements(tensors) or [tensors]
    found: Dict[int, Any] = {}
    while pending:
        operation = getattr(pending.pop(), "op", None)
        if operation is not None and hash(operation) not in found:
            found[hash(operation)] = operation
            pending.extend(getattr(operation, "input_tensors", ()))
    return list(found.values())


def _count_stems(names: Sequence[str], lines: Dict[str, int]) -> int:
    return sum(_stem(name, lines) is not None for name in names)


def _stem(name: str, lines: Dict[str, int]) -> Optional[str]:
    """The longest of the names `lines` with which the name of a block begins: ``C_shared``."""
    fitting = [one for one in lines if name == one or name.startswith(one + "_")]
    return max(fitting, key=len, default=None)


def _instrument(node: Any, value: ast.expr, column: int) -> None:
    """Pass the value of a statement through `BuildRecord.note`."""
    place: List[ast.expr] = [ast.Constant(node.lineno, None), ast.Constant(column, None)]
    call = ast.Call(ast.Name(NOTE_NAME, ast.Load()), [*place, value], [])
    node.value = ast.fix_missing_locations(ast.copy_location(call, value))


def _callee_name(value: ast.expr) -> str:
    """``Schedule`` for a call of ``tvm.s_tir.Schedule``, the outermost of a chain of calls."""
    while isinstance(value, ast.Call):
        function = value.func
        if isinstance(function, ast.Call):
            value = function
        elif isinstance(function, ast.Attribute):
            return function.attr
        else:
            return getattr(function, "id", "")
    return getattr(value, "attr", "")
