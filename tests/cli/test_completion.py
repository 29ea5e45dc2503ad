"""``tirlens completion``: what a shell completes with the script."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tirlens.hardware import catalogue

TIRLENS = [sys.executable, "-m", "tirlens"]
COMPLETE = """
eval "$SCRIPT"
COMP_WORDS=("$@"); COMP_CWORD=$#; COMP_CWORD=$((COMP_CWORD - 1)); COMPREPLY=()
"$(complete -p tirlens | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def script(shell: str) -> str:
    command = [*TIRLENS, "completion", shell]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def completed(*words: str) -> set[str]:
    command = ["bash", "-c", COMPLETE, "bash", *words]
    environment = {"SCRIPT": script("bash"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {word.strip() for word in done.stdout.splitlines()}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes_commands_options_and_devices() -> None:
    assert completed("tirlens", "an") == {"analyze"}
    assert completed("tirlens", "analyze", "--min") == {"--min-percentage"}
    found = completed("tirlens", "compare", "--device", "h100-")
    assert found == {name for name in catalogue() if name.startswith("h100-")}


@pytest.mark.parametrize("shell", ["zsh", "fish", "tcsh"])
def test_the_scripts_of_other_shells_name_all_commands(shell: str) -> None:
    found = script(shell)
    assert all(name in found for name in ("analyze", "report", "compare", "measure", "doctor"))
