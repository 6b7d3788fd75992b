"""Every finished call on disk: the response cache, the call log and the replay tape in one."""

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from hieramas_lib.errors import ConfigError, ReplayMiss
from hieramas_lib.llms.call_schema import open_database
from hieramas_lib.llms.call_totals import Tally, Totals
from hieramas_lib.llms.chat import ChatRequest, Completion
from hieramas_lib.llms.layout import role_of
from hieramas_lib.llms.processes import this_process
from hieramas_lib.llms.request_difference import difference

Mode = Literal["live", "cache", "replay"]

# The newest answer wins, so that a tape made in mode "live" replays what was seen last.
_GET = """
SELECT id, text, finish_reason, prompt_tokens, completion_tokens, cost_usd, latency_s
FROM calls WHERE key = ? ORDER BY id DESC LIMIT 1
"""
_HIT = "INSERT INTO hits VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET times = times + 1"
_PUT = f"INSERT INTO calls VALUES (NULL{', ?' * 15}, 0)"
_SEND = f"INSERT INTO unanswered VALUES (NULL{', ?' * 7}, '')"
# Requests of the same model and role come first, as the nearest one is likely among them.
_REQUESTS = """
SELECT request FROM calls WHERE request NOT NULL
ORDER BY model = ? DESC, role = ? DESC, id DESC LIMIT 500
"""
_NEWEST = """
SELECT request FROM calls WHERE client = ? AND model = ? AND request NOT NULL
ORDER BY id DESC LIMIT 500
"""


