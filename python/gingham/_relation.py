"""A query that is run when its rows are wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gingham import _result

if TYPE_CHECKING:
    from gingham import _internal
    from gingham._connection import Connection


class Relation:
    """A query of `Connection.sql()`. Each of its methods runs it anew; `fetchone()` goes on where it was.

    The frames that it names are those that the caller's variables held when the relation was made.

    >>> import gingham
    >>> numbers = gingham.connect().sql("SELECT value AS n FROM generate_series(1, 3)")
    >>> numbers.fetchall()
    [(1,), (2,), (3,)]
    """

    def __init__(self, connection: "Connection", sql: str, parameters: Any, frames: "dict[str, Any]") -> None:
        self._connection = connection
        self._sql = sql
        self._parameters = parameters
        self._frames = frames
        self._current: "_internal.Result | None" = None

    def _run(self) -> "_internal.Result":
        return self._connection._run_with(self._sql, self._parameters, self._frames)

    @property
    def columns(self) -> "list[str]":
        """The names of its columns."""
        return [name for name, _ in self.schema()]

    def schema(self) -> "list[tuple[str, str]]":
        """Name and SQL type of each column; the query is planned, not run.

        >>> import gingham
        >>> gingham.connect().sql("SELECT 1 AS n, 'x' AS word").schema()
        [('n', 'BIGINT'), ('word', 'VARCHAR')]
        """
        return self._connection._describe(self._sql, self._frames)

    def fetchall(self) -> "list[tuple[Any, ...]]":
        """All rows."""
        return self._run().fetch()

    def fetchone(self) -> "tuple[Any, ...] | None":
        """The next row, or None at the end."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int = 1) -> "list[tuple[Any, ...]]":
        """The next `size` rows; fewer at the end."""
        if self._current is None:
            self._current = self._run()
        return self._current.fetch(size)

    def df(self) -> Any:
        """All rows as a frame of pandas: integers with NULL as Int64, decimals as Decimal."""
        return _result.to_pandas(self._run())

    def arrow(self) -> Any:
        """All rows as a table of pyarrow."""
        return _result.to_arrow(self._run())

    def reader(self) -> Any:
        """The rows as a reader of pyarrow, which has a few batches in memory at a time."""
        return _result.to_reader(self._run())

    def pl(self) -> Any:
        """All rows as a frame of polars."""
        return _result.to_polars(self._run())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._run().stream(False, requested_schema)

    def explain(self) -> str:
        """How the query would be run."""
        rows = self._connection._run_with(f"EXPLAIN {self._sql}", self._parameters, self._frames).fetch()
        return "\n".join(f"{kind}:\n{plan}" for kind, plan in rows)

    def show(self, rows: int = _result.SHOWN_ROWS) -> None:
        """Prints the first rows.

        >>> import gingham
        >>> gingham.connect().sql("SELECT 1 AS n, 'one' AS word").show()
        ┌────────┬─────────┐
        │      n │ word    │
        │ BIGINT │ VARCHAR │
        ├────────┼─────────┤
        │      1 │ one     │
        └────────┴─────────┘
        1 row, 2 columns
        """
        print(_result.Preview(self._run(), rows).text())

    def __repr__(self) -> str:
        return _result.Preview(self._run(), _result.SHOWN_ROWS).text()

    def _repr_html_(self) -> str:
        return _result.Preview(self._run(), _result.SHOWN_ROWS).html()

    def __reduce__(self) -> Any:
        raise TypeError("a relation can't be pickled; fetch its rows first")
