"""A child process: DuckDB, HyPer or Polars over Parquet files, driven as peer.py is.

tables.py ENGINE PLACE THREADS FILE…, run by the virtual environment's Python. Each file becomes a table of its name. ENGINE is one of

duckdb-memory   tables in memory; PLACE is unused, as of Polars
duckdb-file     the database file PLACE
hyper           the .hyper file PLACE, with a server process of its own
polars          frames in memory, by its SQL
"""

import os
import pathlib
import sys
import time

from peer import Hyper, as_text, serve


class DuckDB:
    """Tables in memory, or in a file, which are loaded once."""

    def __init__(self, place, threads, files):
        import duckdb

        self.connection = duckdb.connect(place)
        self.connection.execute(f"SET threads = {threads}")
        for table, file in files.items():
            self.connection.execute(f"CREATE TABLE IF NOT EXISTS {table} AS SELECT * FROM read_parquet('{file}')")
        if place != ":memory:":
            self.connection.execute("CHECKPOINT")

    def rows(self, sql):
        """All rows of a query."""
        return self.connection.execute(sql).fetchall()

    def close(self):
        """Ends it."""
        self.connection.close()


class HyperTables(Hyper):
    """Tables of a .hyper file."""

    def __init__(self, place, threads, files):
        super().__init__(None, place, threads, None)
        self.connect(self.api.CreateMode.CREATE_AND_REPLACE)
        for table, file in files.items():
            self.connection.execute_command(f"CREATE TABLE {table} AS (SELECT * FROM external('{file}', format => 'parquet'))")

    def rows(self, sql):
        """All rows of a query."""
        return self.connection.execute_list_query(sql)


class Polars:
    """Frames in memory."""

    def __init__(self, _place, threads, files):
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars

        self.context = polars.SQLContext({table: polars.read_parquet(file) for table, file in files.items()})

    def rows(self, sql):
        """All rows of a query."""
        return self.context.execute(sql, eager=True).rows()

    def close(self):
        """There is nothing to end."""


ENGINES = {
    "duckdb-memory": lambda _place, *others: DuckDB(":memory:", *others),
    "duckdb-file": DuckDB,
    "hyper": HyperTables,
    "polars": Polars,
}


def respond(engine, request):
    """Seconds and rows of a query."""
    start = time.perf_counter()
    rows = engine.rows(request["sql"])
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "rows": [[as_text(value) for value in row] for row in rows] if request["do"] == "answer" else len(rows)}


def main():
    name, place, threads, *files = sys.argv[1:]
    engine = ENGINES[name](place, int(threads), {pathlib.Path(file).stem: file for file in files})
    serve(engine, respond)


if __name__ == "__main__":
    main()