class CallStore:
    """A SQLite table of finished calls, safe for several processes and after a kill.

    Every call is written before it is used. Truncated and refused answers are kept with their
    ``finish_reason``, as they are paid for; errors are not kept. A request holds no key by
    construction, so the file can be handed on.

    A call of a paid provider is marked before it goes out (:meth:`send`), and the mark goes with
    the answer's write. So a call that may have been billed and left no answer can be told,
    whatever happened to its process.

    Modes: ``live`` never reads; ``cache`` reads, and calls and writes on a miss; ``replay``
    only reads, and notes what was used.

    Args:
        path: The file, made if missing; None keeps the calls in memory.
        mode: See above.
        keep_requests: Whether the request text is kept. Without it a replay miss cannot say
            what differs; the simulated pool's calls are then cheaper to store.
        experiment: What the calls are made for; ``experiment`` may be set anew at any time.

    Raises:
        ConfigError: the mode is unknown, the file is no call store or one of another version,
            or it is missing in mode ``replay``.
    """

    def __init__(
        self,
        path: Path | None = None,
        mode: Mode = "cache",
        *,
        keep_requests: bool = True,
        experiment: str = "",
    ) -> None:
        if mode not in ("live", "cache", "replay"):
            raise ConfigError(f"mode: {mode!r} is not one of live, cache, replay")
        if mode == "replay" and path is not None and not path.exists():
            raise ConfigError(f"{path}: no call store to replay; run once in mode 'cache'")
        self.path = path
        self.mode: Mode = mode
        self.keep_requests = keep_requests
        self.experiment = experiment
        self._lock = threading.Lock()
        self._tally = Tally()
        self._db = open_database(path)

    @property
    def reads(self) -> bool:
        """Whether answers are looked up before a call."""
        return self.mode != "live"

    def get(self, key: str) -> Completion | None:
        """Return the stored answer and note that it was used; None if there is none."""
        with self._lock:
            row = self._db.execute(_GET, (key,)).fetchone()
            if row is None:
                self._tally.misses += 1
                return None
            call, text, finish, read, written, cost, latency = row
            self._db.execute(_HIT, (call, self.experiment))
            completion = Completion(text, finish, read, written, cost, latency, True, key)
            self._tally.add(completion, made=False, paid=False)
        return completion

    def send(self, key: str, *, name: str, role: str, most_usd: float | None) -> int:
        """Mark a call that is about to go out to a paid provider; return the mark.

        Args:
            key: Of the request.
            name: The pool's name for the LLM.
            role: Who is asked; empty if the prompt names no role.
            most_usd: The most that it can cost in US dollars; None if unknown.
        """
        row = (key, name, role, self.experiment, most_usd, time.time(), this_process())
        with self._lock:
            return int(self._db.execute(_SEND, row).lastrowid or 0)

    def put(
        self,
        completion: Completion,
        *,
        name: str,
        client: str,
        model: str,
        request: str,
        paid: bool,
        role: str = "",
        mark: int | None = None,
        lost_usd: float | None = 0.0,
    ) -> None:
        """Write a finished call and note that it was used.

        Args:
            completion: The answer, with its key and price.
            name: The pool's name for the LLM.
            client: How it was reached.
            model: The provider's id.
            request: ``ChatRequest.canonical``.
            paid: Whether a provider was paid for it.
            role: Who was asked; empty if the prompt names no role.
            mark: What :meth:`send` returned; ends in the same transaction.
            lost_usd: As in :meth:`fail`: the most that attempts before the answer can have cost.
        """
        row = (
            completion.request_key, name, client, model, role, self.experiment,
            encode(request) if self.keep_requests else None, completion.text,
            completion.finish_reason, completion.prompt_tokens, completion.completion_tokens,
            completion.cost_usd, completion.latency_s, time.time(), paid,
        )  # fmt: skip
        if mark is None:
            with self._lock:
                self._db.execute(_PUT, row)
        else:
            with self.transaction() as db:
                db.execute(_PUT, row)
                _end(db, mark, "answered at a later attempt", lost_usd)
        with self._lock:
            self._tally.add(completion, made=True, paid=paid)

    def fail(self, mark: int, outcome: str, lost_usd: float | None) -> None:
        """End a marked call that left no answer.

        Args:
            mark: What :meth:`send` returned.
            outcome: How it ended.
            lost_usd: The most that it can have cost in US dollars; None if unknown. At 0 there
                is nothing to keep in mind, and the mark is removed.
        """
        with self._lock:
            _end(self._db, mark, outcome, lost_usd)

    def totals(self) -> Totals:
        """Sum what was used since the store was opened here."""
        with self._lock:
            return self._tally.totals()

    def miss(self, request: ChatRequest, canonical: str) -> ReplayMiss:
        """Return the error for a request that is not on the tape, naming what differs."""
        line = request.messages[-1].content.strip().split("\n", 1)[0] if request.messages else ""
        return ReplayMiss(
            f"no stored call of {request.model} ({json.loads(canonical)['model']}) for "
            f"{line[:80]!r}; {self.explain_miss(request, canonical)}"
        )

    def explain_miss(self, request: ChatRequest, canonical: str) -> str:
        """Say which stored request is nearest to ``request``, and which fields differ.

        Args:
            request: What is asked.
            canonical: Its :meth:`ChatRequest.canonical` text, which its key is made from.
        """
        asked = json.loads(canonical)
        rows = self.rows(_REQUESTS, (asked["model"], role_of(request)))
        return difference(asked, [json.loads(decode(blob)) for (blob,) in rows])

    def origin_of(self, client: str, model: str) -> str | None:
        """Return the origin of the newest stored call of ``model``; None if the tape has none."""
        for (blob,) in self.rows(_NEWEST, (client, model)):
            if origin := json.loads(decode(blob))["origin"]:
                return str(origin)
        return None

    def count(self) -> int:
        """Return the number of stored calls."""
        return int(self.rows("SELECT count(*) FROM calls")[0][0])

    def rows(self, query: str, values: Iterable[Any] = ()) -> list[Any]:
        """Return what a query finds; for the modules that read the tables of ``call_schema``."""
        with self._lock:
            return self._db.execute(query, tuple(values)).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the database for writes that are kept together, or not at all."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        with self._lock:
            self._db.close()


def _end(db: sqlite3.Connection, mark: int, outcome: str, lost_usd: float | None) -> None:
    if lost_usd == 0:
        db.execute("DELETE FROM unanswered WHERE id = ?", (mark,))
    else:
        values = (outcome, lost_usd, mark)
        db.execute("UPDATE unanswered SET outcome = ?, most_usd = ? WHERE id = ?", values)


def encode(request: str) -> bytes:
    """Return a request's canonical text as it is kept: as bytes, as it may hold lone surrogates.

    Not compressed: that would take longer than all the rest of the write.
    """
    return request.encode(errors="surrogatepass")


def decode(kept: bytes) -> str:
    """Return the text that :func:`encode` was given."""
    return kept.decode(errors="surrogatepass")
