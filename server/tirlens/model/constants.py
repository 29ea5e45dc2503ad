"""The registry of constants: each number of the model with its unit, source and range.

A module declares a constant where it uses it, and reads a plain number::

    BLOCK_START_S = constant(
        "BLOCK_START_S",
        0.25e-6,
        kind="measured",
        unit="s",
        meaning="Time from the start of a block on an SM until its stores are drained.",
        source="gpu-benches, gpu-stream, init",
        bounds=(0.22e-6, 0.27e-6),
    )

Numbers of a device or its architecture are in the device files (`tirlens.hardware`).  Limits of the
model's own effort (`MAX_POINTS`) change no physics and are plain assignments.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Kind = Literal["isa", "compiler", "measured", "fitted", "estimate", "choice"]
KINDS: Mapping[Kind, str] = {
    "isa": "a fact of the instruction set, the hardware or the programming guide",
    "compiler": "what a compiler or framework does, by its source or its code",
    "measured": "from a measurement or a publication that is no part of the measured rows",
    "fitted": "fitted to measured rows",
    "estimate": "not measured; the source gives the reason for the value",
    "choice": "a threshold of what a report says",
}
T = TypeVar(
    "T", int, float, Mapping[str, int], Mapping[str, float], Mapping[str, Mapping[str, float]]
)


@dataclass(frozen=True)
class Constant:
    """A number of the model, or a table of such numbers.

    Attributes
    ----------
    name
        The name of the constant in its module, without a leading underscore.  It is unique.
    value
        A number, or numbers by key.
    kind
        The provenance, a key of `KINDS`.
    unit
        The unit of the value: ``s``, ``clocks``, ``bytes``, ``fraction``, ``dimensionless``.
    meaning
        What the constant is, in a sentence.
    source
        Publication, measurement, compiler file, or the reason for an estimate.
    bounds
        The range of the values that the source supports; None if it gives one value.
    rows
        The measured rows that the value is fitted to; empty for none.
    module
        The module that declares it.
    """

    name: str
    value: Any
    kind: Kind
    unit: str
    meaning: str
    source: str
    bounds: tuple[float, float] | None
    rows: str
    module: str


_REGISTRY: dict[str, Constant] = {}


def constant(
    name: str,
    value: T,
    *,
    kind: Kind,
    unit: str,
    meaning: str,
    source: str = "",
    bounds: tuple[float, float] | None = None,
    rows: str = "",
) -> T:
    """Register a constant of the calling module.

    Parameters
    ----------
    name, kind, unit, meaning, source, bounds, rows
        See `Constant`.
    value
        The number, or the table of numbers.

    Returns
    -------
    int, float or Mapping
        The value.

    Raises
    ------
    ValueError
        If another module has a constant of this name.
    """
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    module = str(caller.f_globals["__name__"]) if caller is not None else ""
    known = _REGISTRY.get(name)
    if known is not None and known.module != module:
        raise ValueError(f"{name} is a constant of {known.module} and of {module}")
    _REGISTRY[name] = Constant(name, value, kind, unit, meaning, source, bounds, rows, module)
    return value


def all_constants() -> Mapping[str, Constant]:
    """The constants of all modules of the model, by name."""
    package = importlib.import_module(__name__.rpartition(".")[0])
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
    return dict(_REGISTRY)


__all__ = ["KINDS", "Constant", "Kind", "all_constants", "constant"]
