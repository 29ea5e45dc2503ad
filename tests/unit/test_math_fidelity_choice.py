"""Who chooses the math fidelity of matrix products, and what the report and its JSON say of it."""

from __future__ import annotations

from typing import Any

import pytest

from support.kernels import gemm
from tirlens import source
from tirlens.pipeline import FileReport, Options, file_report
from tirlens.pipeline.kernel_json import kernel_json
from tirlens.settings import Settings
from tirlens_worker.protocol import Result

KERNEL = """\
import tilelang
import tilelang.language as T

{directive}
@tilelang.jit
def matmul(M):
    @T.prim_func
    def main():
        pass
    return main
"""


def report(directive: str = "", device: str = "wormhole-n150", **options: Any) -> FileReport:
    text = source.read(KERNEL.format(directive=directive))
    return file_report(text, Result(1, kernels=(gemm(),)), Options(device=device, **options))


@pytest.mark.parametrize(
    ("directive", "project", "option", "expected"),
    [
        ("", None, None, ("HiFi2", "default")),
        ("", None, "HiFi4", ("HiFi4", "option")),
        ("", "LoFi", "HiFi4", ("LoFi", "project")),
        ("# tirlens: math-fidelity=HiFi3", "LoFi", "HiFi4", ("HiFi3", "directive")),
        ("# tirlens: math-fidelity=HiFi2", None, None, ("HiFi2", "directive")),
    ],
)
def test_a_directive_comes_before_the_project_and_this_before_the_option(
    directive: str, project: str | None, option: str | None, expected: tuple[str, str]
) -> None:
    file = report(directive, math_fidelity=option, project=Settings(math_fidelity=project))
    (kernel,) = file.kernels
    assert (kernel.math_fidelity, kernel.math_fidelity_source) == expected
    name, chosen_by = expected
    assert kernel_json(kernel, "")["math_fidelity"] == {"name": name, "source": chosen_by}
    caveats = [note.message for note in kernel.caveats if "is assumed" in note.message]
    assert len(caveats) == (chosen_by == "default")


def test_other_devices_have_no_choice() -> None:
    (kernel,) = report("# tirlens: math-fidelity=HiFi4", "h100-sxm").kernels
    assert (kernel.math_fidelity, kernel.math_fidelity_source) == (None, "")
    assert kernel_json(kernel, "")["math_fidelity"] is None
    (plain,) = report("", "h100-sxm").kernels
    assert kernel.time_s == plain.time_s


@pytest.mark.parametrize("name", ["math-fidelity", "mathFidelity", "math_fidelity"])
def test_settings(name: str) -> None:
    settings, problems = Settings.from_mapping({name: "hifi4"})
    assert (settings.math_fidelity, problems) == ("HiFi4", ())
    for wrong in ("HiFi5", 4, True):
        settings, problems = Settings.from_mapping({name: wrong})
        assert settings.math_fidelity is None
        assert len(problems) == 1
