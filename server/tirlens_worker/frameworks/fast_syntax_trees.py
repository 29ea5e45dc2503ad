"""The operations on syntax trees that tilelang's rewriting consists of, with less work.

tilelang parses a template for each name, call and statement of a kernel, replaces names in it, and
visits all nodes of a function several times. Here a template is parsed once, and nodes that hold
nothing of interest are not visited. The trees are the same, with the same positions.
"""

from __future__ import annotations

import ast
import types
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Type, cast

_POSITION: Tuple[str, ...] = ("lineno", "col_offset", "end_lineno", "end_col_offset")
_MAX_TEMPLATES = 5000
# Nodes without parts and without a position.
_MARKS = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)
_LEAVES = (*_MARKS, ast.Constant)
# The methods of `ast.NodeVisitor` for constants, also for those that Python 3.8 replaced.
_CONSTANTS = ("Constant", "Num", "Str", "Bytes", "NameConstant", "Ellipsis")
_templates: Dict[str, List[_Template]] = {}


class _Template(NamedTuple):
    """A node of a parsed template.

    `values` are its attributes, `parts` those that are nodes or lists of nodes. `name` is that of
    an `ast.Name`.
    """

    kind: Type[ast.AST]
    values: Dict[str, Any]
    parts: Tuple[Tuple[str, Any], ...]
    has_position: bool
    name: Optional[str]


def install(syntax: Any) -> None:
    """Patch the module ``tilelang.language.eager.ast``.

    Raises:
        AttributeError: this version of tilelang rewrites in another way.
    """
    if _example(syntax.quote) != _example(quote):
        raise AttributeError("quote")
    syntax.quote = quote
    _visit_fewer_nodes(syntax.DSLMutator)
    # These look for statements, which no expression contains.
    for name in ("SpanAttacher", "LoopControlFinder"):
        if hasattr(syntax, name):
            _visit_no_expressions(getattr(syntax, name))
    syntax.utils.ast = with_names(syntax.utils.ast, fix_missing_locations=fix_missing_locations)


def quote(
    text: str,
    *,
    passes: Optional[Sequence[Any]] = None,
    span: Any = None,
    **names: Any,
) -> List[ast.stmt]:
    """The statements `text`, at the position `span`, with other nodes in place of some.

    `names` has what takes the place of names, and `passes` that of ``pass`` statements, in order:
    a node, a list of statements, or None for nothing.
    """
    found = _templates.get(text)
    if found is None:
        while len(_templates) >= _MAX_TEMPLATES:
            del _templates[next(iter(_templates))]
        found = _templates[text] = [_template(node) for node in ast.parse(text).body]
    if isinstance(span, ast.AST):
        span = _position(span)
    position = None if span is None else dict(zip(_POSITION, span))
    statements: List[ast.stmt] = _nodes(found, names, list(passes or ()), position)
    return statements


def _template(node: ast.AST) -> Any:
    """The template of a node; the node itself if it is one that all trees share."""
    if isinstance(node, ast.expr_context):
        return node
    parts: List[Tuple[str, Any]] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            parts.append((field, _template(value)))
        elif isinstance(value, list):
            inner = cast("List[Any]", value)
            items = [_template(item) if isinstance(item, ast.AST) else item for item in inner]
            parts.append((field, items))
    name = node.id if isinstance(node, ast.Name) else None
    has_position = all(hasattr(node, attribute) for attribute in _POSITION)
    return _Template(type(node), dict(vars(node)), tuple(parts), has_position, name)


def _nodes(
    items: List[Any], names: Dict[str, Any], passes: List[Any], position: Optional[Dict[str, Any]]
) -> List[Any]:
    """The nodes of `items`, as `ast.NodeTransformer` returns a list."""
    found: List[Any] = []
    for item in items:
        node = _node(item, names, passes, position)
        if node is None:
            continue
        if isinstance(item, _Template) and not isinstance(node, ast.AST):
            found.extend(node)
        else:
            found.append(node)
    return found


def _node(
    template: Any, names: Dict[str, Any], passes: List[Any], position: Optional[Dict[str, Any]]
) -> Any:
    if not isinstance(template, _Template):
        return template
    kind, values, parts, has_position, name = template
    if name is not None and name in names:
        return names[name]
    if kind is ast.Pass:
        item = passes.pop(0)
        if item:
            return item
    node = kind.__new__(kind)
    attributes = vars(node)
    attributes.update(values)
    if position is not None and has_position and name is None and kind is not ast.Pass:
        attributes.update(position)
    for field, part in parts:
        is_list = not isinstance(part, (_Template, ast.AST))
        value = (_nodes if is_list else _node)(part, names, passes, position)
        if value is None:
            del attributes[field]
        else:
            attributes[field] = value
    return node


