"""The language models that come with the package, by id."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tirlens.file_reader import read_text
from tirlens.toml_reader import tomllib

DATA = Path(__file__).parent / "data"


class UnknownModelError(ValueError):
    """There is no model of an id. The text names similar ones."""


@dataclass(frozen=True)
class LanguageModel:
    """The sizes of a model, by the names that configurations of transformers give them.

    Attributes
    ----------
    words
        How texts name it: the parts of a name, between which ``-``, ``_``, ``.`` or nothing stands.
    source
        The address of its public configuration.
    read_at
        The address of the public copy from which the sizes were taken.
    """

    id: str
    name: str
    words: tuple[str, ...]
    source: str
    read_at: str
    sizes: Mapping[str, int]


@cache
def model_ids() -> tuple[str, ...]:
    """The ids of all models, sorted."""
    return tuple(sorted(path.stem for path in DATA.glob("*.toml")))


@cache
def load(model_id: str) -> LanguageModel:
    """The model of an id.

    Raises
    ------
    UnknownModelError
        There is none.
    """
    if model_id not in model_ids():
        near = difflib.get_close_matches(model_id.lower(), model_ids(), 3, 0.4)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UnknownModelError(f"no model {model_id[:60]!r} is known{hint}")
    table = tomllib.loads(read_text(DATA / f"{model_id}.toml", limit_s=None))
    return LanguageModel(
        table["id"],
        table["name"],
        tuple(table["words"]),
        table["source"],
        table["read_at"],
        table["sizes"],
    )


@cache
def all_models() -> tuple[LanguageModel, ...]:
    """All models in the order of their ids."""
    return tuple(map(load, model_ids()))
