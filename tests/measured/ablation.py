"""Errors of the model with other values of its constants.

    python tests/measured/ablation.py BLOCK_START_S=0 [NAME=VALUE]...
    python tests/measured/ablation.py --ledger

Each ``NAME=VALUE`` is one change of a constant of the registry (`tirlens.model.constants`), or of
one entry of a table as ``NAME.KEY``.  Printed are the mean errors over families (MAPE) of the
fitted and the held-out half, and the number of rows whose time changes.

``--ledger`` halves and doubles each number of the GPU model that is fitted, measured or estimated,
one at a time, and writes what follows into `LEDGER`, a page of the documentation.  It takes half a
minute for each of about sixty values.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Generator, Iterator, Mapping
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
LEDGER = HERE.parents[1] / "server/docs/ledger.md"
JUDGED = ("fitted", "measured", "estimate")
FACTORS = (0.5, 2.0)


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


def errors(found: Scores) -> tuple[float, ...]:
    """The mean error over the families of each half."""
    families = grouped(found.rows, by_family)
    return tuple(average(families, half)["mape"] or 0.0 for half in HALVES)


def moved(found: Scores, base: Scores) -> int:
    """The number of rows whose time is another."""
    pairs = zip(found.rows, base.rows, strict=True)
    return sum(changed.model_s != row.model_s for changed, row in pairs)


def print_line(name: str, found: Scores, base: Scores) -> None:
    texts = [f"{half} {error:.2%}" for half, error in zip(HALVES, errors(found), strict=True)]
    line = f"{name:50} {', '.join(texts)}; {moved(found, base)} of {len(base.rows)} rows"
    print(line, flush=True)


def ledger_cases() -> Iterator[tuple[str, float, float]]:
    """The numbers of the GPU model that no fact gives: name, factor, value."""
    for entry in constants.all_constants().values():
        if entry.kind in JUDGED and entry.module.startswith(f"{PACKAGE}.gpu."):
            is_table = isinstance(entry.value, Mapping)
            values = cast("Mapping[str, float]", entry.value if is_table else {"": entry.value})
            for key, value in values.items():
                for factor in FACTORS:
                    yield f"{entry.name}.{key}" if key else entry.name, factor, value


ABOUT = """\
# What each constant does

Each number of the GPU model that is fitted, measured or estimated, halved and doubled: how many of
the {rows} measured kernels change their predicted time, and how the mean error over their families
changes, in percentage points, for the fitted half and for the held-out one, which no constant is
fitted to. A number that changes few kernels is there for what few of the measured ones have, such
as spills or functions without a known cost. Numbers by fact or definition are not here;
[all constants](constants.md) have their source and meaning. Made by
`python tests/measured/ablation.py --ledger`.

"""
COLUMNS = ("constant", "value", "kernels, halved", *HALVES, "kernels, doubled", *HALVES)


def write_ledger(base: Scores) -> None:
    """Write the page: the kernels that each change moves, and both errors minus today's."""
    rows: dict[str, list[str]] = {}
    for name, factor, value in ledger_cases():
        found = changed_scores({name: value * factor})
        print_line(f"{name} = {value * factor:g}", found, base)
        changes = zip(errors(found), errors(base), strict=True)
        row = rows.setdefault(name, [f"`{name}`", f"{value:g}"])
        row += [str(moved(found, base)), *(f"{after - before:+.2%}" for after, before in changes)]
    rule = ["---", *["--:"] * (len(COLUMNS) - 1)]
    lines = [f"| {' | '.join(row)} |\n" for row in (COLUMNS, rule, *rows.values())]
    text = ABOUT.format(rows=len(base.rows)) + "".join(lines).replace("%", "")
    LEDGER.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Errors of the model with other constants.")
    parser.add_argument("changes", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--ledger", action="store_true", help="half and twice each constant")
    arguments = parser.parse_args()
    base = predict.scores()
    print_line("unchanged", base, base)
    for name, _, value in (change.partition("=") for change in arguments.changes):
        print_line(f"{name} = {value}", changed_scores({name: float(value)}), base)
    if arguments.ledger:
        write_ledger(base)


if __name__ == "__main__":
    main()
