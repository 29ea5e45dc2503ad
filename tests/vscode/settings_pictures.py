"""Pictures of the settings: `pip install pillow && python tests/vscode/settings_pictures.py`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parent)]

from support.environments import environment  # noqa: E402
from vscode.code_server import build_extension, code_server  # noqa: E402
from vscode.film import few_colours  # noqa: E402
from vscode.install import install  # noqa: E402
from vscode.screenshot import LOOKS  # noqa: E402
from vscode.workspace import quiet_settings  # noqa: E402

IMAGES = _HERE.parents[1] / "server/docs/images"

_KERNEL = """\
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def linear(N=4096, K=4096, stages=2):
    M = T.dynamic("M")

    @T.prim_func
    def main(
        X: T.Tensor((M, K), "float16"),
        W: T.Tensor((K, N), "float16"),
        Y: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(N // 128, T.ceildiv(M, 128), threads=256) as (bx, by):
            X_shared = T.alloc_shared((128, 64), "float16")
            W_shared = T.alloc_shared((64, 128), "float16")
            Y_local = T.alloc_fragment((128, 128), "float32")
            T.clear(Y_local)
            for k in T.Pipelined(K // 64, num_stages=stages):
                T.copy(X[by * 128, k * 64], X_shared)
                T.copy(W[k * 64, bx * 128], W_shared)
                T.gemm(X_shared, W_shared, Y_local)
            T.copy(Y_local, Y[by * 128, bx * 128])

    return main
"""
# In the order in which they are made: what is set for a picture.
PICTURES: dict[str, dict[str, object]] = {
    "estimates": {"tirlens.device": "a100-80-sxm", "tirlens.bindings": {"M": 8192}},
    "display": {
        "tirlens.show": "hottest",
        "tirlens.lensParts": ["time", "verdict", "size"],
        "tirlens.hintChanges": True,
        "tirlens.gutterHeat": True,
    },
    "execution": {
        "tirlens.interpreter": "${workspaceFolder}/env",
        "tirlens.timeout": 60,
        "tirlens.environment": ["HF_HOME"],
    },
}


def main() -> None:
    """Renew the pictures."""
    editor = install()
    with tempfile.TemporaryDirectory(prefix="k-") as name:
        folder = Path(name)
        workspace = folder / "kernels"
        workspace.mkdir()
        (workspace / "linear.py").write_text(_KERNEL)
        (workspace / "env").symlink_to(environment("tilelang-0.1.15").parents[1])
        settings = quiet_settings() | LOOKS | {"editor.fontSize": 13}
        settings["tirlens.interpreter"] = "${workspaceFolder}/env"
        vsix = build_extension(editor)
        with code_server(
            editor, folder / "editor", vsix=vsix, settings=settings, trust_everything=True
        ) as address:
            given = {
                "address": address,
                "folder": str(workspace),
                "file": "linear.py",
                "playwright": str(editor.playwright),
                "chromium": str(editor.chromium),
                "images": str(IMAGES),
                "pictures": PICTURES,
            }
            command = [str(editor.node), str(_HERE / "settings_pictures.mjs"), json.dumps(given)]
            subprocess.run(command, check=True, timeout=600)
    for one in PICTURES:
        picture = IMAGES / f"settings-{one}.png"
        few_colours(picture).save(picture, optimize=True)


if __name__ == "__main__":
    main()
