"""Functions of libraries, which a module for each library gives."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tirlens.evaluation import libraries
from tirlens.evaluation.libraries import dispatch
from tirlens.evaluation.libraries.torch.shapes import Tensor
from tirlens.evaluation.values import UNKNOWN, External

_FLOAT = External("torch.float32")
CASES: list[tuple[str, list[object], object]] = [
    ("builtins.min", [3, 4], 3),
    ("builtins.min", [3, UNKNOWN], UNKNOWN),
    ("builtins.len", [Tensor((5, 2), _FLOAT)], 5),
    ("builtins.str", [External("torch.float16")], "torch.float16"),
    ("math.ceil", [2.5], 3),
    ("tilelang.cdiv", [5, 2], 3),
    ("triton.next_power_of_2", [5], 8),
    ("random.randint", [4, 8], 6),
    ("numpy.random.randint", [8], 4),
    ("os.getenv", ["TILE", 64], 64),
    ("torch.broadcast_shapes", [(4, 1), (1, 3)], (4, 3)),
    ("torch.cuda.some_counter", [], UNKNOWN),
    ("another.library", [1], dispatch.NOT_KNOWN),
]


@pytest.mark.parametrize(("path", "given", "expected"), CASES, ids=range(len(CASES)))
def test_calls(path: str, given: list[object], expected: object) -> None:
    found = dispatch.call(External(path), given, {})
    assert found is expected or found == expected


def test_a_module_in_the_folder_is_discovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sizes_library.py").write_text(
        'FUNCTIONS = {"sizes.double": lambda positional, named: 2 * positional[0]}\n'
    )
    monkeypatch.setattr(libraries, "__path__", [*libraries.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    dispatch.functions.cache_clear()
    try:
        assert dispatch.call(External("sizes.double"), [21], {}) == 42
    finally:
        dispatch.functions.cache_clear()
