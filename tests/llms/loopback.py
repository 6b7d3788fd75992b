"""A real HTTP server on the loopback address that plays a script of replies, good and bad."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What the server does with one request.

    ``drop`` closes the connection without an answer; ``cut`` promises more bytes than it sends;
    ``wait_s`` passes before the answer; ``drip_s`` passes between any two bytes of the body.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    drop: bool = False
    cut: bool = False
    wait_s: float = 0.0
    drip_s: float = 0.0

    @property
    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Loopback:
    """The running server: its address, and what has been asked of it."""

    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


def _handler(server: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            server.asked.append(json.loads(self.rfile.read(length)))
            server.headers.append({k.lower(): v for k, v in self.headers.items()})
            server.paths.append(self.path)
            # The last reply of the script is repeated.
            reply = server.replies[min(len(server.asked), len(server.replies)) - 1]
            time.sleep(reply.wait_s)
            self.close_connection = True
            if reply.drop:
                return
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(reply.data) + 100 * reply.cut))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # The client hangs up on a slow body, as it should.
                self._send(reply)

        def _send(self, reply: Reply) -> None:
            if not reply.drip_s:
                self.wfile.write(reply.data)
                return
            for byte in reply.data:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(reply.drip_s)

        def log_message(self, *args: object) -> None:
            pass

    return Handler


@contextmanager
def serve(*replies: Reply) -> Iterator[Loopback]:
    """Run the server while the block runs."""
    state = Loopback(replies=list(replies))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
