"""What a release checks and says: ``python .github/release.py check|notes vX.Y.Z``.

``extension WHEEL VSIX`` ends with status 1 where the extension's server is not that of the wheel.
``check`` ends with status 1 where the tag, the Python package and the extension have different
versions, or where the changelog has no dated entry for the tag.  ``notes`` prints that entry.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def versions() -> dict[str, str]:
    """The version that each place states, by its path."""
    module = (ROOT / "server/tirlens/version.py").read_text(encoding="utf-8")
    stated = re.search(r'^__version__ = "([^"]+)"$', module, re.MULTILINE)
    package = json.loads((ROOT / "vscode-client/package.json").read_text(encoding="utf-8"))
    lock = json.loads((ROOT / "vscode-client/package-lock.json").read_text(encoding="utf-8"))
    return {
        "server/tirlens/version.py": stated[1] if stated else "",
        "vscode-client/package.json": package["version"],
        "vscode-client/package-lock.json": lock["version"],
    }


def entry(changelog: str, version: str) -> tuple[str, str]:
    """The rest of the heading of a version, its date as a rule, and the text below it.

    Raises:
        LookupError: the changelog has no such version.
    """
    found = re.search(
        rf"^## \[?{re.escape(version)}\]?([^\n]*)\n(.*?)(?=^## |^\[|\Z)",
        changelog,
        re.MULTILINE | re.DOTALL,
    )
    if found is None:
        raise LookupError(f"CHANGELOG.md has no entry for {version}")
    return found[1].strip(" -"), found[2].strip()


def complaints(tag: str, changelog: str) -> list[str]:
    """What keeps a tag from being released."""
    version = tag.removeprefix("v")
    found = [
        f"{path} says {stated}, the tag says {version}"
        for path, stated in versions().items()
        if stated != version
    ]
    try:
        date, text = entry(changelog, version)
    except LookupError as error:
        return [*found, str(error)]
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        found.append(f"the entry of {version} in CHANGELOG.md has no date (## [{version}] - DATE)")
    if not text:
        found.append(f"the entry of {version} in CHANGELOG.md is empty")
    return found


def differences(wheel: Path, vsix: Path) -> list[str]:
    """The files of a wheel's packages that the server in an extension lacks or has otherwise."""
    with zipfile.ZipFile(wheel) as released, zipfile.ZipFile(vsix) as extension:
        names = set(extension.namelist())
        return [
            f"{vsix.name} {'has another' if bundled in names else 'lacks'} {name}"
            for name in released.namelist()
            if ".dist-info/" not in name
            for bundled in (f"extension/bundled/{name}",)
            if bundled not in names or extension.read(bundled) != released.read(name)
        ]


def main(arguments: list[str]) -> int:
    """The exit status of one of the three commands."""
    if len(arguments) == 3 and arguments[0] == "extension":
        different = differences(Path(arguments[1]), Path(arguments[2]))
        print("\n".join(different), end="\n" if different else "", file=sys.stderr)
        return 1 if different else 0
    if len(arguments) != 2 or arguments[0] not in ("check", "notes"):
        print(__doc__, file=sys.stderr)
        return 2
    command, tag = arguments
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if command == "notes":
        print(entry(changelog, tag.removeprefix("v"))[1])
        return 0
    found = complaints(tag, changelog)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
