"""The tour of the documentation shows what the command line prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tirlens.cli import main

PAGE = (Path(__file__).parents[2] / "server/docs/tour.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_figures_of_the_tour(
    tmp_path: Path, tilelang_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (kernel,) = (block for language, block in blocks if language == "python")
    shown = [block for language, block in blocks if not language and "| h100-sxm" in block]
    for output, stages in zip(shown, ("2", "3"), strict=True):
        path = tmp_path / "matmul.py"
        path.write_text(kernel.replace("num_stages=2", f"num_stages={stages}"), "utf-8")
        assert main(["analyze", str(path), "--python", str(tilelang_python)]) == 0
        printed = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
        # The first line has the path of the file, the line under the heads the screen's width.
        lines = {" ".join(line.split()) for line in output.splitlines()[1:] if "──" not in line}
        assert lines <= printed
        if stages == "2":
            (saving,) = re.findall(r"\(saves about [\d.]+ us\)", PAGE)
            assert any("[stages]" in line and saving in line for line in printed)
