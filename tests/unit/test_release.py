"""A tag is released only where every place states its version and the changelog has its entry."""

from __future__ import annotations

import runpy
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RELEASE = runpy.run_path(str(ROOT / ".github/release.py"))
CHANGELOG = """# Changelog

## [Unreleased]

## [0.2.0] - 2026-02-03

### Added

- Two.

## [0.1.0] - 2026-01-02

- One.

[0.1.0]: https://example.org
"""


def test_package_and_extension_have_one_version() -> None:
    assert len(set(RELEASE["versions"]().values())) == 1


def test_the_entry_of_a_version() -> None:
    assert RELEASE["entry"](CHANGELOG, "0.2.0") == ("2026-02-03", "### Added\n\n- Two.")
    assert RELEASE["entry"](CHANGELOG, "0.1.0") == ("2026-01-02", "- One.")
    with pytest.raises(LookupError, match=r"no entry for 0\.3\.0"):
        RELEASE["entry"](CHANGELOG, "0.3.0")


def test_the_server_in_the_extension_is_that_of_the_wheel(tmp_path: Path) -> None:
    wheel, vsix = tmp_path / "a.whl", tmp_path / "a.vsix"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("tirlens/a.py", "tirlens/b.py", "tirlens/c.py", "a.dist-info/RECORD"):
            archive.writestr(name, name)
    with zipfile.ZipFile(vsix, "w") as archive:
        archive.writestr("extension/bundled/tirlens/a.py", "tirlens/a.py")
        archive.writestr("extension/bundled/tirlens/b.py", "another")
    found = RELEASE["differences"](wheel, vsix)
    assert found == ["a.vsix has another tirlens/b.py", "a.vsix lacks tirlens/c.py"]


def test_what_keeps_a_tag_from_being_released() -> None:
    (version,) = set(RELEASE["versions"]().values())
    dated = f"## [{version}] - 2026-01-02\n\n- One.\n"
    assert RELEASE["complaints"](f"v{version}", dated) == []
    assert len(RELEASE["complaints"]("v99.0.0", dated)) == 4
    undated = dated.replace("2026-01-02", "unreleased")
    assert "has no date" in RELEASE["complaints"](f"v{version}", undated)[0]
