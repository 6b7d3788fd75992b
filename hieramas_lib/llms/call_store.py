"""Every finished call on disk: the response cache, the call log and the replay tape in one."""

import json
import sqlite3
import threading
import time
import zlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any, Literal

from hieramas_lib.errors import ConfigError, ReplayMiss
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.request_difference import differs, nearest

Mode = Literal["live", "cache", "replay"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    client TEXT NOT NULL,
    model TEXT NOT NULL,
    request BLOB,
    text TEXT NOT NULL,
    finish_reason TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_usd REAL,
    latency_s REAL NOT NULL,
    created REAL NOT NULL,
    paid INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS calls_by_key ON calls (key);
"""
# The newest answer wins, so that a tape made in mode "live" replays what was seen last.
_GET = """
SELECT text, finish_reason, prompt_tokens, completion_tokens, cost_usd, latency_s
FROM calls WHERE key = ? ORDER BY id DESC LIMIT 1
"""
_PUT = f"INSERT INTO calls VALUES (NULL{', ?' * 13})"
_LOCK_WAIT_S = 60.0
_COMPARED_CALLS = 500


@dataclass(frozen=True, slots=True)
class Totals:
    """What was used through one store since it was opened.

    Attributes:
        calls: Calls used, cached ones included.
        made: Calls that went out to a client.
        paid_usd: US dollars paid now to a provider; simulated and local calls pay nothing.
        as_if_usd: US dollars the calls used would have cost without a cache.
        unpriced: Calls used whose price is unknown: both sums are then "at least".
        prompt_tokens, completion_tokens: Tokens of the calls used.
    """

    calls: int = 0
    made: int = 0
    paid_usd: float = 0.0
    as_if_usd: float = 0.0
    unpriced: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class CallStore:
    """A SQLite table of finished calls, safe for several processes and after a kill.

    Every call is written before it is used. Truncated and refused answers are kept with their
    ``finish_reason``, as they are paid for; errors are not kept. A request holds no key by
    construction, so the file can be handed on.

    Modes: ``live`` never reads; ``cache`` reads, and calls and writes on a miss; ``replay``
    only reads.

    Args:
        path: The file, made if missing; None keeps the calls in memory.
        mode: See above.
        keep_requests: Whether the request text is kept. Without it a replay miss cannot say
            what differs; the simulated pool's calls are then cheaper to store.

    Raises:
        ConfigError: the mode is unknown, the file is no call store, or it is missing in
            mode ``replay``.
    """

    def __init__(
        self, path: Path | None = None, mode: Mode = "cache", *, keep_requests: bool = True
    ) -> None:
        if mode not in ("live", "cache", "replay"):
            raise ConfigError(f"mode: {mode!r} is not one of live, cache, replay")
        if mode == "replay" and path is not None and not path.exists():
            raise ConfigError(f"{path}: no call store to replay; run once in mode 'cache'")
        self.path = path
        self.mode: Mode = mode
        self.keep_requests = keep_requests
        self._lock = threading.Lock()
        self._made = self._calls = self._unpriced = 0
        self._prompt_tokens = self._completion_tokens = 0
        # Kept one by one: fsum gives the same total in whatever order the calls ended.
        self._paid, self._as_if = array("d"), array("d")
        self._db = _open(path)

    @property
    def reads(self) -> bool:
        """Whether answers are looked up before a call."""
        return self.mode != "live"

    def get(self, key: str) -> Completion | None:
        """Return the stored answer and count it as used; None if there is none."""
        with self._lock:
            row = self._db.execute(_GET, (key,)).fetchone()
            if row is None:
                return None
            text, finish, read, written, cost, latency = row
            completion = Completion(text, finish, read, written, cost, latency, True, key)
            self._note_use(completion)
        return completion

    def put(
        self,
        completion: Completion,
        *,
        name: str,
        client: str,
        model: str,
        request: str,
        paid: bool,
    ) -> None:
        """Write a finished call and count it as used.

        Args:
            completion: The answer, with its key and price.
            name: The pool's name for the LLM.
            client: How it was reached.
            model: The provider's id.
            request: ``ChatRequest.canonical``.
            paid: Whether a provider was paid for it.
        """
        blob = zlib.compress(_encode(request), 1) if self.keep_requests else None
        row = (
            completion.request_key, name, client, model, blob, completion.text,
            completion.finish_reason, completion.prompt_tokens, completion.completion_tokens,
            completion.cost_usd, completion.latency_s, time.time(), paid,
        )  # fmt: skip
        with self._lock:
            self._db.execute(_PUT, row)
            self._note_use(completion)
            self._made += 1
            if paid and completion.cost_usd is not None:
                self._paid.append(completion.cost_usd)

    def totals(self) -> Totals:
        """Sum what was used since the store was opened here."""
        with self._lock:
            return Totals(
                calls=self._calls,
                made=self._made,
                paid_usd=fsum(self._paid),
                as_if_usd=fsum(self._as_if),
                unpriced=self._unpriced,
                prompt_tokens=self._prompt_tokens,
                completion_tokens=self._completion_tokens,
            )

    def miss(self, request: ChatRequest, canonical: str) -> ReplayMiss:
        """Return the error for a request that is not on the tape, naming what differs."""
        asked = json.loads(canonical)
        model = asked["model"]
        line = request.messages[-1].content.strip().split("\n", 1)[0] if request.messages else ""
        message = f"no stored call of {request.model} ({model}) for {line[:80]!r}"
        closest = nearest(asked, self._requests_of(model))
        if closest is None:
            return ReplayMiss(f"{message}; the tape has no request of this model to compare with")
        return ReplayMiss(
            f"{message}; the nearest stored call differs in {differs(asked, closest)}"
        )

    def origin_of(self, client: str, model: str) -> str | None:
        """Return the origin of the newest stored call of ``model``; None if the tape has none."""
        for request in self._requests_of(model):
            if request["client"] == client and request.get("origin"):
                return str(request["origin"])
        return None

    def count(self) -> int:
        """Return the number of stored calls."""
        with self._lock:
            return int(self._db.execute("SELECT count(*) FROM calls").fetchone()[0])

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        with self._lock:
            self._db.close()

    def _note_use(self, completion: Completion) -> None:
        self._calls += 1
        self._prompt_tokens += completion.prompt_tokens
        self._completion_tokens += completion.completion_tokens
        if completion.cost_usd is None:
            self._unpriced += 1
        else:
            self._as_if.append(completion.cost_usd)

    def _requests_of(self, model: str) -> Iterable[dict[str, Any]]:
        query = (
            "SELECT request FROM calls WHERE model = ? AND request NOT NULL "
            f"ORDER BY id DESC LIMIT {_COMPARED_CALLS}"
        )
        with self._lock:
            rows = self._db.execute(query, (model,)).fetchall()
        return (json.loads(_decode(zlib.decompress(blob))) for (blob,) in rows)


def _open(path: Path | None) -> sqlite3.Connection:
    """Open the database in autocommit mode and make its table."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        db = sqlite3.connect(
            path or ":memory:", timeout=_LOCK_WAIT_S, isolation_level=None, check_same_thread=False
        )
        _switch_to_wal(db)
        db.execute("PRAGMA synchronous=NORMAL")
        db.executescript(_SCHEMA)
    except sqlite3.DatabaseError as error:
        raise ConfigError(f"{path}: cannot be used as a call store: {error}") from None
    return db


def _switch_to_wal(db: sqlite3.Connection) -> None:
    """Switch to WAL; SQLite does not wait by itself when several processes switch at once."""
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode(errors="surrogatepass")
