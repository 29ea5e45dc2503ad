"""The report page in a browser: axe-core, themes, widths, keyboard; the script of the server."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support import kernels
from tirlens.hardware import load
from tirlens.ide.line_changes import inclusive_times
from tirlens.ide.report_page import (
    Counterpart,
    FileView,
    KernelView,
    Page,
    page_data,
    static_page,
)
from tirlens.model import analyze
from tirlens.model.details import kernel_details
from tirlens.model.report import Advice
from vscode.code_server import CLIENT, run_script
from vscode.install import axe, install

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SERVER_PAGE = CLIENT.parent / "server/tirlens/ide/report_page"
THEMES: dict[str, dict[str, str]] = {
    "light": {"colorScheme": "light"},
    "dark": {"colorScheme": "dark"},
    "contrast-light": {"colorScheme": "light", "contrast": "more"},
    "contrast-dark": {"colorScheme": "dark", "contrast": "more"},
}
WIDTHS = (240, 390, 720, 1440, 2560)
#: Every width in one theme, and every theme at the width of half a window.
VIEWS = [*(("light", width) for width in WIDTHS), *((name, 720) for name in list(THEMES)[1:])]


def document() -> str:
    """A page with everything that a page can have."""
    h100, a100 = load("h100-sxm"), load("a100-80-sxm")
    views: list[KernelView] = []
    for facts in (kernels.gemm(), kernels.scale()):
        report = analyze(facts, h100)
        advice = Advice("stages", report.span, "hint", "num_stages=4 in place of 3", 1e-5)
        other = analyze(facts, a100)
        views.append(
            KernelView(
                replace(report, advice=(advice,)),
                h100,
                kernel_details(facts, h100),
                Counterpart("a100-80-sxm", other, inclusive_times(other)),
            )
        )
    text = "\n".join(f"line {number}" for number in range(1, 30))
    file = FileView("/x/k.py", "k.py", views, "saved 14:32:05", True, [(3, "no such name")], text)
    return static_page(page_data(Page("k.py", [file])))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    editor = install()
    folder = tmp_path_factory.mktemp("report")
    page = folder / "report.html"
    page.write_text(document(), encoding="utf-8")
    given = {
        "playwright": str(editor.playwright),
        "chromium": str(editor.chromium),
        "axe": str(axe(editor)),
        "page": str(page),
        "screenshots": str(folder),
        "views": [{"theme": name, "width": width, **THEMES[name]} for name, width in VIEWS],
    }
    script = str(Path(__file__).with_name("page.mjs"))
    command = [str(editor.node), script, json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_theme_and_width(seen: list[dict[str, Any]]) -> None:
    views = [one for one in seen if "theme" in one]
    assert [(one["theme"], one["width"]) for one in views] == VIEWS
    for one in views:
        where = f"{one['theme']} at {one['width']} pixels, {one['picture']}"
        assert not one["errors"], where
        assert one["scrolls"] <= 0, f"scrolls sideways: {where}"
        assert one["charts"] >= 4, where
        assert one["violations"] == [], where


def test_keyboard_and_pictures(seen: list[dict[str, Any]]) -> None:
    found = seen[-3]["keyboard"]
    assert found["focused"] and found["tooltip"].splitlines()[0] in found["focused"]
    assert found["after"] < found["before"]
    assert found["saved"].endswith("roofline.png")
    # Its own policy refuses nothing of it.
    assert found["refused"] == []


def test_a_page_is_drawn_anew_only_for_other_data_and_never_under_a_click(
    seen: list[dict[str, Any]],
) -> None:
    assert seen[-2]["redrawn"] == {"kept": True, "clicked": True, "replaced": True}


def test_a_page_that_is_drawn_anew_keeps_what_the_reader_made_of_it(
    seen: list[dict[str, Any]],
) -> None:
    found = seen[-1]["views"]
    first, left = found["first"], found["left"]
    assert left["rows"] < first["rows"] and left["open"] > first["open"]
    assert left["scroll"] > 0 and left["listing"] > 0
    assert left["tab"] == [left["focus"]]
    for name in ("saved", "back", "analysed"):
        kept = found[name] if name == "saved" else found[name] | {"focus": left["focus"]}
        assert kept == left, name
    # Another file is read from its beginning.
    assert found["other"]["scroll"] == 0
    assert found["other"]["rows"] == first["rows"]
    assert found["button"] == "link"


@pytest.mark.parametrize("name", ["report.js", "report.css"])
def test_the_server_has_the_script_of_the_sources(name: str) -> None:
    run_script(install(), "build")
    built = (CLIENT / "out" / name).read_bytes()
    assert built == (SERVER_PAGE / name).read_bytes(), "npm run build:page"
