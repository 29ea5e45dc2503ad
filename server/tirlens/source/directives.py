"""Comments for this tool: ``# tirlens: ...`` and tilelang-lsp's ``# <typecheck> ...``."""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from tirlens import array_words
from tirlens.budget import NAMES, NO_BUDGET, Budget, budget_of
from tirlens.language_models import UnknownModelError, load
from tirlens.math_fidelity import fidelity_of
from tirlens.source.parse import Text
from tirlens.source.source_file import Directive
from tirlens_worker.facts import Span

_DIRECTIVE = re.compile(r"#\s*tirlens\s*:\s*(?P<payload>.*?)\s*$", re.IGNORECASE)
_TYPECHECK = re.compile(r"#\s*<typecheck>\s*:?\s*(?P<payload>.*?)\s*$", re.IGNORECASE)
_WORDS = re.compile("tirlens|typecheck", re.IGNORECASE)
_BUDGET = re.compile(rf"(?P<name>{'|'.join(NAMES)})\s*=\s*(?P<value>.*)")
_FIDELITY = re.compile(r"math-fidelity\s*=\s*(?P<value>.*)")
_MODEL = re.compile(r"model\s*=(?!=)\s*(?P<value>\D.*)")
_BINDING = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*=(?!=)\s*(?P<value>.*)", re.DOTALL)
_EXPECTED = (
    "expected a call like matmul(1024, 1024), a size like M=1024, device=ID, model=ID, "
    "math-fidelity=HiFi4, max-time=120us, max-dram=1.2GB, on or off"
)
_SIZE_BITS = 63
# The most characters of an item in a message about it.
_QUOTED = 80


@dataclass(frozen=True)
class Comment:
    """A comment at `span`; `alone` on its line or after code."""

    text: str
    span: Span
    alone: bool


def comments(text: Text) -> list[Comment]:
    """All comments of a text if any of them is for this tool, else none.

    In a text that cannot be tokenised, they are the lines that begin with ``#``.
    """
    source = "\n".join(text.lines)
    out: list[Comment] = []
    if not _WORDS.search(source):
        return out
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                (line, column), end = token.start, token.end[1]
                alone = not text.lines[line - 1][:column].strip()
                out.append(Comment(token.string, Span(line, column, line, end), alone))
    except (tokenize.TokenError, SyntaxError):
        out = [
            Comment(line.strip(), Span(row, len(line) - len(line.lstrip()), row, len(line)), True)
            for row, line in enumerate(text.lines, 1)
            if line.lstrip().startswith("#")
        ]
    return out


def directives(found: list[Comment]) -> list[Directive]:
    """The directives among comments, in their order."""
    return [
        parse_directive(match["payload"], item.span)
        for item in found
        if (match := _DIRECTIVE.match(item.text))
    ]


def typechecks(found: list[Comment]) -> list[tuple[str, Span]]:
    """The payloads of tilelang-lsp's comments with their spans."""
    return [
        (match["payload"], item.span) for item in found if (match := _TYPECHECK.match(item.text))
    ]


def parse_directive(payload: str, span: Span) -> Directive:
    """A directive from the text after ``tirlens:``."""
    calls: list[str] = []
    bindings: dict[str, int] = {}
    device: str | None = None
    fidelity: str | None = None
    model: str | None = None
    on = off = False
    budget = NO_BUDGET
    items = list(split(payload))
    if not items:
        return Directive(span, error=f"empty directive: {_EXPECTED}")
    for item in items:
        if limit := _BUDGET.fullmatch(item):
            found = _budget(limit["name"], limit["value"])
            if found is None:
                return Directive(span, error=f"{_quote(item)} is no budget: {_EXPECTED}")
            budget = budget.merge(found)
            continue
        if named := _FIDELITY.fullmatch(item):
            try:
                fidelity = fidelity_of(named["value"].strip("'\" "))
            except ValueError as error:
                return Directive(span, error=f"{_quote(item)}: {error}")
            continue
        if named := _MODEL.fullmatch(item):
            try:
                model = load(named["value"].strip("'\" ")).id
            except UnknownModelError as error:
                return Directive(span, error=f"{_quote(item)}: {error}")
            continue
        binding = _BINDING.fullmatch(item)
        if item in ("on", "off"):
            on, off = item == "on", item == "off"
        elif binding is None:
            call = array_words.expand(item)
            if not is_call(call):
                return Directive(span, error=f"{_quote(item)} is no directive: {_EXPECTED}")
            calls.append(call)
        elif binding["name"] == "device":
            device = binding["value"].strip("'\" ")
            if not device:
                return Directive(span, error="device= names no device")
        else:
            value = integer(binding["value"])
            if value is None:
                return Directive(span, error=_no_size(item, binding["name"]))
            bindings[binding["name"]] = value
    return Directive(
        span,
        tuple(calls),
        bindings,
        device,
        off,
        budget,
        on=on,
        math_fidelity=fidelity,
        model=model,
    )


def _no_size(item: str, name: str) -> str:
    """The error of ``name=...`` without a size: a wrong value, or a misspelt name."""
    near = difflib.get_close_matches(name, ("device", "model"), 1)
    if near:
        return f"{_quote(item)} is no directive; did you mean {near[0]}?"
    return f"{_quote(item)}: the size of {name} must be a whole number below 2^63"


def _quote(item: str) -> str:
    return repr(item if len(item) <= _QUOTED else f"{item[:_QUOTED]}...")


def _budget(name: str, value: str) -> Budget | None:
    try:
        return budget_of({name: value.strip("'\" ")})
    except ValueError:
        return None


def split(payload: str) -> Iterator[str]:
    """The comma-separated items of a directive; commas inside brackets and quotes do not count."""
    depth, quote, start = 0, "", 0
    for position, char in enumerate(payload):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            if item := payload[start:position].strip():
                yield item
            start = position + 1
    if item := payload[start:].strip():
        yield item


def is_call(text: str) -> bool:
    """Whether the text is one Python expression that calls something or names it."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(tree.body, (ast.Call, ast.Name, ast.Attribute))


def integer(text: str) -> int | None:
    """The value of an integer expression (``4096``, ``32*1024``) below 2^63.

    None for any other text.
    """
    try:
        return _integer(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _integer(node: ast.expr) -> int:
    # An inner value too: the next power of it could take minutes.
    value = _value(node)
    if value.bit_length() > _SIZE_BITS:
        raise ValueError("too large")
    return value


def _value(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp):
        left, right = _integer(node.left), _integer(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.FloorDiv):
            return left // right
        if isinstance(node.op, (ast.Pow, ast.LShift)) and 0 <= right <= 64:
            return left**right if isinstance(node.op, ast.Pow) else left << right
    raise ValueError("not a whole number")
