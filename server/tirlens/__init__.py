"""What each line of a GPU kernel costs, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirlens.version import __version__

if TYPE_CHECKING:
    from tirlens import tune
    from tirlens.api import AnalysisResult, Analyzer, UnboundSizesError
    from tirlens.client import Client
    from tirlens.sections import section
    from tirlens.tools.errors import ToolError

__all__ = [
    "AnalysisResult",
    "Analyzer",
    "Client",
    "ToolError",
    "UnboundSizesError",
    "__version__",
    "section",
    "tune",
]


def __getattr__(name: str) -> Any:
    # Imported when asked for: the language server does not need it and must start quickly.
    if name in ("AnalysisResult", "Analyzer", "UnboundSizesError"):
        from tirlens import api

        return getattr(api, name)
    if name == "Client":
        from tirlens.client import Client

        return Client
    if name == "ToolError":
        from tirlens.tools.errors import ToolError

        return ToolError
    if name == "section":
        from tirlens.sections import section

        return section
    if name == "tune":
        from importlib import import_module

        return import_module("tirlens.tune")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
