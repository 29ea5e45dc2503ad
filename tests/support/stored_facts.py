"""The files of facts of measured kernels, ``tests/measured/facts``."""

from __future__ import annotations

import gzip
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from tirlens.collector import scanning_new_objects_only

FOLDER = Path(__file__).resolve().parents[1] / "measured" / "facts"
NAMES = sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))


@lru_cache(maxsize=4)
def stored(name: str) -> Any:
    """The content of a file, which is shared: nobody may change it."""
    with scanning_new_objects_only():
        return json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))


def entries(name: str) -> list[Any]:
    """The kernels of a file, as JSON."""
    content = stored(name)
    whole = content["facts"] if isinstance(content, dict) else content
    return [one.get("facts", one) for one in whole]
