"""Connections: statements, frames, transactions."""

from __future__ import annotations

import contextlib
import glob as _glob
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Union

from gingham import _errors, _frames, _internal, _lookup
from gingham._appender import Appender
from gingham._cursor import Cursor
from gingham._errors import InterfaceError, InternalError, ProgrammingError
from gingham._relation import Relation
from gingham._settings import Settings

UNDEFINED_TABLE = "42P01"
# A file, a pattern of files, or a list of such.
Files = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]
_UNITS = {"KB": 10, "KIB": 10, "MB": 20, "MIB": 20, "GB": 30, "GIB": 30, "TB": 40, "TIB": 40}


def _bytes_of(value: "int | str") -> int:
    """A number of bytes, such as `"2GB"`."""
    if isinstance(value, int):
        return value
    text = value.strip().upper()
    for unit, bits in sorted(_UNITS.items(), key=lambda pair: -len(pair[0])):
        if text.endswith(unit):
            return int(float(text.removesuffix(unit)) * (1 << bits))
    return int(text)


def _literal(value: Any) -> str:
    """An option's value as SQL: a truth, a number, a text, a list or a dict of such."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(str(name))}: {_literal(one)}" for name, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, (bool, int, float)):
        return str(value).lower()
    return "'" + str(value).replace("'", "''") + "'"


class Connection:
    """A connection to a database, made by `gingham.connect()`.

    It may be used by several threads, whose statements share its transaction. A block of it closes it at its end:

    >>> import gingham
    >>> with gingham.connect() as connection:
    ...     connection.sql("SELECT 42 AS answer").fetchone()
    (42,)
    """

    # DB-API wants the exceptions as attributes, too.
    Warning = _errors.Warning
    Error = _errors.Error
    InterfaceError = _errors.InterfaceError
    DatabaseError = _errors.DatabaseError
    DataError = _errors.DataError
    OperationalError = _errors.OperationalError
    IntegrityError = _errors.IntegrityError
    InternalError = _errors.InternalError
    ProgrammingError = _errors.ProgrammingError
    NotSupportedError = _errors.NotSupportedError

    def __init__(
        self, path: "str | os.PathLike[str]" = ":memory:", read_only: bool = False, config: "dict[str, Any] | None" = None
    ) -> None:
        settings = dict(config or {})
        limit = settings.pop("memory_limit", None)
        threads = settings.pop("threads", None)
        place = None if os.fspath(path) == ":memory:" else os.fspath(path)
        self._core = _internal.open(
            place, read_only, None if limit is None else _bytes_of(limit), None if threads is None else int(threads)
        )
        self._hidden = _lookup.HiddenFrames()
        for name, value in settings.items():
            setattr(self.settings, name.removeprefix("gingham."), value)

    # --- statements ---------------------------------------------------------------------------------------------------

    def cursor(self) -> Cursor:
        """A cursor of this connection."""
        self._live()
        return Cursor(self)

    def execute(self, sql: str, parameters: Any = None) -> Cursor:
        """Runs a statement by a new cursor, and gives that.

        >>> import gingham
        >>> gingham.connect().execute("SELECT ? || 'ham' AS word", ["ging"]).fetchone()
        ('gingham',)
        """
        return self.cursor()._execute(sql, parameters, sys._getframe(1))

    def executemany(self, sql: str, seq_of_parameters: "Iterable[Any]") -> Cursor:
        """Runs a statement once for each list of values, by a new cursor."""
        return self.cursor().executemany(sql, seq_of_parameters)

    def sql(self, sql: str, parameters: Any = None) -> "Relation | None":
        """A query as a relation, which is run when its rows are wanted.

        Any other statement is run at once, and once: the relation has the rows that it gave, and is None where it gives none. A
        text of several statements runs all of them; the relation is the last one's.

        A name that is no table is looked up among the caller's variables: a frame of pandas or polars, a table of pyarrow, or
        anything with `__arrow_c_stream__`. The frame belongs to this one statement, whatever other threads run meanwhile.

        >>> import gingham
        >>> gingham.connect().sql("SELECT 1 + 1 AS n").fetchone()
        (2,)
        """
        return self._sql(sql, parameters, sys._getframe(1))

    def _sql(self, sql: str, parameters: Any, caller: Any) -> "Relation | None":
        self._live()
        text = self._last_of(sql, caller).strip().removesuffix(";")
        if self._core.is_query(text):
            tables = _lookup.find(self._core.unknown_tables(text), caller)
            self._hidden.look(self._core, text, caller)
            self._core.describe(text, tables)
            return Relation(self, text, parameters, tables)
        result = self._run_one(text, parameters, caller)
        if not result.columns:
            result.close()
            return None
        return Relation(self, text, parameters, None, result)

    def _run(self, sql: str, parameters: Any, caller: Any) -> "_internal.Result":
        """The result of the last statement of a text."""
        self._live()
        if not isinstance(sql, str):
            raise InterfaceError(f"a statement is a str, not {type(sql).__name__}")
        if parameters is not None and len(_internal.Connection.split(sql)) > 1:
            raise ProgrammingError("parameters are for one statement, and the text has several")
        return self._run_one(self._last_of(sql, caller), parameters, caller)

    def _last_of(self, sql: str, caller: Any) -> str:
        """The last statement of a text, of which the others are run."""
        statements = _internal.Connection.split(sql)
        if len(statements) <= 1:
            return sql
        for statement in statements[:-1]:
            self._run_one(statement, None, caller).fetch()
        return statements[-1]

    def _run_one(self, sql: str, parameters: Any, caller: Any) -> "_internal.Result":
        self._hidden.look(self._core, sql, caller)
        try:
            return self._core.run(sql, parameters)
        except ProgrammingError as error:
            if error.sqlstate != UNDEFINED_TABLE:
                raise
            tables = _lookup.find(self._core.unknown_tables(sql), caller)
            if tables is None:
                raise
        return self._core.run(sql, parameters, tables)

    # --- frames and files ---------------------------------------------------------------------------------------------

    def register(self, name: str, frame: Any) -> "Connection":
        """Lets a frame stand for the table `name` until `unregister()`, for all who use this connection. Its values are not copied
        where Arrow has them.

        >>> import gingham, pandas
        >>> connection = gingham.connect()
        >>> connection.register("fruit", pandas.DataFrame({"name": ["apple", "quince"], "price": [0.45, 1.2]}))
        <gingham.Connection>
        >>> connection.sql("SELECT name FROM fruit WHERE price > 1").fetchall()
        [('quince',)]
        """
        _frames.register(self._core, name, frame)
        return self

    def unregister(self, name: str) -> "Connection":
        """Forgets a frame; one that is not there is no error."""
        self._core.unregister(name)
        return self

    def appender(self, table: str) -> Appender:
        """Appends rows and frames to a table."""
        return Appender(self, table)

    def load(self, files: Files, table: str, **options: Any) -> int:
        """Loads CSV, Parquet, Arrow or JSON files into a table, and gives the number of records. A table that is not there is
        made, in the `layout` that is asked for. A text may be a pattern: `"sales/*.parquet"`.

        Options: layout, schema, skip_bad, and those of docs/files.md.
        """
        given = [files] if isinstance(files, str | os.PathLike) else list(files)
        found: list[str] = []
        for one in map(os.fspath, given):
            named = sorted(_glob.glob(one)) if _glob.has_magic(one) and not os.path.exists(one) else [one]
            if not named:
                raise ProgrammingError(f"no file is called like '{one}'")
            found.extend(named)
        rows, skipped = self._core.load(found, table, options)
        for line in skipped:
            print(line, file=sys.stderr)
        return rows

    def read_csv(self, path: Files, **options: Any) -> "Relation | None":
        """Delimited text as a relation, read in place.

        path: a file, a pattern such as `data/*.csv`, or a list of such.
        options: those of docs/files.md by name, such as `delim=";"`, `header=False` or `types={"price": "DECIMAL(9,2)"}`.
        """
        return self._read("read_csv", path, options)

    def read_parquet(self, path: Files, **options: Any) -> "Relation | None":
        """Parquet files as a relation, read in place: a file, a folder of them, a pattern or a list."""
        return self._read("read_parquet", path, options)

    def read_json(self, path: Files, **options: Any) -> "Relation | None":
        """Files of JSON objects as a relation, read in place: a file, a pattern or a list."""
        return self._read("read_json", path, options)

    def _read(self, function: str, path: Files, options: "dict[str, Any]") -> "Relation | None":
        given = path if isinstance(path, (list, tuple)) else [path]
        files = [os.fspath(one) for one in given]
        arguments = [_literal(files if isinstance(path, (list, tuple)) else files[0])]
        arguments += [f"{name} := {_literal(value)}" for name, value in options.items() if value is not None]
        return self._sql(f"SELECT * FROM {function}({', '.join(arguments)})", None, None)

    # --- transactions -------------------------------------------------------------------------------------------------

    def begin(self) -> "Connection":
        """Begins a transaction; without one, each statement is a transaction of its own."""
        if self._core.transaction() != "none":
            # SQL's BEGIN would warn only, and the block that is about to begin would end somebody else's transaction.
            failure = InternalError("a transaction is open already; commit or roll it back first")
            failure.sqlstate = "25001"
            raise failure
        self._core.run("BEGIN")
        return self

    def commit(self) -> None:
        """Commits the transaction, where there is one."""
        self._live()
        if self._core.transaction() != "none":
            self._core.run("COMMIT")

    def rollback(self) -> None:
        """Rolls the transaction back, where there is one."""
        self._live()
        if self._core.transaction() != "none":
            self._core.run("ROLLBACK")

    @contextlib.contextmanager
    def transaction(self) -> "Iterator[Connection]":
        """A block that is a transaction: committed at its end, rolled back when it ends in an error.

        >>> import gingham
        >>> connection = gingham.connect()
        >>> with connection.transaction():
        ...     _ = connection.execute("CREATE TABLE t (n INTEGER)")
        """
        self.begin()
        try:
            yield self
        except BaseException:
            self.rollback()
            raise
        self.commit()

    @property
    def in_transaction(self) -> bool:
        """Whether it is between BEGIN and COMMIT."""
        return self._core.transaction() != "none"

    # --- the rest -----------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The settings, as attributes."""
        return Settings(self)

    @property
    def on_notice(self) -> "Callable[[str, str, str], object] | None":
        """What is called with each notice of a statement: its severity, its SQLSTATE and its text. Without one, those that are
        warnings are Python's warnings, and the others are not told.

        >>> import gingham
        >>> connection = gingham.connect()
        >>> connection.on_notice = lambda severity, sqlstate, text: print(severity, sqlstate, text)
        >>> _ = connection.execute("COMMIT")
        WARNING 25P01 there is no transaction in progress
        """
        return self._core.on_notice

    @on_notice.setter
    def on_notice(self, handler: "Callable[[str, str, str], object] | None") -> None:
        if handler is not None and not callable(handler):
            raise TypeError(f"on_notice is something that can be called, not {handler!r}")
        self._core.on_notice = handler

    def progress(self) -> "float | None":
        """How far the statement is that was started last, from 0 to 1: of another thread, whose bar it is for. None when nothing
        runs that reads, loads or rewrites a table.

        >>> import gingham
        >>> gingham.connect().progress() is None
        True
        """
        return self._core.progress()

    def interrupt(self) -> None:
        """Cancels what the connection runs, from another thread."""
        self._core.interrupt()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._core.closed

    def close(self) -> None:
        """Closes the connection, and rolls back its transaction; twice does no harm."""
        self._core.close()

    def _live(self) -> None:
        if self._core.closed:
            raise InterfaceError("the connection is closed")

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if not self.closed:
            if failed is None:
                self.commit()
            self.close()

    def __repr__(self) -> str:
        return "<gingham.Connection, closed>" if self.closed else "<gingham.Connection>"

    def __reduce__(self) -> Any:
        raise TypeError("a connection can't be pickled; open the database again where it is needed")
