"""Commands about the code that frameworks and compilers make of kernels.

``tirlens.generatedCode`` [uri, kernel | line | null, language] -> {kernels, problems,
missing_tools} | null; the line is 1-based. ``tirlens.missingTools`` [uri | null] -> the names of
those without which a file's kernels have no machine code; ``tirlens.installToolchain`` [uri |
null, token | null] -> the folder with them: it reports ``$/progress`` for the token, by which it is
cancelled.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcInvalidParams, JsonRpcRequestCancelled

from tirlens.lsp.commands import Function, text

if TYPE_CHECKING:
    from pathlib import Path

    from tirlens.lsp.server import Server


async def generated_code(
    server: Server, uri: object = None, kernel: object = None, language: object = None
) -> dict[str, Any] | None:
    """The CUDA source (``cuda``), lowered IR (``tir``) or machine code with its CUDA source
    (``sass``) of a kernel, by its name or a line."""
    from tirlens.pipeline.generation_request import LANGUAGES
    from tirlens.session.code_generation import SASS
    from tirlens.session.code_generation import generated_code as generate

    name = text(uri, "uri")
    document, part = server.document(name), server.part(name)
    if document is None:
        return None
    wanted = kernel if isinstance(kernel, (str, int)) else None
    if isinstance(wanted, int) and part is not None:
        wanted += part.offset
    languages = [language] if language in (*LANGUAGES, SASS) else LANGUAGES
    return await generate(server.session, document, wanted, [str(one) for one in languages])


async def missing_tools(server: Server, uri: object = None) -> list[str]:
    """The tools of machine code that are not found for the kernels of a file."""
    from tirlens.worker_client.toolchain import find_toolchain

    python = await _python(server, uri)
    return list((await asyncio.to_thread(find_toolchain, python)).missing)


async def install_toolchain(server: Server, uri: object = None, token: object = None) -> str:
    """Install NVIDIA's compiler and disassembler, because the user asks for it; their folder.

    Raises:
        JsonRpcInvalidParams: the workspace is not trusted, or pip fails.
        JsonRpcRequestCancelled: the progress `token` was cancelled.
    """
    from tirlens.worker_client.toolchain_installation import InstallationError
    from tirlens.worker_client.toolchain_installation import install_toolchain as install

    if not server.session.configuration.trusted:
        raise JsonRpcInvalidParams("nothing is installed in an untrusted workspace")
    python = await _python(server, uri)
    work = install(server.client.report_to(token), [python] if python is not None else [])
    try:
        return str(await server.client.cancellable(work, token))
    except asyncio.CancelledError:
        raise JsonRpcRequestCancelled("the installation was cancelled") from None
    except (InstallationError, OSError) as error:
        raise JsonRpcInvalidParams(f"the compiler is not installed: {error}") from error


async def _python(server: Server, uri: object) -> Path | None:
    """The interpreter of the kernels of a file; None if it is not known."""
    from tirlens.session.job import find_environment

    document = server.document(text(uri, "uri")) if uri is not None else None
    reading = document.reading if document is not None else None
    if document is None or reading is None:
        return None
    configuration = server.session.configuration.at(document.path)
    environment = await asyncio.to_thread(find_environment, configuration, document, reading)
    return environment.interpreter.path


TABLE: dict[str, Function] = {
    "tirlens.generatedCode": generated_code,
    "tirlens.missingTools": missing_tools,
    "tirlens.installToolchain": install_toolchain,
}
