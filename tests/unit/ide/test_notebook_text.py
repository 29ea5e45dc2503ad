"""Tests of tirlens.ide.notebook_text: the cells of a notebook as one text."""

from __future__ import annotations

import ast

import pytest

from tirlens.ide.notebook_text import Cell, join_cells, offsets


def _cells(*texts: str | None) -> list[Cell]:
    return [Cell(f"cell:{number}", 1, text) for number, text in enumerate(texts)]


def test_each_cell_has_its_lines_below_those_before_it() -> None:
    cells = _cells("a = 1\nb = 2", None, "c = 3\n", "")
    assert join_cells(cells) == "a = 1\nb = 2\nc = 3\n\n\n"
    assert offsets(cells) == [0, 2, 2, 4]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("%pip install tilelang\nx = 1", "#%pip install tilelang\nx = 1"),
        ("!ls \\\n  -la\nx = 1", "#!ls \\\n#  -la\nx = 1"),
        ("if a:\n    %time f()", "if a:\n    None  # %time f()"),
        ("files = !ls\nn, m = %sql x", "files = None  # !ls\nn, m = None  # %sql x"),
        ("?f\nf??\nx = 1", "#?f\n#f??\nx = 1"),
        ("%%bash\necho $x\n", "#%%bash\n#echo $x\n#"),
        ("%%time\nx = 1", "#%%time\nx = 1"),
        # Python as it is: an operator and a string, not a magic.
        ("x = (9\n  % 4)", "x = (9\n  % 4)"),
        ('s = """\n%time\n"""', 's = """\n%time\n"""'),
    ],
)
def test_what_only_ipython_reads_becomes_a_comment(cell: str, text: str) -> None:
    assert join_cells(_cells(cell)) == f"{text}\n"
    ast.parse(text)


DIVISION = "from __future__ import division"
PASS = "pass".ljust(len(DIVISION))


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (DIVISION, PASS),
        (f"# é\ny = 'é'; {DIVISION}; x = 1", f"# é\ny = 'é'; {PASS}; x = 1"),
        (
            "from __future__ import (\n  division,\n)\nx = 1",
            "(                       \n#  division,\n)\nx = 1",
        ),
        # What stands behind it on its last line is executed.
        (
            "y = 1; from __future__ import (  # all\n  division,\n  generators); x = 2  # é",
            f"y = 1; {'('.ljust(31)}\n#  division,\n            ); x = 2  # é",
        ),
        (
            "from __future__ import \\\n  division; x = 1",
            f"{'('.ljust(24)}\n         ); x = 1",
        ),
        ("s = '__future__'", "s = '__future__'"),
    ],
)
def test_an_import_from_the_future_in_a_later_cell(cell: str, text: str) -> None:
    joined = join_cells(_cells("import os", cell))
    assert joined == f"import os\n{text}\n"
    compile(joined, "notebook", "exec")


def test_an_import_from_the_future_above_all_code_stays() -> None:
    first = "from __future__ import annotations\nx: undefined = 1"
    joined = join_cells(_cells("#%pip install tilelang\n", first))
    assert joined == f"#%pip install tilelang\n\n{first}\n"
    exec(compile(joined, "notebook", "exec"), {})


def test_a_cell_that_is_not_python_yet_stays_as_it_is() -> None:
    assert (
        join_cells(_cells("for i in range(16)\n    a[i] = 0"))
        == "for i in range(16)\n    a[i] = 0\n"
    )
