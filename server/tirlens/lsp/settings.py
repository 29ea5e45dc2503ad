"""What a client tells the server of itself.

``initializationOptions``::

    {"trusted": bool,             # absent or not true: no code of the workspace is run
     "interpreter": path | null,  # the Python that the editor has selected
     "settings": {...},           # the tirlens.* settings, as in [tool.tirlens]
     "folders": [{"path": path, "interpreter": path | null, "settings": {...}}]}

`folders` are those of a window that has several: the files below each have its settings, which are
all that hold there, and its interpreter in place of those of the window.

``workspace/didChangeConfiguration`` carries ``{"settings": {"tirlens": {...}, "trusted": bool,
"interpreter": path | null, "folders": [...]}}``; what is left out keeps its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tirlens.session import Configuration
from tirlens.session.configuration import Folder
from tirlens.settings import Settings


def initial(options: object, trust_workspace: bool) -> tuple[Configuration, tuple[str, ...]]:
    """The configuration at the start, and what is wrong with the settings."""
    given = _mapping(options)
    settings, problems = Settings.from_mapping(_mapping(given.get("settings")))
    trusted = trust_workspace or given.get("trusted") is True
    folders, wrong = _folders(given.get("folders"))
    configuration = Configuration(
        trusted, settings, _path(given.get("interpreter")), folders=folders
    )
    return configuration, _each_once(problems, wrong)


def changed_configuration(
    before: Configuration, options: object, trust_workspace: bool
) -> tuple[Configuration, tuple[str, ...]]:
    """The configuration after a change of settings, interpreter or trust."""
    given = _mapping(options)
    settings, problems = before.settings, ()
    if "tirlens" in given:
        settings, problems = Settings.from_mapping(_mapping(given["tirlens"]))
    trusted = before.trusted
    if "trusted" in given:
        trusted = trust_workspace or given["trusted"] is True
    interpreter = before.editor_interpreter
    if "interpreter" in given:
        interpreter = _path(given["interpreter"])
    # Another setting takes the place of what was chosen in this session.
    detail = before.detail if settings.show == before.settings.show else None
    folders = before.folders
    if "folders" in given:
        folders, wrong = _folders(given["folders"])
        problems = _each_once(problems, wrong)
    return Configuration(trusted, settings, interpreter, detail, folders), problems


def _folders(value: object) -> tuple[tuple[Folder, ...], tuple[str, ...]]:
    """The folders of a window, and what is wrong with their settings."""
    found: list[Folder] = []
    problems: list[str] = []
    for item in cast("list[object]", value) if isinstance(value, list) else ():
        given = _mapping(item)
        path = _path(given.get("path"))
        if path is not None:
            settings, wrong = Settings.from_mapping(_mapping(given.get("settings")))
            found.append(Folder(Path(path), settings, _path(given.get("interpreter"))))
            problems += wrong
    return tuple(found), tuple(problems)


def _each_once(*problems: tuple[str, ...]) -> tuple[str, ...]:
    """The settings of a window are those of its folders, too: each mistake is reported once."""
    return tuple(dict.fromkeys(problem for some in problems for problem in some))


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _path(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
