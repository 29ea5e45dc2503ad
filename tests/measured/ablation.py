"""Errors of the model with other values of its constants.

    python tests/measured/ablation.py BLOCK_START_S=0 [NAME=VALUE]...
    python tests/measured/ablation.py --all [--factor 1.25]

Each ``NAME=VALUE`` is one change of a constant of the registry (`tirlens.model.constants`), or of
one entry of a table as ``NAME.KEY``.  ``--all``
multiplies each fitted, measured or estimated number by a factor, one at a time.  Printed are the
mean errors over families (MAPE) of the fitted and the held-out half, and the number of rows whose
time changes.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, cast

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "server")]

import tirlens  # noqa: E402
from measured import predict  # noqa: E402
from measured.figures import HALVES, average, by_family, grouped  # noqa: E402
from measured.predict import CostModel, Scores  # noqa: E402
from tirlens.model import constants  # noqa: E402

PACKAGE = "tirlens.model"


@contextmanager
def changed_constants(values: Mapping[str, float]) -> Generator[CostModel, None, None]:
    """A second import of the model, whose constants have other values.

    Parameters
    ----------
    values
        Values by name, or by name and key (``CALL_COST_RATIOS.sin``) of a table.

    Raises
    ------
    KeyError
        If the registry has no such constant.
    """
    known = constants.all_constants()
    for name in values:
        entry = known[name.partition(".")[0]]
        if "." in name and name.partition(".")[2] not in entry.value:
            raise KeyError(name)
    unchanged: dict[str, ModuleType] = {}
    for name in list(sys.modules):
        if name == PACKAGE or (name.startswith(f"{PACKAGE}.") and name != constants.__name__):
            unchanged[name] = sys.modules.pop(name)
    declare = constants.constant

    def declare_changed(name: str, value: Any, **_: Any) -> Any:
        if isinstance(value, Mapping):
            table = cast("Mapping[str, Any]", value)
            return {key: values.get(f"{name}.{key}", each) for key, each in table.items()}
        return type(value)(values.get(name, value))

    setattr(constants, "constant", declare_changed)  # noqa: B010
    try:
        second = importlib.import_module(PACKAGE)
        yield CostModel(second.analyze, second.workload_of)
    finally:
        setattr(constants, "constant", declare)  # noqa: B010
        for name in list(sys.modules):
            if name.startswith(f"{PACKAGE}.") and name != constants.__name__:
                del sys.modules[name]
        sys.modules.update(unchanged)
        setattr(tirlens, "model", unchanged[PACKAGE])  # noqa: B010


def changed_scores(values: Mapping[str, float]) -> Scores:
    """The scores of all measured rows with other values of constants."""
    with changed_constants(values) as cost:
        return predict.scores(cost=cost)


def errors(found: Scores) -> tuple[float | None, ...]:
    """The mean error over the families of each half."""
    families = grouped(found.rows, by_family)
    return tuple(average(families, half)["mape"] for half in HALVES)


def print_line(name: str, found: Scores, base: Scores) -> None:
    moved = sum(a.model_s != b.model_s for a, b in zip(found.rows, base.rows, strict=True))
    texts = [f"{half} {error:.2%}" for half, error in zip(HALVES, errors(found), strict=True)]
    print(f"{name:50} {', '.join(texts)}; {moved} of {len(base.rows)} rows", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Errors of the model with other constants.")
    parser.add_argument("changes", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--all", action="store_true", help="each constant times the factor")
    parser.add_argument("--factor", type=float, default=1.25)
    arguments = parser.parse_args()
    changes = [change.partition("=") for change in arguments.changes]
    cases = [(name, float(value)) for name, _, value in changes]
    if arguments.all:
        for entry in constants.all_constants().values():
            if entry.kind in ("fitted", "measured", "estimate") and isinstance(entry.value, float):
                cases.append((entry.name, entry.value * arguments.factor))
    base = predict.scores()
    print_line("unchanged", base, base)
    for name, value in cases:
        print_line(f"{name} = {value:g}", changed_scores({name: value}), base)


if __name__ == "__main__":
    main()
