"""Rows of a frame come in the frame's order where nothing in the query reorders them."""

import numpy
import pandas
import polars
import pyarrow
import pytest

import gingham

ROWS = 200_000


def tables():
    numbers = numpy.arange(ROWS)
    yield "pandas", pandas.DataFrame({"n": numbers})
    yield "polars", polars.concat([polars.DataFrame({"n": part}) for part in numpy.array_split(numbers, 23)], rechunk=False)
    chunks = [pyarrow.array(part) for part in numpy.array_split(numbers, 300)]
    yield "small chunks", pyarrow.table({"n": pyarrow.chunked_array([[], *chunks, []], pyarrow.int64())})
    yield "stream", pyarrow.RecordBatchReader.from_stream(pyarrow.table({"n": numbers}))


@pytest.fixture(params=[1, 3])
def several(request):
    with gingham.connect(config={"threads": request.param}) as own:
        yield own


QUERIES = [
    ("SELECT n FROM frame", lambda all: all),
    ("SELECT n FROM frame WHERE n % 3 = 0", lambda all: all[::3]),
    ("SELECT n * 2 AS n FROM (SELECT n FROM frame WHERE n >= 70000) q WHERE n < 150000", lambda all: all[70_000:150_000] * 2),
    ("SELECT n FROM frame LIMIT 5", lambda all: all[:5]),
    ("SELECT n FROM frame WHERE n > 100000 LIMIT 70000 OFFSET 10", lambda all: all[100_011:170_011]),
    ("SELECT n FROM frame UNION ALL SELECT 2 * n FROM frame", lambda all: numpy.concatenate([all, all * 2])),
    ("SELECT n - row_number() OVER () AS n FROM frame", lambda all: all * 0 - 1),
    ("SELECT unnest([n, -n]) AS n FROM frame WHERE n % 100 = 1", lambda all: numpy.stack([all[1::100], -all[1::100]], 1).ravel()),
    ("SELECT unnest(array_agg(n)) AS n FROM frame WHERE n % 100 = 0", lambda all: all[::100]),
    ("WITH w AS (SELECT n FROM frame) SELECT n FROM w WHERE n % 2 = 0", lambda all: all[::2]),
]


@pytest.mark.parametrize(("sql", "expected"), QUERIES, ids=[sql for sql, _ in QUERIES])
def test_rows_keep_their_order(several, sql, expected):
    for kind, frame in tables():
        if kind == "stream" and "UNION" in sql:
            continue
        several.register("frame", frame)
        found = several.sql(sql).df()["n"].to_numpy()
        assert numpy.array_equal(found, expected(numpy.arange(ROWS))), kind
        several.unregister("frame")


def test_files_and_changes_of_frames(several, tmp_path):
    frame = pandas.DataFrame({"n": numpy.arange(ROWS)})  # noqa: F841
    several.execute(f"COPY frame TO '{tmp_path}/frame.csv' (HEADER false)")
    assert numpy.array_equal(numpy.loadtxt(tmp_path / "frame.csv", dtype=int), numpy.arange(ROWS))
    # What is gathered or stored in any order is all there.
    assert several.sql("SELECT count(*), count(DISTINCT n), sum(n) FROM frame").fetchone() == (ROWS, ROWS, ROWS * (ROWS - 1) // 2)
    several.execute("CREATE TABLE t AS SELECT n FROM frame")
    assert several.execute("SELECT count(*), count(DISTINCT n), sum(n) FROM t").fetchone() == (ROWS, ROWS, ROWS * (ROWS - 1) // 2)
    joined = "SELECT count(*), sum(a.n) FROM frame a JOIN frame b ON a.n = b.n + 1"
    assert several.sql(joined).fetchone() == (ROWS - 1, ROWS * (ROWS - 1) // 2)


def test_a_failure_in_a_later_part_is_told_and_a_limit_stops_before_it(several):
    frame = pandas.DataFrame({"n": numpy.arange(ROWS)})  # noqa: F841
    with pytest.raises(gingham.DataError):
        several.sql("SELECT 1 / (n - 199999) AS x FROM frame").df()
    assert several.sql("SELECT n FROM frame WHERE n >= 0 LIMIT 3").fetchall() == [(0,), (1,), (2,)]
