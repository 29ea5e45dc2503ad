"""The launches of chosen sections of a captured program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirlens.captured.file_format import Capture, CapturedCall, CaptureError, merge, read, to_text
from tirlens.captured.sections import (
    SectionChoice,
    SectionError,
    SectionLaunches,
    choose_launches,
    launches_by_section,
)


def call(name: str, launches: int, *sections: tuple[tuple[str, ...], str, int]) -> CapturedCall:
    return CapturedCall(
        "k.py",
        name,
        "main",
        "tilelang",
        f"{name}()",
        launches,
        ("bench.py:3",),
        sections=tuple(SectionLaunches(*one) for one in sections),
    )


#: Two launches before all sections, three of warm-up, one between, and six of two decodes.
PROGRAM = Capture(
    "h100-sxm",
    ("python bench.py",),
    (
        call(
            "gemm",
            12,
            (("warm-up",), "warm-up", 3),
            ((), "warm-up", 1),
            (("decode",), "decode", 2),
            (("decode", "mlp"), "mlp", 4),
        ),
        call("scale", 5, (("warm-up",), "warm-up", 5)),
    ),
    {"torch.matmul": 8},
    ("warm-up", "decode", "mlp"),
    {"torch.matmul": (SectionLaunches(("decode",), "decode", 6),)},
)


@pytest.mark.parametrize(
    ("choice", "gemm", "scale", "other"),
    [
        (SectionChoice(), 12, 5, 8),
        (SectionChoice(name="warm-up"), 3, 5, 0),
        (SectionChoice(name="decode"), 6, 0, 6),
        (SectionChoice(name="mlp"), 4, 0, 0),
        (SectionChoice(start="decode"), 6, 0, 6),
        (SectionChoice(end="decode"), 6, 5, 2),
        (SectionChoice(start="warm-up", end="decode"), 4, 5, 0),
        (SectionChoice(end="warm-up"), 2, 0, 2),
        (SectionChoice(name="decode", start="mlp"), 4, 0, 0),
    ],
)
def test_a_choice(choice: SectionChoice, gemm: int, scale: int, other: int) -> None:
    found = choose_launches(PROGRAM, choice)
    launches = {one.function: one.launches for one in found.calls}
    assert launches == {name: n for name, n in (("gemm", gemm), ("scale", scale)) if n}
    assert found.others == ({"torch.matmul": other} if other else {})


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (SectionChoice(name="prefill"), "no section 'prefill'; there are: warm-up, decode, mlp"),
        (SectionChoice(start="decode", end="warm-up"), "does not begin behind 'decode'"),
        (SectionChoice(start="decode", end="decode"), "does not begin behind 'decode'"),
    ],
)
def test_a_choice_that_has_nothing(choice: SectionChoice, said: str) -> None:
    with pytest.raises(SectionError, match=said):
        choose_launches(PROGRAM, choice)
    with pytest.raises(SectionError, match="the program marks none"):
        choose_launches(Capture("", (), ()), SectionChoice(name="a"))


def test_the_file_has_them(tmp_path: Path) -> None:
    path = tmp_path / "tirlens-captured.json"
    path.write_text(to_text(PROGRAM))
    assert read(path) == merge([PROGRAM])
    assert choose_launches(read(path), SectionChoice(name="mlp")).calls[0].launches == 4
    path.write_text(to_text(PROGRAM).replace('"mlp"], "mlp", 4]', '"mlp"], "mlp", "x"]'))
    with pytest.raises(CaptureError, match="is no count"):
        read(path)


def test_launches_of_several_captures_are_added() -> None:
    other = Capture(
        "h100-sxm", (), (call("gemm", 2, (("decode",), "decode", 2)),), {}, ("prefill", "decode")
    )
    whole = merge([PROGRAM, other])
    assert whole.sections == ("warm-up", "decode", "mlp", "prefill")
    (gemm, _) = choose_launches(whole, SectionChoice(end="mlp")).calls
    assert gemm.launches == 14 - 4
    assert launches_by_section(whole.calls) == {"": 3, "warm-up": 8, "decode": 8}
