"""From a save to its hint in VS Code: ``python tests/benchmarks/save_to_hint.py [ROUNDS]``.

The server of ruff works in the same window. Each round replaces one line in a single edit and saves
at once. The line changes the cost of the kernel's matrix product, and has trailing whitespace,
of which ruff warns. The page itself takes three times from the moment at which the new line is
displayed: until the key of the save, until the squiggle of ruff, and until the hint.

Ruff reads each change; TIRLens starts with the save. Its hint counts once it has a text that the
server gave for that line in a process of its own, before the window was opened.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parent)]

from support.environments import environment  # noqa: E402
from support.rpc import Client  # noqa: E402
from vscode import beside  # noqa: E402
from vscode.code_server import build_extension, code_server  # noqa: E402
from vscode.install import install  # noqa: E402
from vscode.workspace import TILELANG, lay_out, quiet_settings  # noqa: E402

_WARM_UP = 2
_EDITED = "for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):"
_HINTED = "T.gemm("
# Enough for the lowering of the kernel, which may change its hints again.
_LOWERING_S = 4.0


def lines(rounds: int) -> list[str]:
    """The text that each round puts in place of the line: fewer iterations, and a warning."""
    step = 64 // rounds
    if step < 2:
        raise SystemExit(f"at most {32 - _WARM_UP} rounds: more have costs that look alike")
    return [
        _EDITED.replace("block_K),", f"block_K) - {step * (number + 1)},") + "  "
        for number in range(rounds)
    ]


def expected_hints(path: Path, edits: list[str]) -> list[list[str]]:
    """What the server displays at the matrix product of each text, before and after lowering."""
    original = path.read_text()
    at = next(n for n, line in enumerate(original.splitlines()) if _HINTED in line)
    found: list[list[str]] = []
    with Client() as client:
        client.initialize(trusted=True, interpreter=str(environment("tilelang-0.1.15")))
        uri = client.open(path)
        client.wait_ready(uri)
        for version, edit in enumerate(edits, 2):
            ready = client.states(uri).count("ready")
            client.replace(uri, version, original.replace(_EDITED, edit, 1))
            client.save(uri)
            client.wait_ready(uri, ready + 1)
            texts: list[str] = []
            until = time.monotonic() + _LOWERING_S
            while time.monotonic() < until:
                texts += [text.strip() for line, text in client.hints(uri) if line == at]
                time.sleep(0.1)
            found.append(list(dict.fromkeys(texts)))
    every = [text for texts in found for text in texts]
    if not all(found) or len(set(every)) < len(every):
        raise SystemExit(f"rounds whose hints are missing or the same: {found}")
    return found


def main(rounds: int) -> None:
    """Print the milliseconds of each round, their medians and the ratio of these."""
    editor = install()
    with tempfile.TemporaryDirectory(prefix="tirlens-save-") as name:
        folder = Path(name)
        workspace = lay_out(folder / "workspace")
        file = workspace / TILELANG["file"]
        (file.parent / "ruff.toml").write_text('lint.extend-select = ["W291"]\n')
        edits = lines(rounds + _WARM_UP)
        original, *expected = expected_hints(file, [_EDITED, *edits])
        vsix = build_extension(editor)
        settings = quiet_settings() | {
            "beside.servers": {"ruff": beside.servers(editor)["ruff"]},
            "editor.autoIndent": "none",
            "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
            "editor.parameterHints.enabled": False,
        }
        with code_server(
            editor,
            folder / "editor",
            vsix=vsix,
            settings=settings,
            trust_everything=True,
            others=[beside.build(editor, folder / "beside")],
        ) as address:
            given = {
                "address": address,
                "folder": str(workspace),
                "file": TILELANG["file"],
                "playwright": str(editor.playwright),
                "chromium": str(editor.chromium),
                "hinted": _HINTED,
                "original": {"text": _EDITED, "hints": original},
                "rounds": [
                    {"text": text, "hints": hints}
                    for text, hints in zip(edits, expected, strict=True)
                ],
                "warmUp": _WARM_UP,
            }
            load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
            print(f"load before: {load} on {os.cpu_count()} processors", flush=True)
            command = [str(editor.node), str(_HERE / "save_to_hint.mjs"), json.dumps(given)]
            done = subprocess.run(command, check=False, timeout=120 + 60 * len(edits))
            if done.returncode != 0:
                raise SystemExit(done.returncode)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
