"""tilelang's rewriting of Python functions, done where its result is used, once for each code.

tilelang rewrites the syntax tree of each macro and kernel when its definition is executed: also of
a factory, which is then called as it is written, and of the macros in its own library at each call.
This took most of the time of a trace.  The result depends on the text of the function, and on the
values of some expressions in it, which tilelang evaluates meanwhile.
"""

from __future__ import annotations

import ast
import copy
import types
from functools import cached_property
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .fast_syntax_trees import with_names

_MAX_CODES = 1000
# An expression and its value.
_Evaluated = Tuple[ast.expr, Any]


class _Rewritten(NamedTuple):
    """What tilelang has made of a code object.

    `evaluated` are the expressions that it evaluated meanwhile, with their values.
    `make_closure` takes the values of the free variables and returns the rewritten function.
    """

    code: types.CodeType
    namespace: Dict[str, Any]
    names: Tuple[str, ...]
    evaluated: List[_Evaluated]
    make_closure: types.CodeType
    source: Any
    hints: Dict[str, Any]


def install(builder: Any) -> None:
    """Patch tilelang's module ``tilelang.language.eager.builder``.

    Raises:
        AttributeError: this version of tilelang rewrites in another way.
    """
    rewriter = _Rewriter(builder)
    builder.mutate = rewriter.rewrite_later


class _Rewriter:
    """Rewrites functions as `builder` does, and stores the code of the last ones."""

    def __init__(self, builder: Any) -> None:
        self._rewrite: Callable[[Any], Any] = builder.mutate
        self._make: Callable[..., Any] = builder.IRGenerator
        syntax: Any = __import__(builder.mutate.__module__, fromlist=["ast"])
        self._evaluate: Callable[..., Any] = syntax._try_eval
        self._compile: Callable[..., Any] = syntax.utils.get_compiled_object
        self._tree_of: Callable[[Any], ast.AST] = syntax.utils.get_ast
        self.values_of: Callable[[Any], Dict[str, Any]] = syntax.utils.get_func_nonlocals
        # By the identity of code objects, which are stored as well: no other one gets it.
        self._known: Dict[int, _Rewritten] = {}
        self._annotated: Dict[int, Tuple[types.CodeType, bool]] = {}
        self._evaluated: List[_Evaluated] = []
        self._made: Optional[types.FunctionType] = None
        syntax._try_eval = self._record_value
        syntax.utils.get_compiled_object = self._record_code
        syntax.ast = _with_late_text(syntax.ast)

    def rewrite_later(self, function: Any) -> Any:
        """`function` rewritten, which is done when the result is used."""
        is_plain = isinstance(function, types.FunctionType)
        return _Later(self, function) if is_plain else self._rewrite(function)

    def has_annotations(self, function: types.FunctionType) -> bool:
        """Whether a statement of `function` is an annotation alone, as those of parameters are."""
        code = function.__code__
        known = self._annotated.get(id(code))
        if known is None:
            tree: Any = self._tree_of(function)
            found = any(
                isinstance(node, ast.AnnAssign) and node.value is None for node in tree.body[0].body
            )
            known = code, found
            _store(self._annotated, id(code), known)
        return known[1]

    def rewrite(self, function: types.FunctionType, values: Dict[str, Any]) -> Any:
        """`function` rewritten, whose free variables have `values`."""
        known = self._known.get(id(function.__code__))
        if known is None or not self._holds(known, function, values):
            return self._rewrite_and_store(function, values)
        closure = types.FunctionType(known.make_closure, function.__globals__)
        return self._make(
            gen=closure(**values), source=known.source, extra_type_hints=dict(known.hints)
        )

    def _holds(
        self, known: _Rewritten, function: types.FunctionType, values: Dict[str, Any]
    ) -> bool:
        namespace = function.__globals__
        return (
            known.namespace is namespace
            and known.names == tuple(values)
            and all(
                self._evaluate(node, values, namespace) is value for node, value in known.evaluated
            )
        )

    def _rewrite_and_store(self, function: types.FunctionType, values: Dict[str, Any]) -> Any:
        self._evaluated, self._made = [], None
        # tilelang reads the free variables at the definition. They may have changed since.
        result = self._rewrite(_with_values(function, values))
        made, code = self._made, function.__code__
        if made is not None and made.__closure__ is None:
            known = _Rewritten(
                code,
                function.__globals__,
                tuple(values),
                self._evaluated,
                made.__code__,
                result.source,
                dict(result.extra_type_hints),
            )
            _store(self._known, id(code), known)
        return result

    def _record_value(self, node: ast.expr, values: Any, namespace: Any) -> Any:
        value = self._evaluate(node, values, namespace)
        # The node itself is going to be rewritten.
        self._evaluated.append((copy.deepcopy(node), value))
        return value

    def _record_code(self, *args: Any, **kwargs: Any) -> Any:
        made = self._compile(*args, **kwargs)
        self._made = made if isinstance(made, types.FunctionType) else None
        return made


class _Later:
    """What `mutate` returns, made when one of its attributes is read."""

    def __init__(self, rewriter: _Rewriter, function: types.FunctionType) -> None:
        self._rewriter = rewriter
        self._function = function
        self._values = rewriter.values_of(function)

    @cached_property
    def _result(self) -> Any:
        return self._rewriter.rewrite(self._function, self._values)

    @property
    def extra_type_hints(self) -> Any:
        """The types of parameters that are annotated in the body."""
        # tilelang asks for these at each definition.
        is_needed = self._rewriter.has_annotations(self._function)
        return self._result.extra_type_hints if is_needed else {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._result, name)


class _LateText:
    """The text of a syntax tree, which tilelang has for messages."""

    def __init__(self, tree: ast.AST) -> None:
        self._tree = tree

    def __str__(self) -> str:
        return ast.unparse(self._tree)


def _store(items: Dict[int, Any], key: int, item: Any) -> None:
    while len(items) >= _MAX_CODES:
        del items[next(iter(items))]
    items[key] = item


def _with_values(function: types.FunctionType, values: Dict[str, Any]) -> types.FunctionType:
    """A copy of `function` whose free variables have `values`, and no value if it is not there."""
    names = function.__code__.co_freevars
    cells = tuple(types.CellType(values[n]) if n in values else types.CellType() for n in names)
    found = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        cells,
    )
    found.__kwdefaults__ = function.__kwdefaults__
    found.__qualname__ = function.__qualname__
    found.__dict__.update(function.__dict__)
    return found


def _with_late_text(module: Any) -> Any:
    """A copy of the module `ast` whose `unparse` does nothing yet for a whole module."""

    def unparse(node: ast.AST) -> Any:
        return _LateText(node) if isinstance(node, ast.Module) else module.unparse(node)

    return with_names(module, unparse=unparse)
