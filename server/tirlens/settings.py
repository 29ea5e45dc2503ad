"""The settings that a project or an editor gives, checked: ``[tool.tirlens]`` and ``tirlens.*``."""

from __future__ import annotations

import ast
import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

from tirlens import array_words
from tirlens.budget import Budget, budget_of
from tirlens.math_fidelity import fidelity_of
from tirlens.toml_reader import TomlError, read_in_time, read_toml

DEFAULT_TIMEOUT_S = 20.0
MAX_TIMEOUT_S = 86_400
DEFAULT_MIN_PERCENTAGE = 1.0
DEFAULT_HINT_COLUMNS = 104
DEFAULT_LENS_CHARACTERS = 93
DETAILS = ("all", "hottest", "marked", "off")
LENS_PARTS = ("time", "verdict", "peak", "work", "size", "call")
"""The parts that a lens may show; the device always follows them."""

DEFAULT_LENS_PARTS = ("time", "verdict", "work")
_VARIABLE = re.compile(r"[A-Za-z0-9_*?]+")


@dataclass(frozen=True)
class Settings:
    """What a user may set; None or empty where nothing is set.

    `device` is an id or the path of a device file, `math_fidelity` that of matrix products on
    devices that have several (`tirlens.math_fidelity`), `python` the interpreter that runs the
    user's code, `calls` and `bindings` are as in a directive.  `timeout_s` limits one file's
    analysis.
    `model` is the id of the language model whose sizes kernels have (`tirlens.language_models`).
    `min_percentage` is the share of a kernel's time below which a line gets no label. `show` is one
    of `DETAILS`: what the editor displays. Hints end before the column `hint_columns`, lenses have
    at most `lens_characters`, and hints have the change since the last save with `hint_changes`.
    With `gutter_heat` lines are marked by their share of the time. `analyze_on_open` is whether a
    file is analysed when the editor opens it, which only the editor's own settings may say. `lower`
    is whether tilelang lowers its kernels for the exact threads and shared memory, `compile`
    whether NVIDIA's compiler, where it is at hand, compiles them for registers and spills.
    `budgets` are those of the kernels by name (with ``*`` and ``?`` as in file names),
    `fail_above` the growth above which a change is refused (`tirlens.gate`). `environment` names
    further environment variables that analysed code sees (with ``*`` and ``?``). `lens_parts` are
    the parts of a lens in order.
    """

    device: str | None = None
    math_fidelity: str | None = None
    model: str | None = None
    python: str | None = None
    calls: tuple[str, ...] = ()
    bindings: Mapping[str, int] = field(default_factory=dict[str, int])
    timeout_s: float | None = None
    min_percentage: float | None = None
    advice: bool | None = None
    inlay_hints: bool | None = None
    code_lens: bool | None = None
    show: str | None = None
    hint_columns: int | None = None
    lens_characters: int | None = None
    hint_changes: bool | None = None
    gutter_heat: bool | None = None
    lens_parts: tuple[str, ...] = ()
    analyze_on_open: bool | None = None
    lower: bool | None = None
    compile: bool | None = None
    budgets: Mapping[str, Budget] = field(default_factory=dict[str, Budget])
    fail_above: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()

    def merge(self, nearer: Settings) -> Settings:
        """These settings, overridden by those of `nearer`; bindings are merged by name."""
        changes = {
            item.name: value
            for item in fields(self)
            if (value := getattr(nearer, item.name)) not in (None, (), {})
        }
        return replace(self, **{**changes, "bindings": {**self.bindings, **nearer.bindings}})

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> tuple[Settings, tuple[str, ...]]:
        """The settings in `mapping`, and one message for each that is unknown or wrong.

        Names may be written as in TOML (``min-percentage``), Python (``min_percentage``) or in an
        editor (``minPercentage``).
        """
        values: dict[str, Any] = {}
        problems: list[str] = []
        for key, value in mapping.items():
            name = _canonical(str(key))
            reader = _READERS.get(name)
            if reader is None:
                near = difflib.get_close_matches(name, _READERS, 1)
                hint = f"; did you mean {near[0].replace('_', '-')}?" if near else ""
                problems.append(f"unknown setting {str(key)[:80]!r}{hint}")
            elif value not in (None, ""):
                try:
                    values[name] = reader(value)
                except ValueError as error:
                    problems.append(f"setting {key!r}: {error}")
        return cls(**values), tuple(problems)

    @classmethod
    def from_pyproject(
        cls, folder: Path, within: Path | None = None
    ) -> tuple[Settings, tuple[str, ...]]:
        """The ``[tool.tirlens]`` table of the nearest pyproject.toml at or above `folder`.

        Paths in it are relative to the file. Folders above `within` are not searched.
        """
        try:
            return read_in_time(
                lambda: cls._nearest(folder, within), str(folder / "pyproject.toml")
            )
        except TomlError as error:
            return cls(), (str(error),)

    @classmethod
    def _nearest(cls, folder: Path, within: Path | None) -> tuple[Settings, tuple[str, ...]]:
        for parent in (folder, *folder.parents):
            if within is not None and not parent.is_relative_to(within):
                break
            path = parent / "pyproject.toml"
            try:
                _, data = read_toml(path)
            except FileNotFoundError:
                continue
            table: Any = data.get("tool", {})
            if isinstance(table, Mapping):
                table = cast("Mapping[str, Any]", table).get("tirlens")
            if table is None:
                continue
            if not isinstance(table, Mapping):
                return cls(), (f"{path}: [tool.tirlens] must be a table",)
            settings, problems = cls.from_mapping(cast("Mapping[str, Any]", table))
            if settings.analyze_on_open is not None:
                # A project does not decide that its own code runs.
                settings = replace(settings, analyze_on_open=None)
                problems = (*problems, "analyze-on-open is a setting of the editor")
            return settings._with_absolute_paths(parent), tuple(
                f"{path}: {text}" for text in problems
            )
        return cls(), ()

    def _with_absolute_paths(self, folder: Path) -> Settings:
        device, python = self.device, self.python
        if device and device.endswith(".toml"):
            device = str(folder / Path(device).expanduser())
        if python and ("/" in python or "\\" in python):
            python = str(folder / Path(python).expanduser())
        return replace(self, device=device, python=python)


