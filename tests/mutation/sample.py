"""Sampled mutants of the code, and whether the quick loop of tests kills them.

    python tests/mutation/sample.py --count 200 --seed 1

`mutants.py` makes the mutants with the operators of cosmic-ray, in an environment of its own;
`plugin.py` tries them on the quick tests. `accepted.txt` lists survivors that change nothing that a
user sees, each with the reason. It is run by hand and weekly, not in the checks of a change; on
POSIX systems alone, which can fork.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
sys.path.insert(0, str(TESTS))

from support.environments import environment  # noqa: E402

ROOMS = ("server/tirlens/model", "server/tirlens_counting", "server/tirlens/lsp")
ACCEPTED = Path(__file__).with_name("accepted.txt")
GOAL = 0.9


def described(mutant: dict[str, Any]) -> str:
    """``file: old line -> new line``, which stays when lines above change."""
    file = Path(mutant["file"])
    lines = list(difflib.ndiff(file.read_text().splitlines(), mutant["text"].splitlines()))
    old = " ".join(line[2:].strip() for line in lines if line.startswith("- "))
    new = " ".join(line[2:].strip() for line in lines if line.startswith("+ "))
    return f"{file.relative_to(ROOT)}: {old} -> {new}"


def sampled(count: int, seed: int, rooms: Sequence[str]) -> list[str]:
    """Mutants as lines of JSON."""
    script = Path(__file__).with_name("mutants.py")
    options = ["--count", str(count), "--seed", str(seed), *(str(ROOT / room) for room in rooms)]
    command = [environment("cosmic_ray-8.7.0"), script, *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def tried(
    mutants: list[str], tests: list[str], jobs: int, profile: Path, fates: Path
) -> list[dict[str, Any]]:
    """The mutants with their fates: ``killed``."""
    listed = fates.with_suffix(".mutants")
    listed.write_text("\n".join(mutants))
    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "mutation.plugin"]
    files = [f"--mutants={listed}", f"--profile={profile}", f"--fates={fates}", f"--jobs={jobs}"]
    variables = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "pytest", *options, *files, *tests]
    subprocess.run(command, cwd=ROOT, env=variables, check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in fates.read_text().splitlines()]


def main() -> int:
    """Try mutants and print those that survive; status 1 below nine of ten killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", action="append", help="a folder or file of the repository")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are tried at a time")
    parser.add_argument("--profile", type=Path, help="what tests execute, from a run before")
    parser.add_argument("--mutants", type=Path, help="the mutants, in place of a sample")
    parser.add_argument("tests", nargs="*", help="the tests, all quick ones by default")
    arguments = parser.parse_args()
    accepted = {line.partition("  # ")[0] for line in ACCEPTED.read_text().splitlines()}
    rooms = arguments.room or list(ROOMS)
    with tempfile.TemporaryDirectory() as folder:
        mutants = (
            arguments.mutants.read_text().splitlines()
            if arguments.mutants
            else sampled(arguments.count, arguments.seed, rooms)
        )
        profile = arguments.profile or Path(folder) / "profile"
        found = tried(mutants, arguments.tests, arguments.jobs, profile, Path(folder) / "fates")
    names = {described(mutant): mutant["killed"] for mutant in found}
    counted = {name: killed for name, killed in names.items() if name not in accepted}
    for name in sorted(name for name, killed in counted.items() if not killed):
        print(f"survived: {name}")
    killed = sum(counted.values())
    print(f"{killed} of {len(counted)} mutants killed by the quick tests")
    return 0 if killed >= GOAL * len(counted) else 1


if __name__ == "__main__":
    sys.exit(main())
