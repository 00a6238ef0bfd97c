"""A query that is run when its rows are wanted, or the rows of a statement that was run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gingham import _result

if TYPE_CHECKING:
    from gingham import _internal
    from gingham._connection import Connection


class Relation(_result.Frames):
    """What `Connection.sql()` gives. Each of its methods runs the query anew; `fetchone()` goes on where it was. A statement that is
    no query was run once, and its rows are kept.

    The frames that a query names are those that the caller's variables held when the relation was made, with the rows of then.

    >>> import gingham
    >>> numbers = gingham.connect().sql("SELECT value AS n FROM generate_series(1, 3)")
    >>> numbers.fetchall()
    [(1,), (2,), (3,)]
    """

    def __init__(
        self,
        connection: "Connection",
        sql: str,
        parameters: Any,
        tables: "_internal.Tables | None",
        result: "_internal.Result | None" = None,
    ) -> None:
        self._connection = connection
        self._sql = sql
        self._parameters = parameters
        self._tables = tables
        self._kept = None if result is None else result.keep()
        self._current: "_internal.Result | None" = None

    def _rows(self) -> "_internal.Result":
        if self._kept is not None:
            return self._kept.result()
        return self._run(self._sql)

    def _run(self, sql: str) -> "_internal.Result":
        return self._connection._core.run(sql, self._parameters, self._tables)

    @property
    def columns(self) -> "list[str]":
        """The names of its columns."""
        return [name for name, _ in self.schema()]

    def schema(self) -> "list[tuple[str, str]]":
        """Name and SQL type of each column; a query is planned, not run.

        >>> import gingham
        >>> gingham.connect().sql("SELECT 1 AS n, 'x' AS word").schema()
        [('n', 'BIGINT'), ('word', 'VARCHAR')]
        """
        if self._kept is not None:
            return [(name, kind) for name, kind, *_ in self._kept.result().columns]
        return self._connection._core.describe(self._sql, self._tables)

    def fetchall(self) -> "list[tuple[Any, ...]]":
        """All rows."""
        return self._rows().fetch()

    def fetchone(self) -> "tuple[Any, ...] | None":
        """The next row, or None at the end."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int = 1) -> "list[tuple[Any, ...]]":
        """The next `size` rows; fewer at the end."""
        if self._current is None:
            self._current = self._rows()
        return self._current.fetch(size)

    def explain(self, *, analyze: bool = False, format: str = "text") -> str:
        """How the query would be run, or with `analyze` how it was run. The format is text, json or html."""
        if format not in ("text", "json", "html"):
            raise ValueError(f"format is text, json or html, not '{format}'")
        options = f"ANALYZE {'on' if analyze else 'off'}, FORMAT {format}"
        rows = self._run(f"EXPLAIN ({options}) {self._sql}").fetch()
        return "\n".join(line for (line,) in rows)

    def __repr__(self) -> str:
        return _result.Preview(self._rows(), _result.SHOWN_ROWS).text()

    def _repr_html_(self) -> str:
        return _result.Preview(self._rows(), _result.SHOWN_ROWS).html()

    def __reduce__(self) -> Any:
        raise TypeError("a relation can't be pickled; fetch its rows first")
