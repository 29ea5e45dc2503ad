"""A client of the real server in the process of the test, for tests of the quick loop.

Messages pass as bytes through the server's protocol in both directions. Only the framework is
missing: `ClientHere.give` puts facts where the results of a worker are cached, as an analysis of
the same text leaves them, so that the analyses of the session need no worker.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import json
import shutil
import tempfile
import venv
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from support import kernels
from support.robust import kernel
from support.rpc import CAPABILITIES, RpcError
from tirlens.lsp.handlers import create_server
from tirlens.lsp.server import Server
from tirlens.pipeline.span_shift import LineShift, shift_spans
from tirlens.session.job import complete
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

_LIMIT_S = 60.0

#: A kernel of 1 Mi elements: the decorator at line 4, loops at 6 and 7, its statement at 8.
SCALE_TEXT = kernel(1 << 20)
SCALE_FACTS = shift_spans(
    replace(kernels.scale(), definition="scale", call="scale", call_source="direct"),
    [LineShift(1, 4, 4)],
)


class ClientHere:
    """The client of a server on the same event loop.

    Attributes
    ----------
    notifications
        All of the server's, as pairs of method and parameters.
    requests
        The server's own requests in the same form. Each is answered at once, with what `answers`
        has for its method, or null.
    """

    def __init__(self, answers: Mapping[str, Any], *, trust_workspace: bool) -> None:
        self.server: Server = create_server(trust_workspace)
        self.server.protocol.set_writer(self)
        self.notifications: list[tuple[str, Any]] = []
        self.requests: list[tuple[str, Any]] = []
        self.replies: dict[Any, dict[str, Any]] = {}
        self.answers = dict(answers)
        self._arrived = asyncio.Event()
        self._last_id = 0

    # What the server's protocol needs of a stream.

    def write(self, data: bytes) -> None:
        header, _, body = data.partition(b"\r\n\r\n")
        assert header == b"Content-Length: %d" % len(body)
        message = json.loads(body)
        if "method" not in message:
            assert message.get("id") not in self.replies or "id" not in message
            self.replies[message.get("id")] = message
        elif "id" in message:
            self.requests.append((message["method"], message.get("params")))
            reply = {"jsonrpc": "2.0", "id": message["id"]}
            reply["result"] = self.answers.get(message["method"])
            asyncio.get_running_loop().call_soon(self.send, reply)
        else:
            self.notifications.append((message["method"], message.get("params")))
        self._arrived.set()

    def close(self) -> None:
        return

    # Messages

    def send(self, message: Any) -> None:
        self.send_bytes(json.dumps(message).encode())

    def send_bytes(self, body: bytes) -> None:
        self.server.protocol.receive(body)

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Any = None) -> Any:
        """The result of a request.

        Raises
        ------
        RpcError
            The server answered with an error.
        """
        self._last_id += 1
        identity = self._last_id
        message = {"jsonrpc": "2.0", "id": identity, "method": method}
        self.send(message if params is None else {**message, "params": params})
        await self.until(lambda: identity in self.replies)
        reply = self.replies[identity]
        if "error" in reply:
            raise RpcError(reply["error"]["code"], reply["error"]["message"])
        return reply["result"]

    async def command(self, name: str, *arguments: Any) -> Any:
        return await self.request(
            "workspace/executeCommand", {"command": name, "arguments": list(arguments)}
        )

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for a condition, which is looked at after each message of the server."""
        while not condition():
            self._arrived.clear()
            await asyncio.wait_for(self._arrived.wait(), _LIMIT_S)

    async def settle(self) -> None:
        """Wait until nothing that is under way sends more: for what must not be sent."""
        await asyncio.sleep(0.05)

    # Documents

    def open(self, path: Path, text: str, version: int = 1) -> str:
        path.write_text(text, encoding="utf-8")
        uri = path.as_uri()
        item = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    async def analysed(self, path: Path, text: str, *facts: KernelFacts) -> str:
        """Open a file whose kernels are known, and wait for its figures."""
        uri = self.open(path, text)
        await self.give(uri, *facts)
        await self.saved(uri)
        return uri

    async def saved(self, uri: str) -> None:
        """Save a file, and wait for what is known of its text."""
        before = self.states(uri)
        self.save(uri)
        # The interpreter has no framework; what is known is shown.
        await self.until(lambda: "no-framework" in self.states(uri)[len(before) :])

    async def give(self, uri: str, *facts: KernelFacts) -> None:
        """Cache `facts` as the answer about the present text of `uri`."""
        document = self.server.document(uri)
        assert document is not None
        session = self.server.session
        analyses, configuration = session.analyses, session.configuration
        session.analyses.stop(document)
        reading = await session._readings.of_saved_text(document)
        job = await analyses._plan(document, document.generation, configuration, reading)
        _, parts = complete(job.plan, Result(job.plan.whole.id, kernels=facts))
        analyses.caches.parts.add(job.path, parts, job.plan.used_keys)

    def edit(self, uri: str, version: int, *changes: Any) -> None:
        document = {"uri": uri, "version": version}
        params = {"textDocument": document, "contentChanges": list(changes)}
        self.notify("textDocument/didChange", params)

    def save(self, uri: str) -> None:
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close_document(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    # What has been sent

    def sent(self, method: str) -> list[Any]:
        """The parameters of all notifications of one method."""
        return [params for name, params in self.notifications if name == method]

    def sent_requests(self, method: str) -> list[Any]:
        """The parameters of all requests of one method."""
        return [params for name, params in self.requests if name == method]

    def states(self, uri: str) -> list[str]:
        return [each["state"] for each in self.sent("tirlens/status") if each["uri"] == uri]

    def published(self, uri: str) -> list[list[Any]]:
        """All diagnostics that were published for `uri`, in order."""
        found = self.sent("textDocument/publishDiagnostics")
        return [params["diagnostics"] for params in found if params["uri"] == uri]

    def messages(self) -> list[str]:
        """What was said to the user."""
        return [params["message"] for params in self.sent("window/showMessage")]


@functools.cache
def bare_interpreter() -> str:
    """An interpreter without a package: that of the tests may have a framework."""
    folder = Path(tempfile.mkdtemp(prefix="tirlens-bare-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    venv.create(folder, symlinks=True)
    return str(folder / "bin" / "python")


@contextlib.asynccontextmanager
async def session(
    capabilities: Mapping[str, Any] = CAPABILITIES,
    answers: Mapping[str, Any] | None = None,
    *,
    trust_workspace: bool = False,
    **options: Any,
) -> AsyncIterator[ClientHere]:
    """A client whose server is initialized with `options`; it is shut down at the end.

    The interpreter has no framework.
    """
    client = ClientHere(answers or {}, trust_workspace=trust_workspace)
    params = {"processId": None, "rootUri": None, "capabilities": capabilities}
    settings = {"python": bare_interpreter(), **options.get("settings", {})}
    options = {"trusted": True, **options, "settings": settings}
    await client.request("initialize", {**params, "initializationOptions": options})
    yield client
    if client.server.has_session:
        await client.server.session.shut_down()


def run(scenario: Callable[[ClientHere], Coroutine[Any, Any, None]], **options: Any) -> None:
    """Run a scenario with a client; `options` are those of `session`."""

    async def whole() -> None:
        async with session(**options) as client:
            await scenario(client)

    asyncio.run(whole())
