"""The installation of NVIDIA's compiler and disassembler into TIRLens's cache, by pip."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tirlens.worker_client.toolchain import TOOLS, find_in_packages, toolchain_folder

#: What is taken from PyPI: about 350 MB installed.
PACKAGES = tuple(f"nvidia-cuda-{name}>=13,<14" for name in ("nvcc", "nvdisasm", "runtime", "cccl"))
_TIME_LIMIT_S = 1800.0
_PROGRESS = ("Downloading ", "Installing ")


class InstallationError(Exception):
    """The tools cannot be installed; the message is pip's."""


async def install_toolchain(
    report: Callable[[str], None] = lambda _: None, pythons: Sequence[Path] = ()
) -> Path:
    """Install the tools from PyPI into TIRLens's cache, in place of those there; the folder.

    Parameters
    ----------
    report
        Receives what pip is doing, a line each time.
    pythons
        Interpreters whose pip is used where that of this process has none.

    Raises
    ------
    InstallationError
        pip is missing, fails, or takes too long; what was there before is as it was, as it is when
        the installation is cancelled.
    """
    folder = toolchain_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".toolchain-", dir=folder.parent) as scratch:
        target = Path(scratch, "packages")
        python = await _with_pip([Path(sys.executable), *pythons])
        command = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
        command += ["--progress-bar", "off", "--target", str(target), *PACKAGES]
        try:
            await asyncio.wait_for(_run(command, report), _TIME_LIMIT_S)
        except (OSError, asyncio.TimeoutError) as error:
            raise InstallationError(str(error) or "pip took too long") from error
        if not all(any(find_in_packages(target, name)) for name in TOOLS):
            raise InstallationError("the packages have no nvcc or no nvdisasm for this system")
        if folder.exists():
            folder.rename(Path(scratch, "before"))
        target.rename(folder)
    return folder


async def _with_pip(pythons: Sequence[Path]) -> Path:
    """The first interpreter that has pip, else the first of all: its error says so."""
    for python in pythons:
        with contextlib.suppress(OSError):
            process = await asyncio.create_subprocess_exec(
                str(python),
                *("-c", "import pip"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            if await process.wait() == 0:
                return python
    return pythons[0]


async def _run(command: Sequence[str], report: Callable[[str], None]) -> None:
    """Run pip to its end; when this is cancelled, so is pip."""
    # Proxies and indices of pip are in the environment; how much it says is not the user's choice
    # here: the progress is read from it.
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**os.environ, "PIP_QUIET": "0", "PIP_VERBOSE": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    last = ""
    try:
        async for row in process.stdout:
            line = row.decode(errors="replace").strip()
            last = line or last
            if line.startswith(_PROGRESS):
                report(line)
        status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if status:
        raise InstallationError(last or f"pip ended with {status}")
