"""The environment variables of programs that are started: an allow-list without tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

# Paths, locale, and what systems need to start a process.
_NAMES = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "PWD"),
        *("TMPDIR", "TMP", "TEMP", "HOSTNAME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LD_PRELOAD"),
        *("LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CPATH", "CC", "CXX", "SYSTEMROOT", "SYSTEMDRIVE"),
        *("WINDIR", "COMSPEC", "PATHEXT", "USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH"),
        *("APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "NUMBER_OF_PROCESSORS"),
        "PROCESSOR_ARCHITECTURE",
    )
)
# Python, CUDA and ROCm, the frameworks, and libraries of threads.
_PREFIXES = (
    *("LC_", "XDG_", "PYTHON", "CONDA_", "PYENV_", "CUDA", "NVCC_", "NVIDIA_", "ROCM_", "HIP_"),
    *("HSA_", "TVM_", "TILELANG_", "TL_", "TIRLENS_", "TORCH", "PYTORCH_", "TRITON_", "LLVM_"),
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "MPL"),
)
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|APIKEY|API_KEY|PRIVATE_KEY")


def allowed_variables(base: Mapping[str, str], named: Sequence[str] = ()) -> dict[str, str]:
    """The variables of `base` that a program receives.

    Parameters
    ----------
    base
        The environment of the server.
    named
        Further names that the project or the editor's settings give, with ``*`` and ``?``.

    Returns
    -------
    The allowed variables: paths, locale, and those of Python, CUDA, ROCm and the frameworks whose
    names do not look like a secret's, and the named ones.
    """
    return {
        name: value
        for name, value in base.items()
        if _is_allowed(name.upper()) or any(fnmatchcase(name, pattern) for pattern in named)
    }


def _is_allowed(name: str) -> bool:
    return name in _NAMES or (name.startswith(_PREFIXES) and not _SECRET.search(name))
