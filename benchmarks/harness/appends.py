"""DuckDB's side of benchmarks/appends.py: appends.py DATABASE WAY BATCHES, run by the virtual environment's Python. Records and
output are those of crates/lab/examples/appends.rs."""

import json
import os
import sys
import time

import duckdb
import pyarrow

ROWS = 1000
FIRST_DAY = 9131


def batch(start):
    """Records from a number on."""
    rows = range(start, start + ROWS)
    columns = {
        "id": pyarrow.array(rows, pyarrow.int64()),
        "a": pyarrow.array([row * 7 % 1000 for row in rows], pyarrow.int64()),
        "price": pyarrow.array([row / 8 for row in rows], pyarrow.float64()),
        "day": pyarrow.array([FIRST_DAY + row % 1000 for row in rows], pyarrow.int32()).cast(pyarrow.date32()),
        "label": pyarrow.array([f"label {row % 100}" for row in rows], pyarrow.string()),
    }
    return pyarrow.table(columns)


def statement(start):
    """The same as an INSERT."""
    rows = (
        f"({row}, {row * 7 % 1000}, {row / 8!r}, DATE '1995-{row % 12 + 1:02}-{row % 28 + 1:02}', 'label {row % 100}')"
        for row in range(start, start + ROWS)
    )
    return "INSERT INTO t VALUES " + ", ".join(rows)


def append(connection, records):
    """Puts a batch into the table."""
    connection.register("records", records)
    connection.execute("INSERT INTO t SELECT * FROM records")
    connection.unregister("records")


def measure(connection, way, batches):
    """Milliseconds of each batch, or of all of them."""
    starts = range(0, batches * ROWS, ROWS)
    if way == "one":
        records = [batch(start) for start in starts]
        begin = time.perf_counter()
        connection.execute("BEGIN")
        for own in records:
            append(connection, own)
        connection.execute("COMMIT")
        return [(time.perf_counter() - begin) * 1000]
    times = []
    for start in starts:
        own = statement(start) if way == "text" else batch(start)
        begin = time.perf_counter()
        if way == "text":
            connection.execute(own)
        else:
            append(connection, own)
        times.append((time.perf_counter() - begin) * 1000)
    return times


def main():
    folder, way, batches = sys.argv[1:4]
    os.makedirs(folder)
    connection = duckdb.connect(os.path.join(folder, "appends.duckdb"))
    connection.execute("CREATE TABLE t (id BIGINT NOT NULL, a BIGINT, price DOUBLE, day DATE, label VARCHAR)")
    milliseconds = measure(connection, way, int(batches))
    rows, total, prices = connection.execute("SELECT count(*), sum(id + a), sum(price) FROM t").fetchone()
    print(json.dumps({"milliseconds": milliseconds, "rows": rows, "sum": int(total), "prices": prices}))


if __name__ == "__main__":
    main()
