"""What a statement gave, in the forms that analysts want: shared by cursors and relations."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gingham import _frames
from gingham._types import NUMBER

if TYPE_CHECKING:
    from gingham import _internal

# Rows that a notebook or a terminal shows.
SHOWN_ROWS = 40
# Characters of a value that are shown.
SHOWN_LETTERS = 60


class _Stream:
    """A stream of Arrow that can be read once."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._capsule


def _batches(result: "_internal.Result") -> "Iterator[Any]":
    while (batch := result.batch()) is not None:
        yield batch


class Frames:
    """Rows as frames: what a cursor and a relation have in common."""

    def _rows(self) -> "_internal.Result":
        """The result whose rows are wanted."""
        raise NotImplementedError

    def df(self) -> Any:
        """The rows as a frame of pandas: integers with NULL as Int64, decimals as Decimal, intervals as timedelta64, whose months have
        30 days."""
        return _frames.frame_of(self._rows().numpy())

    def arrow(self) -> Any:
        """The rows as a table of pyarrow."""
        import pyarrow

        # All are there before pyarrow reads them: by its stream it would not hear a Ctrl-C, nor tell of one.
        return pyarrow.table(_Stream(self._rows().collected(views=False)))

    def reader(self) -> Any:
        """The rows as a reader of pyarrow, which has a few batches in memory at a time."""
        import pyarrow

        # Batches that Python gives, so that a Ctrl-C and errors come through pyarrow as they are.
        result = self._rows()
        return pyarrow.RecordBatchReader.from_batches(result.arrow_schema(), _batches(result))

    def pl(self) -> Any:
        """The rows as a frame of polars: intervals as durations, whose months have 30 days."""
        import polars

        return polars.DataFrame(_Stream(self._rows().collected(views=True, durations=True)))

    def show(self, rows: int = SHOWN_ROWS) -> None:
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
        print(Preview(self._rows(), rows).text())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows().stream(False, requested_schema)


class Preview:
    """The first rows of a result as text."""

    def __init__(self, result: "_internal.Result", most: int) -> None:
        self.names = [name for name, *_ in result.columns]
        self.types = [kind for _, kind, *_ in result.columns]
        rows = result.texts(most + 1)
        self.more = len(rows) > most
        self.rows = [["NULL" if text is None else text for text in row] for row in rows[:most]]
        self._numeric = [kind == NUMBER and kind != "BOOLEAN" for kind in self.types]
        result.close()

    def _summary(self) -> str:
        count = len(self.rows)
        rows = f"the first {count} rows" if self.more else f"{count} row{'' if count == 1 else 's'}"
        columns = len(self.names)
        return f"{rows}, {columns} column{'' if columns == 1 else 's'}"

    def text(self) -> str:
        """As a table for a terminal."""
        rows = [self.names, self.types, *[[_cut(text) for text in row] for row in self.rows]]
        widths = [max(len(row[at]) for row in rows) for at in range(len(self.names))]
        aligned = [
            "│ "
            + " │ ".join(
                text.rjust(width) if numeric else text.ljust(width)
                for text, width, numeric in zip(row, widths, self._numeric, strict=True)
            )
            + " │"
            for row in rows
        ]
        line = ["─" * (width + 2) for width in widths]
        top, middle, bottom = ("┌" + "┬".join(line) + "┐", "├" + "┼".join(line) + "┤", "└" + "┴".join(line) + "┘")
        return "\n".join([top, *aligned[:2], middle, *aligned[2:], bottom, self._summary()])

    def html(self) -> str:
        """As a table for a notebook."""

        def row(cells: "list[str]", tag: str) -> str:
            aligns = ["right" if numeric else "left" for numeric in self._numeric]
            return (
                "<tr>"
                + "".join(
                    f'<{tag} style="text-align: {align}">{html.escape(_cut(cell))}</{tag}>'
                    for cell, align in zip(cells, aligns, strict=True)
                )
                + "</tr>"
            )

        head = row(self.names, "th") + row(self.types, "th")
        body = "".join(row(cells, "td") for cells in self.rows)
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{html.escape(self._summary())}</p>"


def _cut(text: str) -> str:
    text = text.replace("\n", "\\n")
    return text if len(text) <= SHOWN_LETTERS else text[: SHOWN_LETTERS - 1] + "…"
