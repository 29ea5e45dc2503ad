"""What is said of parts of a framework that this version does not have, or cannot import."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tirlens_worker.program.other_versions import foreign_word


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("broken", "tilelang.broken could not be imported: No module named 'nothing_of_this_name'"),
        ("absent", "tilelang 0.1 has no tilelang.absent: the file is for another version"),
    ],
)
def test_a_module_that_cannot_be_imported_is_not_one_of_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, message: str
) -> None:
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    framework = ModuleType("tilelang")
    framework.__dict__.update(__path__=[str(tmp_path)], __version__="0.1")
    monkeypatch.setitem(sys.modules, "tilelang", framework)
    error = AttributeError(f"module 'tilelang' has no attribute '{part}'")
    assert foreign_word(error) == message


def test_a_name_that_a_function_imports_is_of_another_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    framework = ModuleType("tilelang")
    framework.__dict__["__version__"] = "0.1"
    monkeypatch.setitem(sys.modules, "tilelang", framework)
    text = "cannot import name 'pick_type' from 'tilelang.utils' (/lib/tilelang/utils/__init__.py)"
    assert foreign_word(ImportError(text, name="tilelang.utils")) == (
        "tilelang 0.1 has no tilelang.utils.pick_type: the file is for another version"
    )
    assert foreign_word(ModuleNotFoundError("No module named 'numpy'", name="numpy")) == ""
