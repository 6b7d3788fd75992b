"""The tables behind a call store, and opening their file safely from several processes."""

import sqlite3
import time
from pathlib import Path

from hieramas_lib.errors import ConfigError

SCHEMA_VERSION = 2
"""Kept in the file; other versions are refused, not guessed at."""

_LOCK_WAIT_S = 60.0

# calls: every finished call; `paid` and `imported` say whether this store's owner paid for it, and
#   whether it came with a tape and was not made here.
# hits: how often an experiment was answered from a stored call.
# unanswered: calls of paid providers that are under way, and those with attempts that left no
#   answer though they may have been billed; `most_usd` is the most that these can have cost.
_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    client TEXT NOT NULL,
    model TEXT NOT NULL,
    role TEXT NOT NULL,
    experiment TEXT NOT NULL,
    request BLOB,
    text TEXT NOT NULL,
    finish_reason TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_usd REAL,
    latency_s REAL NOT NULL,
    created REAL NOT NULL,
    paid INTEGER NOT NULL,
    imported INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS calls_by_key ON calls (key);
CREATE TABLE IF NOT EXISTS hits (
    call INTEGER NOT NULL,
    experiment TEXT NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (call, experiment)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unanswered (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    experiment TEXT NOT NULL,
    most_usd REAL,
    sent REAL NOT NULL,
    process TEXT NOT NULL,
    outcome TEXT NOT NULL
);
PRAGMA user_version = {version};
COMMIT;
"""


def open_database(path: Path | None) -> sqlite3.Connection:
    """Open the file in autocommit mode, with its tables; None is a database in memory.

    Raises:
        ConfigError: the file is no call store, or one of another version of this project.
    """
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        db = sqlite3.connect(
            path or ":memory:", timeout=_LOCK_WAIT_S, isolation_level=None, check_same_thread=False
        )
        # In this order: a file with tables has had its version written with them.
        has_tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
        if has_tables and _version(db) != SCHEMA_VERSION:
            raise ConfigError(
                f"{path}: no call store of this version (found {_version(db)}, expected "
                f"{SCHEMA_VERSION}); move the file away, and a new one is made"
            )
        _switch_to_wal(db)
        db.execute("PRAGMA synchronous=NORMAL")
        if not has_tables:
            db.executescript(_TABLES.format(version=SCHEMA_VERSION))
    except sqlite3.DatabaseError as error:
        raise ConfigError(f"{path}: cannot be used as a call store: {error}") from None
    return db


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


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
