"""Runs an app by uvicorn in a thread of this process."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.applications import Starlette

from hieramas_lib.llms.server_uvicorn import LOOPBACK, bind, make_server


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """Serve ``app`` on a free loopback port while the block runs; yields ``http://host:port``.

    The OpenAI SDK's base URL is that and ``/v1``, Anthropic's is that as it stands.
    """
    server, socket = make_server(app), bind()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.005)
        yield f"http://{LOOPBACK}:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
