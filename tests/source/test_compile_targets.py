"""The targets that a text states for its kernels."""

from __future__ import annotations

import pytest

from tirlens import source


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ('t = tvm.target.Target("nvidia/nvidia-a100")\nwith t:\n    f()\n', ["nvidia/nvidia-a100"]),
        ('with tvm.target.Target("apple/m2-gpu") as t, open(p):\n    f()\n', ["apple/m2-gpu"]),
        ('t = "nvidia/nvidia-a100"\nwith lock, t:\n    f()\n', []),
    ],
)
def test_the_targets_of_with_statements(text: str, tags: list[str]) -> None:
    assert [one.get("tag") for one in source.read(text).compile_targets] == tags
