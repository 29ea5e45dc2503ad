"""A syntax error anywhere in a file keeps the figures of the text before it, and marks them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.robust import kernel
from support.rpc import Client

pytestmark = pytest.mark.slow

MARK = "as before the syntax error"


@pytest.mark.parametrize(
    "error",
    ["def unfinished(:\n    pass\n", "x = (1,\n", "for i in range(3)\n    pass\n", "  bad = 1\n"],
)
def test_the_figures_stay_and_are_marked(tmp_path: Path, tvm_python: Path, error: str) -> None:
    with Client() as client:
        client.initialize(trusted=True, interpreter=str(tvm_python))
        text = kernel(1024)
        uri = client.open(tmp_path / "a.py", text)
        client.wait_ready(uri)
        hints, lenses = dict(client.hints(uri)), client.lenses(uri)
        assert hints
        for count, version in enumerate((2, 3), 2):
            # Saved, and saved again with more of it.
            client.replace(uri, version, text + "# more\n" * version + error)
            client.save(uri)
            client.wait_ready(uri, count)
            assert dict(client.hints(uri)) == {line: f"({label})" for line, label in hints.items()}
            assert client.lenses(uri) == {line: [*titles, MARK] for line, titles in lenses.items()}
            errors = [item for item in client.diagnostics(uri) if item["severity"] == 1]
            assert [item["code"] for item in errors] == ["syntax"]
            assert errors[0]["range"]["start"]["line"] >= text.count("\n")
            (line,) = lenses
            hover = client.hover(uri, line, 5)
            assert hover is not None
            assert hover.startswith("*As before the syntax error.*")
        # Mended and saved, all is as it was, without a run.
        client.replace(uri, 4, text)
        client.save(uri)
        client.wait_ready(uri, 4)
        assert dict(client.hints(uri)) == hints
        assert client.lenses(uri) == lenses
        assert client.diagnostics(uri) == []


def test_a_file_that_never_was_analysed_says_why(tmp_path: Path, tvm_python: Path) -> None:
    with Client() as client:
        client.initialize(trusted=True, interpreter=str(tvm_python))
        uri = client.open(tmp_path / "a.py", kernel(1024) + "def unfinished(:\n")
        client.wait_ready(uri)
        (titles,) = client.lenses(uri).values()
        assert titles[0].startswith("not analysed: ")
        assert client.hints(uri) == []
