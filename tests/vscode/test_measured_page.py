"""The page of a measured step in a browser: axe-core, themes, widths, keyboard, paper."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tirlens.hardware import load
from tirlens.ide.measured_page import (
    MeasuredView,
    comparison_document,
    measured_document,
    operation_table,
)
from tirlens.ide.measured_page.roofline_data import MeasuredPoint
from tirlens.measured.performance.rates import Performance
from tirlens.measured.records import Operation, Position
from tirlens.measured.runs.comparison import compare
from tirlens.measured.runs.run import run_of
from tirlens.measured.timeline import step_of
from vscode.code_server import CLIENT, run_script
from vscode.install import axe, install

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SERVER_PAGE = CLIENT.parent / "server/tirlens/ide/measured_page"
THEMES: dict[str, dict[str, str]] = {
    "light": {"colorScheme": "light"},
    "dark": {"colorScheme": "dark"},
    "contrast-light": {"colorScheme": "light", "contrast": "more"},
    "contrast-dark": {"colorScheme": "dark", "contrast": "more"},
}
WIDTHS = (320, 360, 720, 1440, 2560)
VIEWS = [
    *(("measured", "light", width) for width in WIDTHS),
    *(("measured", name, 720) for name in list(THEMES)[1:]),
    *(("changes", "light", width) for width in WIDTHS[::2]),
    ("changes", "dark", 720),
]
CHARTS = {"measured": 3, "changes": 2}
US = 1e-6


def step_operations(layers: int) -> list[Operation]:
    """A model on two devices: products, attention, a collective beside them, gaps."""
    found: list[Operation] = []
    for device in ("0", "1"):
        for layer in range(layers):
            at = 130.0 * layer
            for name, start, time, stream in (
                ("void at::native::vectorized_layer_norm_kernel<float>(int)", 0, 8, "7"),
                ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NTT", 9, 60, "7"),
                ("void flash::flash_fwd_kernel<Traits<128>>(Params)", 69, 25, "7"),
                ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 80, 30, "20"),
                ("Memcpy DtoD (Device -> Device)", 95, 1, "7"),
            ):
                found.append(
                    Operation(
                        name,
                        Position("t", len(found) + 1),
                        device=device,
                        stream=stream,
                        start_s=(at + start) * US,
                        launched_s=(at + start - 5) * US,
                        time_s=time * US,
                    )
                )
    return found


def document() -> str:
    """A page with everything that a page can have."""
    operations = step_operations(40)
    step = step_of(operations, [2 * US] * len(operations))
    rows = [Performance(index, one, 1 / 400) for index, one in enumerate(operations)]
    points = [
        MeasuredPoint("nvjet_tst_128x256", 1e-3, 6e11, 9e8, 0.5),
        MeasuredPoint("flash_fwd_kernel", 1e-3, 2e11, 4e8, 0.2),
    ]
    return measured_document(
        MeasuredView(
            "decode.pt.trace.json",
            "decode.pt.trace.json, a trace, NVIDIA H100",
            step,
            tables=[operation_table(rows)],
            points=points,
            device=load("h100-sxm"),
            notes=["decode.pt.trace.json:17: 'x' is no number"],
        )
    )


def changes() -> str:
    """The page of two runs: one with another time of the products, and a kernel less."""
    before = step_operations(10)
    now = [
        replace(one, time_s=(one.time_s or 0) * (0.8 if "nvjet" in one.name else 1.03))
        for one in before
        if "Memcpy" not in one.name
    ]
    runs = [run_of(f"{name}.json", ops, (), False) for name, ops in (("a", before), ("b", now))]
    return comparison_document(compare(runs[:1], runs[1:]), ["The device is not known."])


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    editor = install()
    folder = tmp_path_factory.mktemp("measured")
    (folder / "measured.html").write_text(document(), encoding="utf-8")
    (folder / "changes.html").write_text(changes(), encoding="utf-8")
    given = {
        "playwright": str(editor.playwright),
        "chromium": str(editor.chromium),
        "axe": str(axe(editor)),
        "screenshots": str(folder),
        "views": [
            {"name": page, "theme": theme, "width": width, **THEMES[theme]}
            for page, theme, width in VIEWS
        ],
    }
    script = str(Path(__file__).with_name("measured_page.mjs"))
    command = [str(editor.node), script, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_theme_and_width(seen: list[dict[str, Any]]) -> None:
    views = [one for one in seen if "theme" in one]
    assert [(one["name"], one["theme"], one["width"]) for one in views] == VIEWS
    for one in views:
        where = f"{one['name']}, {one['theme']} at {one['width']} pixels"
        assert not one["errors"], where
        assert one["scrolls"] <= 0, f"scrolls sideways: {where}"
        assert one["charts"] == CHARTS[one["name"]], where
        assert one["violations"] == [], where


def test_the_timeline_is_read_by_keyboard(seen: list[dict[str, Any]]) -> None:
    found = seen[-1]["keyboard"]
    assert found["first"].startswith("void at::native::vectorized_layer_norm_kernel")
    assert found["second"] == (
        "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NTT, 60 us, product, at 9 us, stream 7"
    )
    assert found["tooltip"].splitlines()[1] == "60 us, product"
    assert found["gap"].startswith("Gap 1 of 80, device 0: 20 us, after ncclDevKernel_AllReduce")
    assert "launched it" in found["gap"]
    assert found["lanes"] == "device 0, stream 20: 40 operations"


def test_the_timeline_is_zoomed(seen: list[dict[str, Any]]) -> None:
    zoom = seen[-1]["zoom"]
    assert zoom["zoomed"]["marks"] < zoom["all"]["marks"] == zoom["again"]
    assert zoom["zoomed"]["brush"] < zoom["all"]["brush"] / 5
    assert zoom["shown"] < zoom["all"]["brush"] / 5


def test_tables_are_sorted_and_filtered_and_mark_the_timeline(seen: list[dict[str, Any]]) -> None:
    table = seen[-1]["table"]
    assert table["down"][0].startswith("nvjet") and table["up"][0].startswith("Memcpy")
    assert table["sort"].startswith("time")
    assert table["filtered"] and all("flash" in name for name in table["filtered"])
    assert table["faded"] > 3


def test_pictures_and_paper(seen: list[dict[str, Any]]) -> None:
    found = seen[-1]
    assert found["picture"] == {
        "name": "tirlens-decode.pt.trace.json-timeline.svg",
        "coloured": True,
    }
    assert found["printed"] == {"buttons": 0, "hidden": 0}
    # Its own policy refuses nothing of it.
    assert found["refused"] == []


@pytest.mark.parametrize("name", ["measured.js", "measured.css"])
def test_the_server_has_the_script_of_the_sources(name: str) -> None:
    run_script(install(), "build")
    built = (CLIENT / "out" / name).read_bytes()
    assert built == (SERVER_PAGE / name).read_bytes(), "npm run build:page"
