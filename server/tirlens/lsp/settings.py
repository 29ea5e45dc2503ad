"""What a client tells the server of itself.

``initializationOptions``::

    {"trusted": bool,             # absent or not true: no code of the workspace is run
     "interpreter": path | null,  # the Python that the editor has selected
     "settings": {...}}           # the tirlens.* settings, as in [tool.tirlens]

``workspace/didChangeConfiguration`` carries ``{"settings": {"tirlens": {...}, "trusted": bool,
"interpreter": path | null}}``; what is left out keeps its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from tirlens.session import Configuration
from tirlens.settings import Settings


def initial(options: object, trust_workspace: bool) -> tuple[Configuration, tuple[str, ...]]:
    """The configuration at the start, and what is wrong with the settings."""
    given = _mapping(options)
    settings, problems = Settings.from_mapping(_mapping(given.get("settings")))
    trusted = trust_workspace or given.get("trusted") is True
    return Configuration(trusted, settings, _path(given.get("interpreter"))), problems


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
    return Configuration(trusted, settings, interpreter, detail), problems


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _path(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
