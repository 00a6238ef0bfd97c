"""Cursors of DB-API 2.0, which give their rows as frames, too."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gingham import _result
from gingham._errors import InterfaceError, ProgrammingError

if TYPE_CHECKING:
    from gingham import _internal
    from gingham._connection import Connection

Parameters = "Sequence[Any] | Mapping[str, Any]"


class Cursor(_result.Frames):
    """Runs statements on a connection and gives their rows, those that are left, also as frames.

    Cursors of one connection share its transaction. A cursor is made by `Connection.cursor()` or `Connection.execute()`.

    >>> import gingham
    >>> cursor = gingham.connect().cursor()
    >>> cursor.execute("SELECT 6 * ? AS product", [7]).fetchall()
    [(42,)]
    """

    arraysize: int = 1
    """Rows that `fetchmany()` gives when it is not told."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._result: "_internal.Result | None" = None
        self._rowcount = -1
        self._closed = False

    @property
    def connection(self) -> "Connection":
        """The connection that the cursor is of."""
        return self._connection

    @property
    def description(self) -> "list[tuple[str, str, None, None, int | None, int | None, bool]] | None":
        """For each column: name, SQL type, None, None, precision, scale, and whether NULL may be. None without rows."""
        result = self._result
        if result is None or not result.columns:
            return None
        return [
            (name, kind, None, None, precision, scale, nullable)
            for name, kind, precision, scale, nullable in result.columns
        ]

    @property
    def rowcount(self) -> int:
        """Records that the last statement changed; -1 for one that changes none."""
        return self._rowcount

    @property
    def statusmessage(self) -> "str | None":
        """What the last statement was, with its count: `INSERT 0 3`."""
        return None if self._result is None else self._result.tag

    def execute(self, sql: str, parameters: "Any" = None) -> "Cursor":
        """Runs a statement with values for its `?` or `$1`, as a sequence, or for its `$name`, as a mapping.

        A text of several statements, which takes no values, runs all of them; the rows are the last one's. A name that is no
        table is looked up among the caller's variables.

        >>> import gingham
        >>> cursor = gingham.connect().cursor()
        >>> cursor.execute("SELECT $a + $b AS sum", {"a": 1, "b": 2}).fetchone()
        (3,)
        """
        return self._execute(sql, parameters, sys._getframe(1))

    def _execute(self, sql: str, parameters: Any, caller: Any) -> "Cursor":
        self._live()
        self._drop()
        self._result = self._connection._run(sql, parameters, caller)
        self._rowcount = -1 if self._result.affected is None else self._result.affected
        return self

    def executemany(self, sql: str, seq_of_parameters: "Iterable[Any]") -> "Cursor":
        """Runs a statement once for each list of values: all of them, or none where one fails.

        >>> import gingham
        >>> cursor = gingham.connect().cursor()
        >>> _ = cursor.execute("CREATE TABLE t (n INTEGER, word VARCHAR)")
        >>> cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1, "one"), (2, "two")]).rowcount
        2
        """
        self._live()
        self._drop()
        self._rowcount = self._connection._core.run_many(sql, seq_of_parameters)
        return self

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _rows(self) -> "_internal.Result":
        self._live()
        if self._result is None:
            raise InterfaceError("there are no rows: execute a query first")
        if not self._result.columns:
            raise ProgrammingError("the last statement gave no rows")
        return self._result

    def fetchone(self) -> "tuple[Any, ...] | None":
        """The next row, or None at the end."""
        rows = self._rows().fetch(1)
        return rows[0] if rows else None

    def fetchmany(self, size: "int | None" = None) -> "list[tuple[Any, ...]]":
        """The next `size` rows, or `arraysize`; fewer at the end."""
        return self._rows().fetch(self.arraysize if size is None else size)

    def fetchall(self) -> "list[tuple[Any, ...]]":
        """The rows that are left."""
        return self._rows().fetch()

    def __iter__(self) -> "Iterator[tuple[Any, ...]]":
        return self

    def __next__(self) -> "tuple[Any, ...]":
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    # --- the rest of DB-API -------------------------------------------------------------------------------------------

    def setinputsizes(self, sizes: object) -> None:
        """Does nothing: values need no sizes."""

    def setoutputsize(self, size: int, column: "int | None" = None) -> None:
        """Does nothing: values have no limit."""

    def close(self) -> None:
        """Gives up the rows; twice does no harm."""
        self._drop()
        self._closed = True

    def _drop(self) -> None:
        if self._result is not None:
            self._result.close()
            self._result = None

    def _live(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self._connection._live()

    def __enter__(self) -> "Cursor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a cursor can't be pickled; fetch its rows first")
