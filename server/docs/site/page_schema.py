"""The TypeScript types of the pages' data, from the types of the server that writes it.

``python server/docs/site/page_schema.py`` writes the files; a test compares them.
"""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "vscode-client/src/page"
_REPORT = ("tirlens.ide.report_page.chart_schema", "tirlens.ide.report_page.schema")
# The files, and the modules of which they are made; the last has the version.
FILES: Mapping[Path, Sequence[str]] = {
    PAGE / "schema.ts": _REPORT,
    PAGE / "measured/schema.ts": ("tirlens.ide.measured_page.schema",),
}
# Where a file imports the names of other modules from.
_IMPORTS = {"../schema": _REPORT}
_WORDS = {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null"}
_WIDTH = 120


def typescript(made_of: Sequence[str]) -> str:
    """The text of the file for modules of types."""
    modules = [importlib.import_module(name) for name in made_of]
    names = {value: name for module in modules for value, name in _names(module).items()}
    parts = [_comment(_first_paragraphs(modules), "")]
    parts += [line for path, of in _IMPORTS.items() for line in _imports(modules, path, of)]
    version: int = modules[-1].SCHEMA_VERSION
    parts.append(f"export const SCHEMA_VERSION = {version};\n")
    for module in modules:
        parts += _exported(module, names)
    return "\n".join(parts)


def _exported(module: ModuleType, names: Mapping[Any, str]) -> Iterator[str]:
    """The types that a module declares; `names` are those of all types of the file."""
    for one, value in vars(module).items():
        if one in module.__annotations__:
            # An alias: its own name is not the way to write it.
            others = {other: known for other, known in names.items() if other != value}
            yield f"export type {one} = {_written(value, others)};\n"
        elif _is_declared(one, value, [module.__name__]):
            yield _declared(value, names)


def _names(module: ModuleType) -> dict[Any, str]:
    """The names of the types that a module declares or imports."""
    return {
        value: name
        for name, value in vars(module).items()
        if not name.startswith("_") and (isinstance(value, type) or name in module.__annotations__)
    }


def _imports(modules: Sequence[ModuleType], path: str, of: Sequence[str]) -> Iterator[str]:
    """The import of what `modules` use `of` others, whose file is `path`."""
    if not {module.__name__ for module in modules}.isdisjoint(of):
        return
    names = {
        name
        for module in modules
        for name, value in vars(module).items()
        if _is_declared(name, value, of)
    }
    if names:
        yield f'import type {{ {", ".join(sorted(names))} }} from "{path}";\n'


def _is_declared(name: str, value: object, of: Sequence[str]) -> bool:
    return isinstance(value, type) and value.__module__ in of and not name.startswith("_")


def _declared(one: Any, names: Mapping[Any, str]) -> str:
    """A structure as an interface, a tuple with named elements as a tuple type."""
    fields = {name: _written(hint, names) for name, hint in get_type_hints(one).items()}
    summary, attributes = _documented(one)
    head = _comment(summary, "")
    if not is_typeddict(one):
        elements = [f"{name}: {text}" for name, text in fields.items()]
        line = f"export type {one.__name__} = [{', '.join(elements)}];\n"
        if len(line) > _WIDTH:
            inner = "".join(f"  {element},\n" for element in elements)
            line = f"export type {one.__name__} = [\n{inner}];\n"
        return head + line
    lines = [f"export interface {one.__name__} {{\n"]
    for name, text in fields.items():
        if name in attributes:
            lines.append(_comment(attributes[name], "  "))
        optional = "?" if name in one.__optional_keys__ else ""
        lines.append(f"  {name}{optional}: {text};\n")
    return head + "".join(lines) + "}\n"


def _written(hint: Any, names: Mapping[Any, str]) -> str:
    if hint in names:
        return names[hint]
    if hint in _WORDS:
        return _WORDS[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    if origin in (Union, UnionType):
        return " | ".join(_written(each, names) for each in arguments)
    if origin is list:
        inner = _written(arguments[0], names)
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if origin is dict:
        key, value = (_written(each, names) for each in arguments)
        return f"Partial<Record<{key}, {value}>>"
    raise TypeError(f"no TypeScript for {hint}")


def _first_paragraphs(modules: Sequence[ModuleType]) -> str:
    """What the docstrings of the modules say, about this file's types."""
    texts = [(module.__doc__ or "").partition("\n\n") for module in modules]
    what = texts[-1][0].partition(", of which")[0].partition("types of ")[2]
    paths = " and ".join(f"`{module.__name__.replace('.', '/')}.py`" for module in modules)
    written = f"The types of {what}. Written by `server/docs/site/page_schema.py` from {paths}."
    # The first has the rules for all of them.
    return f"{written}\n\n{texts[0][2].strip()}"


def _documented(one: Any) -> tuple[str, dict[str, str]]:
    """The docstring of a type without its section of attributes, and these."""
    text = one.__doc__ or ""
    summary, _, section = text.partition("\n\n    Attributes\n    ----------\n")
    found = re.findall(r"^ {4}(\w+)\n((?: {8}.*\n)+)", section, re.MULTILINE)
    return summary, {name: " ".join(about.split()) for name, about in found}


def _comment(text: str, indent: str) -> str:
    """Text as a comment of one line, or of its paragraphs."""
    paragraphs = [" ".join(part.replace("``", "`").split()) for part in text.strip().split("\n\n")]
    if len(paragraphs) == 1 and len(indent) + len(paragraphs[0]) + 7 <= _WIDTH:
        return f"{indent}/** {paragraphs[0]} */\n"
    lines = "\n *\n".join(
        "\n".join(f" * {line}" for line in textwrap.wrap(paragraph, 96 - len(indent)))
        for paragraph in paragraphs
    )
    return textwrap.indent(f"/**\n{lines}\n */\n", indent)


def main() -> None:
    """Write the files."""
    for path, module in FILES.items():
        path.write_text(typescript(module), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "server"))
    main()
