"""The default of fields that are mappings."""

from __future__ import annotations

from typing import Any, Dict


def no_entries() -> Dict[str, Any]:
    """An empty mapping, as the typed default of a field (Python 3.8 cannot subscript `dict`)."""
    return {}