def _canonical(key: str) -> str:
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in key)
    name = snake.replace("-", "_")
    return {"timeout": "timeout_s", "interpreter": "python"}.get(name, name)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("must be text")


def _fidelity(value: Any) -> str:
    return fidelity_of(_text(value))


def _model(value: Any) -> str:
    # Imported late: most settings name no model, and the language server must start quickly.
    from tirlens.language_models import load

    return load(_text(value)).id


def _number(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = _as_float(value)
        if 0 <= number < math.inf:
            return number
    raise ValueError("must be a number that is not negative")


def _percentage(value: Any) -> float:
    number = _number(value)
    if number > 100:
        raise ValueError("must be a number from 0 to 100")
    return number


def _as_float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _duration(value: Any) -> float:
    number = _number(value)
    if not 0 < number <= MAX_TIMEOUT_S:
        raise ValueError(f"must be a number of seconds above 0 and at most {MAX_TIMEOUT_S:,}")
    return number


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("must be true or false")


def _detail(value: Any) -> str:
    if isinstance(value, str) and value in DETAILS:
        return value
    raise ValueError(f"must be one of {', '.join(DETAILS)}")


def _columns(value: Any) -> int:
    if type(value) is int and 0 < value < 1 << 31:
        return value
    raise ValueError("must be a whole number above 0")


def _calls(value: Any) -> tuple[str, ...]:
    items: Any = [value] if isinstance(value, str) else value
    if isinstance(items, (list, tuple)):
        calls = tuple(cast("list[Any]", items))
        if all(isinstance(item, str) for item in calls):
            for call in calls:
                _check_call(call)
            return calls
    raise ValueError("must be a call or a list of calls, such as 'matmul(1024, 1024)'")


def _check_call(text: str) -> None:
    try:
        ast.parse(array_words.expand(text.strip()), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text[:80]!r} is no call such as 'matmul(1024, 1024)'") from None


def _bindings(value: Any) -> dict[str, int]:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value)
        if all(type(size) is int and 0 <= size < 2**63 for size in pairs.values()):
            return dict(pairs)
    raise ValueError("must map names to whole numbers, none below 0 or from 2^63")


def _budgets(value: Any) -> dict[str, Budget]:
    if not isinstance(value, Mapping):
        raise ValueError("must map names of kernels to max-time and max-dram")
    found: dict[str, Budget] = {}
    for name, limits in cast("Mapping[str, Any]", value).items():
        if not isinstance(limits, Mapping):
            raise ValueError(f"{name[:80]}: expected {{ max-time = '120us', max-dram = '1.2GB' }}")
        found[name] = budget_of(cast("Mapping[str, Any]", limits))
    return found


def _limits(value: Any) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if isinstance(items, list) and all(isinstance(i, str) for i in cast("list[Any]", items)):
        return tuple(cast("list[str]", items))
    raise ValueError("must be a limit such as '5%', or a list of limits such as 'time=5%'")


def _variables(value: Any) -> tuple[str, ...]:
    items: Any = [value] if isinstance(value, str) else value
    if isinstance(items, (list, tuple)):
        names = tuple(cast("list[Any]", items))
        if all(isinstance(name, str) and _VARIABLE.fullmatch(name) for name in names):
            return names
    raise ValueError("must be names of environment variables, such as 'HF_HOME' or 'MY_*'")


def _lens_parts(value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        names = tuple(cast("list[Any]", value))
        if all(name in LENS_PARTS for name in names) and len(set(names)) == len(names):
            return names
    raise ValueError(f"must be a list of some of {', '.join(LENS_PARTS)}, each once")


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "device": _text,
    "math_fidelity": _fidelity,
    "model": _model,
    "python": _text,
    "calls": _calls,
    "bindings": _bindings,
    "timeout_s": _duration,
    "min_percentage": _percentage,
    "advice": _flag,
    "inlay_hints": _flag,
    "code_lens": _flag,
    "show": _detail,
    "hint_columns": _columns,
    "lens_characters": _columns,
    "hint_changes": _flag,
    "gutter_heat": _flag,
    "lens_parts": _lens_parts,
    "analyze_on_open": _flag,
    "lower": _flag,
    "compile": _flag,
    "budgets": _budgets,
    "fail_above": _limits,
    "environment": _variables,
}
