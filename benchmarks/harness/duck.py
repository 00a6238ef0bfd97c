"""A child process: DuckDB over Parquet files, driven as peer.py is.

duck.py DATABASE THREADS FILE…, run by the virtual environment's Python; DATABASE is a file, or `:memory:`. Each file becomes a table of its name.
"""

import json
import pathlib
import sys
import time

import duckdb

from peer import as_text


def main():
    database, threads, *files = sys.argv[1:]
    connection = duckdb.connect(database)
    connection.execute(f"SET threads = {threads}")
    for file in files:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {pathlib.Path(file).stem} AS SELECT * FROM read_parquet('{file}')")
    if database != ":memory:":
        connection.execute("CHECKPOINT")
    for line in sys.stdin:
        request = json.loads(line)
        try:
            start = time.perf_counter()
            rows = connection.execute(request["sql"]).fetchall()
            reply = {"seconds": time.perf_counter() - start, "rows": len(rows)}
            if request["do"] == "answer":
                reply["rows"] = [[as_text(value) for value in row] for row in rows]
        except duckdb.Error as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
