"""Run an app by uvicorn, on the loopback address unless told otherwise."""

import asyncio
import socket
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from hieramas_lib.errors import ConfigError

LOOPBACK = "127.0.0.1"
_END_S = 1
"""Seconds that calls in flight get when the server is stopped."""


class _Protocol(H11Protocol):
    """HTTP whose apps can reach the connection, so that a fault can close it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = self.app_state | {"transport": transport}


def bind(host: str = LOOPBACK, port: int = 0) -> socket.socket:
    """Take a port; 0 is any free one.

    Raises:
        ConfigError: the port is taken, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only for a socket with its protocol named does asyncio switch Nagle's algorithm off, which
    # holds every reply back for 40 ms.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
    except OSError as error:
        taken.close()
        raise ConfigError(f"cannot listen on {host} port {port}: {error}; give another") from None
    return taken


def make_server(app: Starlette) -> Any:
    """Return the uvicorn server of ``app``; ``run(sockets=[...])`` serves until it is stopped."""
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_END_S,
    )
    return uvicorn.Server(config)
