"""Gingham: analytical SQL beside your program.

>>> import gingham
>>> gingham.sql("SELECT 6 * 7 AS answer").fetchone()
(42,)

`connect()` opens a database; the functions of this module that need none use a default connection, whose database is gone when
the process ends. The package is a driver of DB-API 2.0.
"""

from __future__ import annotations

import sys as _sys
import threading as _threading
from typing import TYPE_CHECKING, Any

from gingham import _internal
from gingham._appender import Appender
from gingham._connection import Connection, Files
from gingham._cursor import Cursor
from gingham._errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 - DB-API names it so
)
from gingham._relation import Relation
from gingham._settings import Settings
from gingham._types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)

if TYPE_CHECKING:
    import os

__version__ = _internal.version

apilevel = "2.0"
"""The version of DB-API."""
threadsafety = 2
"""Threads may share the module and connections."""
paramstyle = "qmark"
"""Parameters stand as `?`; `$1` and `$name` are taken, too."""


def connect(
    path: "str | os.PathLike[str]" = ":memory:", read_only: bool = False, config: "dict[str, Any] | None" = None
) -> Connection:
    """Opens a database folder, which is made where it is not there, a published database, or a temporary one.

    Args:
        path: the folder, the URL of a published database (`"s3://bucket/shop"`, `"file:///srv/shop"`), or `":memory:"` for a database that is gone when its last connection is closed.
        read_only: never writes, so that other processes may.
        config: settings: `memory_limit` (`"2GB"`), `threads`, and those of `SET gingham.…`.

    Raises:
        OperationalError: another process has the database open for writing.

    >>> import gingham
    >>> connection = gingham.connect(config={"threads": 2})
    >>> connection.execute("SELECT 1").fetchall()
    [(1,)]
    """
    return Connection(path, read_only, config)


def adbc_driver_path() -> str:
    """The path of the library that is the driver of ADBC, for a driver manager.

    >>> import adbc_driver_manager.dbapi, gingham
    >>> with adbc_driver_manager.dbapi.connect(driver=gingham.adbc_driver_path(), autocommit=True) as connection:
    ...     with connection.cursor() as cursor:
    ...         _ = cursor.execute("SELECT 6 * 7 AS answer")
    ...         cursor.fetchone()
    (42,)
    """
    return _internal.__file__


_default: "Connection | None" = None
_default_process = 0
_default_lock = _threading.Lock()


def default_connection() -> Connection:
    """The connection that the functions of this module use; made when it is first asked for, also by a forked child."""
    global _default, _default_process
    import os

    with _default_lock:
        if _default is None or _default.closed or _default_process != os.getpid():
            _default = Connection()
            _default_process = os.getpid()
        return _default


def sql(sql: str, parameters: Any = None) -> "Relation | None":
    """A query of the default connection as a relation; see `Connection.sql`."""
    return default_connection()._sql(sql, parameters, _sys._getframe(1))


def execute(sql: str, parameters: Any = None) -> Cursor:
    """Runs a statement on the default connection; see `Connection.execute`."""
    return default_connection().cursor()._execute(sql, parameters, _sys._getframe(1))


def register(name: str, frame: Any) -> Connection:
    """Lets a frame stand for a table of the default connection; see `Connection.register`."""
    return default_connection().register(name, frame)


def read_csv(path: Files, **options: Any) -> "Relation | None":
    """Delimited text as a relation of the default connection; see `Connection.read_csv`."""
    return default_connection().read_csv(path, **options)


def read_parquet(path: Files, **options: Any) -> "Relation | None":
    """Parquet files as a relation of the default connection; see `Connection.read_parquet`."""
    return default_connection().read_parquet(path, **options)


def read_json(path: Files, **options: Any) -> "Relation | None":
    """Files of JSON objects as a relation of the default connection; see `Connection.read_json`."""
    return default_connection().read_json(path, **options)


__all__ = [
    "BINARY",
    "Appender",
    "Binary",
    "Connection",
    "Cursor",
    "DATETIME",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "ROWID",
    "Relation",
    "STRING",
    "Settings",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "__version__",
    "adbc_driver_path",
    "apilevel",
    "connect",
    "default_connection",
    "execute",
    "paramstyle",
    "read_csv",
    "read_json",
    "read_parquet",
    "register",
    "sql",
    "threadsafety",
]
