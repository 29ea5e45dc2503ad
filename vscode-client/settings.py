"""Writes what `package.json` says of the settings into pages: ``python settings.py [--check]``.

The page of the documentation has all of it, the extension's README the groups.  ``--check`` writes
nothing and ends with status 1 where a page is not what would be written.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

CLIENT = Path(__file__).resolve().parent
REPOSITORY = CLIENT.parent
PAGE = REPOSITORY / "server/docs/settings.md"
README = CLIENT / "README.md"
IMAGES = REPOSITORY / "server/docs/images"
# Marketplaces display pictures by their addresses.
_RAW = "https://github.com/tirlens/tirlens/raw/HEAD"
SITE = "https://tirlens.github.io/tirlens/settings/"
_START = "<!-- written by settings.py -->\n"
_END = "<!-- end -->\n"
_PREFIX = "tirlens."

# What a picture shows, for those who do not see it.
PICTURES: Mapping[str, str] = {
    "Estimates": "A folder's settings name a device and a size, and the lens has both",
    "Display": "Lenses of three parts, the hottest lines with their changes, heat in the gutter",
    "Execution": "The status item says which Python runs the server and which the kernels",
}
# A project does not decide that opening it executes it, nor how an editor starts the server.
_ONLY_EDITOR = re.compile(r"analyzeOnOpen|server\..+")
_PROJECT_NAMES = {"interpreter": "python"}

_HEAD = """\
# Settings

In VS Code they are in the settings of the user, the workspace or a folder. Most of them can also be
in the `[tool.tirlens]` table of `pyproject.toml`: they then hold for all who work on the project. A
directive in the file comes before `pyproject.toml`, which comes before the editor's setting. See
[Arguments, sizes, settings](arguments.md).
"""


def groups() -> list[dict[str, Any]]:
    """The groups of settings, in order."""
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    return package["contributes"]["configuration"]


def project_name(name: str) -> str | None:
    """The name in `pyproject.toml` of the setting ``tirlens.<name>``; None if it has none."""
    if _ONLY_EDITOR.fullmatch(name):
        return None
    kebab = re.sub(r"[A-Z]", lambda found: f"-{found[0].lower()}", name)
    return _PROJECT_NAMES.get(name, kebab)


def page() -> str:
    """The page of the documentation."""
    return _HEAD + "".join(_section(group) for group in groups())


def _section(group: Mapping[str, Any]) -> str:
    title = group["title"]
    parts = [f"\n## {title}\n\n![{PICTURES[title]}](images/{_picture(title).name})\n"]
    for key, setting in _in_order(group):
        parts.append(f"\n### `{key}`\n\n{_plain(setting['markdownDescription'])}\n")
        named = setting.get("enum") or setting.get("items", {}).get("enum") or ()
        texts = setting.get("enumDescriptions") or setting.get("items", {}).get("enumDescriptions")
        if named:
            rows = zip(named, texts or (), strict=True)
            parts.append("\n")
            parts += (f"* {f'`{value}`' if value else 'empty'}: {_plain(t)}\n" for value, t in rows)
        in_project = project_name(key.removeprefix(_PREFIX))
        where = f"In `pyproject.toml`: `{in_project}`." if in_project else "In the editor only."
        parts.append(f"\nDefault: {_value(setting['default'])}. {where}\n")
    return "".join(parts)


def _in_order(group: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return iter(sorted(group["properties"].items(), key=lambda item: item[1]["order"]))


def _value(value: object) -> str:
    return f"`{json.dumps(value)}`" if value not in ("", [], {}) else "empty"


def _plain(text: str) -> str:
    """A description without VS Code's links to settings."""
    return re.sub(r"`#([\w.]+)#`", r"`\1`", text)


def _picture(title: str) -> Path:
    return IMAGES / f"settings-{title.lower()}.png"


def readme(text: str) -> str:
    """The extension's README with the groups of settings."""
    before, rest = text.split(_START)
    _, after = rest.split(_END)
    parts: list[str] = []
    for group in groups():
        title = group["title"]
        names = ", ".join(f"`{key}`" for key, _ in _in_order(group))
        image = f"{_RAW}/{_picture(title).relative_to(REPOSITORY).as_posix()}"
        parts.append(f"\n### {title}\n\n{names}\n\n![{PICTURES[title]}]({image})\n")
    return f"{before}{_START}{''.join(parts)}\n[All of them]({SITE})\n{_END}{after}"


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(arguments).check
    old = README.read_text(encoding="utf-8")
    outdated = False
    for path, text in ((PAGE, page()), (README, readme(old))):
        is_same = path.is_file() and path.read_text(encoding="utf-8") == text
        if not is_same and check:
            print(f"{path}: run {Path(__file__).name}", file=sys.stderr)
        elif not is_same:
            path.write_text(text, encoding="utf-8")
        outdated |= not is_same
    return int(check and outdated)


if __name__ == "__main__":
    sys.exit(main())
