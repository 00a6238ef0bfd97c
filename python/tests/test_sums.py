"""Sums of BIGINTs, which are whole numbers of any length."""

import gingham
import pytest

pandas = pytest.importorskip("pandas")


def test_sums_are_ints() -> None:
    connection = gingham.connect()
    connection.execute("CREATE TABLE t (k VARCHAR, n BIGINT, i INTEGER)")
    connection.execute("INSERT INTO t VALUES ('a', 1, 1), ('a', 2, 2), ('b', 4, 4), ('c', NULL, NULL)")
    (row,) = connection.execute("SELECT sum(n), sum(i), sum(n) / 2 FROM t").fetchall()
    assert row[:2] == (7, 7) and type(row[0]) is int and type(row[1]) is int
    assert str(row[2]).rstrip("0") == "3.5"
    large = connection.execute("SELECT sum(n) FROM (SELECT 9223372036854775807 AS n UNION ALL SELECT 9223372036854775807) x")
    assert large.fetchone() == (18446744073709551614,)


def test_columns_of_sums_are_integers_where_all_fit() -> None:
    connection = gingham.connect()
    frame = connection.sql("SELECT value % 2 AS k, sum(value) AS s FROM generate_series(1, 10) GROUP BY 1 ORDER BY 1").df()
    assert str(frame["s"].dtype) == "int64" and list(frame["s"]) == [30, 25]
    frame = connection.sql("SELECT sum(n) AS s FROM (SELECT 9223372036854775807 AS n UNION ALL SELECT 1) x").df()
    assert list(frame["s"]) == [9223372036854775808]
