"""Names that kernels have from other versions of the frameworks than the one at hand.

An option of tilelang's compilation that this version does not know changes nothing of what is read
here, so it is left out and reported, and does not prevent the analysis of the file.
"""

from __future__ import annotations

import importlib
import re
import sys
from enum import EnumMeta
from typing import Any, Dict, List

_NAME = re.compile(r"cannot import name '(\w+)'")
_KEYWORD = re.compile(r"(?:\w+\.)*(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_ATTRIBUTE = re.compile(r"module '((?:tilelang|tvm)(?:\.\w+)*)' has no attribute '(\w+)'")
_OPTION = re.compile(r"(?:TL|TIR|CUDA)_[A-Z0-9_]+")


class UnknownOption(str):
    """A member of ``PassConfigKey`` that this version of tilelang does not have."""


_unknown: List[str] = []


def unknown_options() -> List[str]:
    """The options that the program has named in vain since the last call."""
    found = list(dict.fromkeys(_unknown))
    _unknown.clear()
    return found


def known_options(options: Any) -> Dict[Any, Any]:
    """Those of the `options` of a compilation that this version of tilelang knows."""
    return {key: value for key, value in options.items() if not isinstance(key, UnknownOption)}


def allow_unknown_options(module: Any) -> None:
    """Let ``PassConfigKey.NAME`` be an option that is left out, where there is none of the name.

    `module` is tilelang's ``transform.pass_config``.
    """

    class Lenient(EnumMeta):
        def __getattr__(cls, name: str) -> Any:
            if not _OPTION.fullmatch(name):
                raise AttributeError(name)
            _unknown.append(name)
            return UnknownOption(name)

    module.PassConfigKey.__class__ = Lenient


def missing_part_message(error: ImportError) -> str:
    """What to say of a part of a framework that the version at hand does not have."""
    name = (error.name or "").partition(".")
    framework = sys.modules.get(name[0]) if name[0] in ("tvm", "tilelang") else None
    version = getattr(framework, "__version__", None)
    if version is None:
        return ""
    match = _NAME.search(str(error))
    what = "{}.{}".format(error.name, match.group(1)) if match else error.name
    return "{} {} has no {}: the file is for another version".format(name[0], version, what)


def _why_not_imported(name: str) -> str:
    """What stops the import of a module that is there; nothing for one that is not."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        return "" if error.name == name else str(error)
    except Exception as error:
        return "{}: {}".format(type(error).__name__, error)
    return ""


def foreign_word(error: BaseException) -> str:
    """What to say of an error that comes of a word which the framework at hand does not have.

    Forks and other versions have words of their own: no arguments of a kernel change that.
    """
    attribute = _ATTRIBUTE.fullmatch(str(error)) if isinstance(error, AttributeError) else None
    if attribute:
        name = ".".join(attribute.groups())
        broken = _why_not_imported(name)
        if broken:
            return "{} could not be imported: {}".format(name, broken)
        return missing_part_message(ImportError(str(error), name=name))
    keyword = _KEYWORD.fullmatch(str(error)) if isinstance(error, TypeError) else None
    tilelang = sys.modules.get("tilelang")
    if keyword and tilelang is not None:
        function, word = keyword.groups()
        modules = (tilelang, getattr(tilelang, "language", None))
        if any(callable(getattr(module, function, None)) for module in modules):
            return "tilelang {}: {}() has no argument '{}': the file is for another version".format(
                getattr(tilelang, "__version__", ""), function, word
            )
    return ""
