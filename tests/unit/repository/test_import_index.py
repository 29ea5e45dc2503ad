"""Which files import a module, from their texts alone."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from tirlens.evaluation.syntax import Syntax, SyntaxCache
from tirlens.repository.import_index import ImportIndex, imports_of
from tirlens.repository.word_index import WordIndex


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("import a, b.c as d\n", ("a", "b.c")),
        ("from a.b import (\n    c,\n    d,\n)\n", ("a.b",)),
        ("try:\n    from .a import c\nexcept ImportError:\n    from ..b import c\n", (".a", "..b")),
        ("def f():\n    from . import c\n", (".",)),
        ("from a import *\n", ("a*",)),
        ("x = 'import a'\n# from a import b\n", ()),
    ],
)
def test_the_imports_of_a_text(text: str, modules: tuple[str, ...]) -> None:
    assert imports_of(text.encode()) == modules


@pytest.mark.parametrize(
    ("module", "path", "does"),
    [
        ("p.ops.scale", "bench.py", True),
        ("ops.scale", "src/p/bench.py", True),
        ("scale", "src/p/ops/bench.py", True),
        ("q.scale", "bench.py", False),
        (".scale", "src/p/ops/bench.py", True),
        (".scale", "src/p/bench.py", False),
        ("..ops.scale", "src/p/tests/test.py", True),
        (".", "src/p/ops/bench.py", False),
    ],
)
def test_an_import_of_a_module(module: str, path: str, does: bool) -> None:
    index = ImportIndex([(path, (module,))])
    assert index.importers(("src", "p", "ops", "scale")) == ({path} if does else set())


REPOSITORY = {
    "p/kernel.py": "def scale(n): ...\n",
    "p/__init__.py": "from .hub import *\n",
    "p/hub.py": "from .kernel import *\n",
    "by_name.py": "from p.kernel import scale\n",
    "by_hub.py": "from p import scale\n",
    "other.py": "from q import scale\n",
    "no_import.py": "scale(3)\n",
    "passed.py": "def f(modules):\n    modules.kernel.scale(3)\n",
}


def test_the_files_that_know_a_name(tmp_path: Path) -> None:
    for name, text in REPOSITORY.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    index = WordIndex(tmp_path, tmp_path / "store" / "index.sqlite")
    index.refresh()
    with_name = set(index.files_with("scale"))
    known = index.files_that_know("scale", "p/kernel.py") & with_name
    assert known == {"p/kernel.py", "by_name.py", "by_hub.py", "passed.py"}
    (tmp_path / "other.py").write_text("from p import scale\n\n")
    stored = WordIndex(tmp_path, tmp_path / "store" / "index.sqlite")
    assert stored.refresh() == {"other.py"}
    assert "other.py" in stored.files_that_know("scale", "p/kernel.py")


def test_what_a_function_imports_is_no_name_of_its_module() -> None:
    syntax = Syntax(
        _parsed("""
        from p.kernel import scale as s
        def f():
            from p.kernel import scale as fn
        if True:
            from p.kernel import scale
        """)
    )
    assert syntax.imported_names == [{"scale": {"s"}}, {}, {"scale": {"scale"}}]
    assert all("scale" in words for words in syntax.words)


def test_trees_are_kept_up_to_a_number_of_characters() -> None:
    parsed: list[str] = []

    def parse(path: str) -> Syntax:
        parsed.append(path)
        return Syntax(_parsed(""), characters=4)

    cache = SyntaxCache(most_characters=8)
    for path in ("a", "b", "a", "c", "a", "b"):
        cache.get(path, lambda path=path: parse(path))
    assert parsed == ["a", "b", "c", "b"], "the one that was used longest ago is dropped"
    cache.forget(["b", "never read"])
    cache.get("a", lambda: parse("a"))
    cache.get("b", lambda: parse("b"))
    assert parsed == ["a", "b", "c", "b", "b"]


def _parsed(text: str) -> ast.Module:
    return ast.parse(textwrap.dedent(text))
