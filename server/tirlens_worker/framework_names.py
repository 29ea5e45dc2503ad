"""The frameworks whose kernels are read: their modules, their packages, and how to install them.

Everything that lists the frameworks reads this table.
"""

from __future__ import annotations

from typing import NamedTuple, Tuple


class Framework(NamedTuple):
    """A framework: `requirement` are the arguments of ``pip install`` that give a usable one."""

    module: str
    distributions: Tuple[str, ...]
    requirement: str


FRAMEWORKS = (
    Framework(
        "tvm", ("apache-tvm", "tvm"), '"apache-tvm>=0.26,<0.28" "apache-tvm-ffi==0.1.14.post1"'
    ),
    Framework("tilelang", ("tilelang",), '"tilelang>=0.1.15" "apache-tvm-ffi>=0.1.11,<0.1.13"'),
    # A prerelease, which pip takes only if it is asked for by its version.
    Framework("tvm_tirx", ("apache-tvm-tirx",), '"apache-tvm-tirx==0.1.0a4"'),
)
#: The names of their modules.
MODULES = tuple(framework.module for framework in FRAMEWORKS)
#: "tvm, tilelang or tvm_tirx".
ANY_OF_THEM = "{} or {}".format(", ".join(MODULES[:-1]), MODULES[-1])


def framework_of(module: str) -> Framework:
    """The framework whose module is `module`.

    Raises:
        StopIteration: none has this name.
    """
    return next(framework for framework in FRAMEWORKS if framework.module == module)
