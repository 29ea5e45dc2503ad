"""Import in the warm process what a text is going to import of the frameworks.

Some of their modules take many seconds (`tvm.s_tir.tensor_intrin`: 16-28 s).  Imported once in the
warm process they cost an analysis nothing.  Only the frameworks' own modules are imported here:
everything else is user code and belongs into a child.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import sys
from typing import Iterator, List, Set

from .. import framework_names

_ROOTS = (*framework_names.MODULES, "torch", "numpy")
_STATEMENT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<module>[\w.]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|.*)"
    r"|import[ \t]+(?P<modules>.*))",
    re.MULTILINE,
)
_tried: Set[str] = set()


def missing(text: str) -> List[str]:
    """The frameworks' modules that `text` imports and this process has not tried to."""
    names = dict.fromkeys(_imported_modules(text))
    return [name for name in names if name not in _tried and name not in sys.modules]


def preload(names: List[str]) -> None:
    """Import `names`; those that are no modules, or fail, are left for the child to fail at."""
    for name in names:
        _tried.add(name)
        if name.split(".")[0] == "tvm":
            _find_copy_of_tvm()
        parent, _, last = name.rpartition(".")
        try:
            # ``from tvm.script.tirx import tile`` finds an attribute, whose module has another
            # name: imported under this one it would be loaded twice, with classes of its own.
            if not parent or not hasattr(importlib.import_module(parent), last):
                importlib.import_module(name)
        except Exception:
            continue


def _find_copy_of_tvm() -> None:
    """Import tilelang, which brings a copy of TVM, where TVM itself is not installed."""
    if "tilelang" in sys.modules or importlib.util.find_spec("tvm") is not None:
        return
    with contextlib.suppress(Exception):
        importlib.import_module("tilelang")


def _imported_modules(text: str) -> Iterator[str]:
    for match in _STATEMENT.finditer(text):
        module = match.group("module")
        if module is None:
            for part in match.group("modules").split(","):
                word = part.split("#")[0].split()
                if word and word[0].split(".")[0] in _ROOTS:
                    yield word[0]
        elif module.split(".")[0] in _ROOTS:
            yield module
            for name in re.findall(r"(\w+)(?:[ \t]+as[ \t]+\w+)?", match.group("names")):
                # A name may be a submodule, which shows when its parent has been imported.
                if name.islower():
                    yield "{}.{}".format(module, name)