def _position(node: ast.AST) -> Optional[Tuple[Any, ...]]:
    found = tuple(getattr(node, attribute, None) for attribute in _POSITION)
    is_complete = all(hasattr(node, attribute) for attribute in _POSITION)
    return found if is_complete else None


def _example(one: Callable[..., List[ast.stmt]]) -> str:
    """What a function as `quote` makes of a template."""
    body, value = ast.parse("first = 1\nsecond").body, ast.parse("(\n value)").body[0]
    found = one(
        "for a in name(kept, 1):\n  pass\n  pass\n  pass\nreturn gone",
        passes=[body, None, value],
        span=value,
        name=value,
        gone=None,
    )
    return ast.dump(ast.Module(found, []), include_attributes=True)


def _visit_fewer_nodes(transformer: Any) -> None:
    """Let a subclass of `ast.NodeTransformer` do the same without visits of leaves."""
    if "generic_visit" in vars(transformer) or "visit" in vars(transformer):
        raise AttributeError("generic_visit")
    leaves = tuple(leaf for leaf in _LEAVES if not _visits(transformer, leaf))

    def generic_visit(self: Any, node: ast.AST) -> ast.AST:
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                before = cast("List[Any]", value)
                items: List[Any] = []
                for item in before:
                    if isinstance(item, ast.AST) and not isinstance(item, leaves):
                        item = self.visit(item)
                        if item is None:
                            continue
                        if not isinstance(item, ast.AST):
                            items.extend(item)
                            continue
                    items.append(item)
                before[:] = items
            elif isinstance(value, ast.AST) and not isinstance(value, leaves):
                found = self.visit(value)
                if found is None:
                    delattr(node, field)
                elif found is not value:
                    setattr(node, field, found)
        return node

    transformer.generic_visit = generic_visit


def _visits(transformer: Any, leaf: Type[ast.AST]) -> bool:
    """Whether a transformer has a method for a class of nodes or one of its subclasses."""
    kinds = (leaf, *leaf.__subclasses__())
    names = _CONSTANTS if leaf is ast.Constant else tuple(kind.__name__ for kind in kinds)
    found = (getattr(transformer, "visit_" + name, None) for name in names)
    inherited = (getattr(ast.NodeTransformer, "visit_" + name, None) for name in names)
    return any(own is not other for own, other in zip(found, inherited))


def _visit_no_expressions(visitor: Any) -> None:
    visit = visitor.visit

    def visit_statements(self: Any, node: ast.AST) -> Any:
        return node if isinstance(node, (ast.expr, ast.expr_context)) else visit(self, node)

    visitor.visit = visit_statements


def fix_missing_locations(node: ast.AST) -> ast.AST:
    """As `ast.fix_missing_locations`: a node without a position gets that of the one around it."""
    _fix(node, 1, 0, 1, 0)
    return node


def _fix(node: ast.AST, line: int, column: int, end_line: int, end_column: int) -> None:
    attributes = vars(node)
    if "lineno" in node._attributes:
        line = attributes.setdefault("lineno", line)
        column = attributes.setdefault("col_offset", column)
        if attributes.get("end_lineno") is None:
            attributes["end_lineno"] = end_line
        else:
            end_line = attributes["end_lineno"]
        if attributes.get("end_col_offset") is None:
            attributes["end_col_offset"] = end_column
        else:
            end_column = attributes["end_col_offset"]
    for field in node._fields:
        value = attributes.get(field)
        if isinstance(value, list):
            inner = cast("List[Any]", value)
            for item in inner:
                if isinstance(item, ast.AST) and not isinstance(item, _MARKS):
                    _fix(item, line, column, end_line, end_column)
        elif isinstance(value, ast.AST) and not isinstance(value, _MARKS):
            _fix(value, line, column, end_line, end_column)


def with_names(module: Any, **names: Any) -> Any:
    """A copy of `module` in which some names have other values."""
    found = types.ModuleType(module.__name__)
    found.__dict__.update(module.__dict__, **names)
    return found
