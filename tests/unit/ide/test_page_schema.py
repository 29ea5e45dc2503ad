"""The TypeScript types of the pages are those of the server, which writes their data."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "server/docs/site/page_schema.py"
SCHEMA = runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize("path", SCHEMA["FILES"], ids=lambda path: path.parent.name)
def test_the_committed_file_is_that_of_the_types(path: Path) -> None:
    written = SCHEMA["typescript"](SCHEMA["FILES"][path])
    assert path.read_text(encoding="utf-8") == written, (
        "renew it: python server/docs/site/page_schema.py"
    )
