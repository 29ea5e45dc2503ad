"""Machine code in the editor: after the CUDA source, linked, in hovers; its tools installed."""

from __future__ import annotations

import os
import socket
import zipfile
from pathlib import Path
from typing import Any

import pytest

from support.rpc import Client, RpcError

EXAMPLE = Path(__file__).parent.parent / "examples" / "matmul_tvm.py"
TOOLS = ("nvcc", "nvdisasm")
LIMIT_S = 300.0


def generated(client: Client, uri: str, language: str) -> dict[str, Any]:
    params = {"command": "tirlens.generatedCode", "arguments": [uri, "matmul_tiled", language]}
    found: dict[str, Any] = client.request("workspace/executeCommand", params, LIMIT_S)
    return found


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """Variables of a user without NVIDIA's tools, and a cache in `folder`."""
    found = [entry for entry in os.environ["PATH"].split(os.pathsep) if not _has_tools(entry)]
    return {
        "PATH": os.pathsep.join(found),
        "CUDA_HOME": "",
        "CUDA_PATH": "",
        "XDG_CACHE_HOME": str(folder / "cache"),
        **variables,
    }


def _has_tools(folder: str) -> bool:
    return any(Path(folder, tool).exists() for tool in TOOLS)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_machine_code_is_linked_and_in_hovers(
    tmp_path: Path, tvm_python: Path, cuda_home: Path
) -> None:
    with Client(environment=environment(tmp_path, CUDA_HOME=str(cuda_home))) as client:
        client.initialize(trusted=True, interpreter=str(tvm_python))
        path = tmp_path / "a.py"
        path.write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
        uri = client.open(path)
        client.wait_ready(uri)
        rows = path.read_text(encoding="utf-8").splitlines()
        product = next(n for n, row in enumerate(rows) if "acc[0] = acc[0] + A_shared" in row)

        # The CUDA source waits for no compiler.
        first = generated(client, uri, "cuda")
        assert first["missing_tools"] == []
        (kernel,) = first["kernels"]
        assert set(kernel["texts"]) == {"cuda"} and kernel["compiled"] == []
        assert kernel["resources_error"] is None
        assert "Machine code" not in (client.hover(uri, product, 16) or "")

        (compiled,) = generated(client, uri, "sass")["kernels"]
        assert compiled["registers_per_thread"] > 8
        assert compiled["texts"]["cuda"] == kernel["texts"]["cuda"]
        cuda, sass = (compiled["texts"][name] for name in ("cuda", "sass"))
        lines, source = sass["text"].splitlines(), cuda["text"].splitlines()
        linked = zip(lines, sass["lines"], sass["cuda_lines"], strict=True)
        products = [one for one in linked if "FFMA" in one[0] and one[0].startswith("[B")]
        assert len(products) >= 32
        for _, line, cuda_line in products:
            assert line == product + 1 == cuda["lines"][cuda_line - 1]
            assert "acc_ptr[0] = (acc_ptr[0] + " in source[cuda_line - 1]
        hover = client.hover(uri, product, 16) or ""
        assert "Machine code (sm_90): " in hover and f"`FFMA x{len(products)}`" in hover
        assert " instructions, " in hover and hover.endswith(" registers")
        # It is of the saved text and of this device.
        client.command("tirlens.setDevice", uri, "a100-80-sxm")
        client.wait_ready(uri, 2)
        assert "Machine code" not in (client.hover(uri, product, 16) or "")


@pytest.mark.slow
def test_without_tools_there_is_the_source_and_what_is_missing(
    tmp_path: Path, tvm_python: Path
) -> None:
    with Client(environment=environment(tmp_path)) as client:
        client.initialize(trusted=True, interpreter=str(tvm_python))
        path = tmp_path / "a.py"
        path.write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
        uri = client.open(path)
        client.wait_ready(uri)
        assert client.command("tirlens.missingTools", uri) == [*TOOLS]
        for language in ("cuda", "sass"):
            found = generated(client, uri, language)
            assert found["missing_tools"] == [*TOOLS]
            assert set(found["kernels"][0]["texts"]) == {"cuda"}
        assert "no nvcc" in found["kernels"][0]["resources_error"]


def _wheels(folder: Path) -> Path:
    """Packages with the names and the places of NVIDIA's, with programs that do nothing."""
    folder.mkdir()
    for name in ("nvcc", "nvdisasm", "runtime", "cccl"):
        info = f"nvidia_cuda_{name}-13.0.0.dist-info"
        with zipfile.ZipFile(folder / f"nvidia_cuda_{name}-13.0.0-py3-none-any.whl", "w") as wheel:
            program = zipfile.ZipInfo(f"nvidia/cu13/bin/{name}")
            program.external_attr = 0o100755 << 16
            wheel.writestr(program, "#!/bin/sh\n")
            wheel.writestr(
                f"{info}/METADATA",
                f"Metadata-Version: 2.1\nName: nvidia-cuda-{name}\nVersion: 13.0.0\n",
            )
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{info}/RECORD", "")
    return folder


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a script is no program there")
def test_tools_are_installed_when_asked_for(tmp_path: Path) -> None:
    wheels = _wheels(tmp_path / "wheels")
    # A user whose pip says nothing sees the progress as well.
    variables = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_QUIET": "1"}
    with Client(environment=environment(tmp_path, **variables)) as client:
        client.initialize(trusted=True)
        assert client.command("tirlens.missingTools", None) == [*TOOLS]
        arguments = {"command": "tirlens.installToolchain", "arguments": [None, "t"]}
        folder = client.request("workspace/executeCommand", arguments, LIMIT_S)
        assert Path(folder) == tmp_path / "cache/tirlens/toolchain"
        assert client.command("tirlens.missingTools", None) == []
        reports = [given for name, given in client.notifications if name == "$/progress"]
        assert all(given["token"] == "t" for given in reports)
        assert any("Installing" in given["value"]["message"] for given in reports)


@pytest.mark.slow
def test_nothing_is_installed_without_trust(tmp_path: Path) -> None:
    with Client(environment=environment(tmp_path)) as client:
        client.initialize(trusted=False)
        with pytest.raises(RpcError, match="untrusted"):
            client.command("tirlens.installToolchain", None, "t")
        assert not (tmp_path / "cache/tirlens/toolchain").exists()


@pytest.mark.slow
def test_an_installation_is_cancelled(tmp_path: Path) -> None:
    """pip waits for an index that says nothing."""
    with socket.socket() as index:
        index.bind(("127.0.0.1", 0))
        index.listen()
        variables = {"PIP_INDEX_URL": f"http://127.0.0.1:{index.getsockname()[1]}/"}
        variables |= {"PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", "NO_PROXY": "127.0.0.1"}
        with Client(environment=environment(tmp_path, **variables)) as client:
            client.initialize(trusted=True)
            arguments = {"command": "tirlens.installToolchain", "arguments": [None, "t"]}
            asked = client.ask("workspace/executeCommand", arguments)
            index.settimeout(120)
            connection, _ = index.accept()
            client.notify("window/workDoneProgress/cancel", {"token": "t"})
            with connection:
                # pip has ended: its connection does.
                connection.settimeout(60)
                while connection.recv(1 << 16):
                    pass
            with pytest.raises(RpcError, match="cancelled"):
                client.answer(asked)
            assert client.command("tirlens.missingTools", None) == [*TOOLS]
            assert list((tmp_path / "cache/tirlens").glob("*toolchain*")) == []
