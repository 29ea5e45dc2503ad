"""Names of other framework versions than the installed one.

A compile option that the installed tilelang does not have does not affect an analysis.  It is left
out and reported.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
import traceback
from enum import EnumMeta
from importlib import metadata
from typing import Any, Dict, List

from .. import framework_names

_NAME = re.compile(r"cannot import name '(\w+)'")
_KEYWORD = re.compile(r"(?:\w+\.)*(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_ATTRIBUTE = re.compile(r"module '((?:tilelang|tvm)(?:\.\w+)*)' has no attribute '(\w+)'")
_LIBRARY = re.compile(r"(lib\w+)\.so[.\d]*: cannot open shared object file.*", re.DOTALL)
# Libraries that earlier versions load when they are imported, and where they come from.
_LIBRARIES = {
    "libcuda": "NVIDIA's driver",
    "libnvrtc": "CUDA, also in the package nvidia-cuda-nvrtc-cu12",
    "libcudart": "CUDA, also in the package nvidia-cuda-runtime-cu12",
}
_OPTION = re.compile(r"(?:TL|TIR|CUDA)_[A-Z0-9_]+")


# What has taken the place of the parts of TVM that were removed, by their dotted names.
_REPLACED = {
    "tvm.te.create_schedule": "make a function with te.create_prim_func, and schedule it with "
    "tvm.s_tir.Schedule",
    "tvm.te.schedule": "functions of te.create_prim_func are scheduled with tvm.s_tir.Schedule",
    "tvm.te.hybrid": "write the function in TVMScript, @T.prim_func",
    "tvm.auto_scheduler": "tvm.s_tir.meta_schedule searches for the schedules of PrimFuncs",
    "tvm.autotvm": "tvm.s_tir.meta_schedule searches for the schedules of PrimFuncs",
    "tvm.relay": "models are modules of tvm.relax, which tvm.relax.frontend imports",
    "tvm.driver.tvmc": "import the model with tvm.relax.frontend, as onnx.from_onnx does, and "
    "compile the module with tvm.compile",
    "tvm.lower": "tvm.compile lowers a module, and tvm.s_tir.Schedule shows one",
    "tvm.nd": "tvm.runtime.tensor makes arrays",
    "tvm.hybrid": "write the function in TVMScript, @T.prim_func",
    "tvm.contrib.graph_executor": "tvm.relax.VirtualMachine runs compiled models",
    "tvm.contrib.graph_runtime": "tvm.relax.VirtualMachine runs compiled models",
}


class UnknownOption(str):
    """A member of ``PassConfigKey`` that this version of tilelang does not have."""


_unknown: List[str] = []


def unknown_options() -> List[str]:
    """The options without a definition that the program used since the last call."""
    found = list(dict.fromkeys(_unknown))
    _unknown.clear()
    return found


def known_options(options: Any) -> Dict[Any, Any]:
    """Those of the compile `options` that the installed tilelang has."""
    return {key: value for key, value in options.items() if not isinstance(key, UnknownOption)}


def allow_unknown_options(module: Any) -> None:
    """Make ``PassConfigKey.NAME`` an option that is left out if the name is not defined.

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
    """The message about a part of a framework that the installed version does not have."""
    name = (error.name or "").partition(".")
    framework = sys.modules.get(name[0]) if name[0] in framework_names.MODULES else None
    version = getattr(framework, "__version__", None)
    if version is None:
        return ""
    match = _NAME.search(str(error))
    what = "{}.{}".format(error.name, match.group(1)) if match else str(error.name)
    instead = _replacement(what) or "the file is for another version"
    return "{} {} has no {}: {}".format(name[0], version, what, instead)


def _replacement(name: str) -> str:
    """What has taken the place of `name`, or of the removed module that it is in."""
    while name:
        if name in _REPLACED:
            return _REPLACED[name]
        name = name.rpartition(".")[0]
    return ""


def _why_not_imported(name: str) -> str:
    """The error of the import of an existing module; empty for a missing module."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        return "" if error.name == name else str(error)
    except Exception as error:
        return "{}: {}".format(type(error).__name__, error)
    return ""


def _missing_library_message(file: str, name: str, error: BaseException) -> str:
    """The message about a shared library that a framework needs to be imported."""
    paths = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    framework = next(
        (word for word in ("bitblas", "tilelang", "tvm") for path in paths if word in path), ""
    )
    if not framework:
        return ""
    distribution = "apache-tvm" if framework == "tvm" else framework
    with contextlib.suppress(metadata.PackageNotFoundError):
        framework += " " + metadata.version(distribution)
    origin = " of {}".format(_LIBRARIES[name]) if name in _LIBRARIES else ""
    advice = "; tilelang 0.1.8 and later do without it" if "tvm" not in framework else ""
    return "{} cannot be imported without {}{}{}".format(framework, file, origin, advice)


def foreign_word(error: BaseException) -> str:
    """The message about an error due to a name that the installed framework does not have.

    The name is from a fork or another version; no arguments of the kernel avoid the error.
    """
    library = _LIBRARY.fullmatch(str(error)) if isinstance(error, OSError) else None
    if library:
        return _missing_library_message(str(error).partition(":")[0], library.group(1), error)
    if isinstance(error, ImportError):
        # An import in a function, which the kernel calls.
        return missing_part_message(error)
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
