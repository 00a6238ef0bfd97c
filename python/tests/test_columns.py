"""Columns of frames with values of Python's, categories, spans of time, and types of polars and Arrow that SQL has no name for: the
values, or an error that names column, row and value. What a result can't give as it is, is an error too."""

import datetime
import decimal
import fractions
import uuid

import numpy
import pandas
import polars
import pyarrow
import pytest

import gingham

UTC = datetime.timezone.utc
NUMBER = decimal.Decimal


def rows_of(connection, frame, sql="SELECT v FROM frame"):
    connection.register("frame", frame)
    try:
        return [row[0] if len(row) == 1 else row for row in connection.execute(sql).fetchall()]
    finally:
        connection.unregister("frame")


def objects(*values):
    return pandas.DataFrame({"v": pandas.Series(list(values), dtype=object)})


def same(one, two):
    return one == two and [type(value) for value in one] == [type(value) for value in two]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, 2.5, None), [1.0, 2.5, None]),
        ((1, 2.5, True), [1.0, 2.5, 1.0]),
        ((2**53, 0.5), [float(2**53), 0.5]),
        ((True, 7), [1, 7]),
        ((1, NUMBER("1.25")), [NUMBER("1.00"), NUMBER("1.25")]),
        ((10**20, NUMBER("0.5")), [NUMBER("100000000000000000000.0"), NUMBER("0.5")]),
        ((numpy.int64(3), 4, numpy.bool_(True)), [3, 4, 1]),
        ((numpy.float32(0.5), numpy.int8(-1)), [0.5, -1.0]),
        ((uuid.UUID(int=5), None), ["00000000-0000-0000-0000-000000000005", None]),
        ((bytearray(b"a\0"), memoryview(b"b"), b"c"), [b"a\0", b"b", b"c"]),
        ((datetime.timedelta(days=-1, seconds=5), None), [datetime.timedelta(days=-1, seconds=5), None]),
        ((pandas.Timestamp("2024-01-01"), datetime.datetime(1, 1, 1)), [datetime.datetime(2024, 1, 1), datetime.datetime(1, 1, 1)]),
        ((pandas.NaT, datetime.date(2024, 1, 1)), [None, datetime.date(2024, 1, 1)]),
        ((None, None), [None, None]),
    ],
    ids=repr,
)
def test_objects_are_one_column_where_a_type_has_them_all(connection, values, expected):
    assert same(rows_of(connection, objects(*values)), expected)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((1, "x"), "row 1 has 'x' of the class str, and row 0 1 of the class int"),
        ((None, 2**53 + 1, 1.5), "row 1: 9007199254740993 is no DOUBLE"),
        ((10**400, 1.5), "row 0: 10*0 is no DOUBLE"),
        ((1.5, NUMBER("1.5")), "row 1 has Decimal"),
        ((fractions.Fraction(1, 3),), r"row 0: no column can have Fraction\(1, 3\) of the class Fraction"),
        ((datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 5)), r"row 1 has datetime.datetime\(2024, 1, 1, 5, 0\)"),
        ((pandas.Timestamp("2024-01-01", tz="UTC"), pandas.Timestamp("2024-01-01")), "row 1 has Timestamp"),
        (("a", uuid.UUID(int=5)), "row 1 has UUID"),
        ((None, datetime.time(1, tzinfo=UTC)), "row 1: the time 01:00:00.* has a zone"),
        ((1, [2]), r"row 1: no column can have \[2\] of the class list"),
        ((1j,), "row 0: no column can have 1j"),
        ((numpy.longdouble(1),), "longdouble"),
        (("good", "\ud800"), "row 1: .*no text of Unicode"),
        ((pandas.Timestamp("2024-01-01 00:00:00.000000001"), datetime.datetime(1, 1, 1)), "row 1: .* is out of range for TIMESTAMP"),
        ((NUMBER(10) ** 30, NUMBER("1e-30")), "row 0: .*more than 38 digits with 30 behind"),
        ((1, 10**39), "row 1: 1000.* has more than 38 digits"),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_other_objects_are_refused_by_column_row_and_value(connection, values, told):
    with pytest.raises(gingham.Error, match=told) as error:
        rows_of(connection, objects(*values))
    assert "'v'" in str(error.value)


def test_nanoseconds_of_objects_are_kept(connection):
    fine = pandas.Timestamp("2024-01-01 00:00:00.123456789")
    frame = objects(fine, datetime.datetime(2024, 1, 1))
    connection.register("frame", frame)
    assert connection.execute("SELECT max(v) AS v FROM frame").df()["v"][0] == fine
    assert connection.sql("SELECT v FROM frame").schema() == [("v", "TIMESTAMP(9)")]
    zoned = objects(fine.tz_localize("Europe/Berlin"))
    assert rows_of(connection, zoned, "SELECT CAST(v AS VARCHAR) FROM frame") == ["2023-12-31 23:00:00.123456789+00"]
    assert rows_of(connection, objects(pandas.Timedelta(1_001, "ns"))) == [pandas.Timedelta(1_001, "ns")]


def test_categories_of_every_kind_with_missing_ones(connection):
    days = pandas.to_datetime(["2024-01-01", None, "2024-01-02"])
    frame = pandas.DataFrame(
        {
            "whole": pandas.Categorical([3, None, 1]),
            "small": pandas.Categorical(numpy.array([3, 3, 1], dtype="uint8")),
            "float": pandas.Categorical([1.5, None, -0.5]),
            "truth": pandas.Categorical([True, None, False]),
            "text": pandas.Categorical(["b", None, "a"], categories=["b", "a", "never"], ordered=True),
            "day": pandas.Categorical(days),
            "zoned": pandas.Categorical(days.tz_localize("Europe/Berlin")),
            "span": pandas.Categorical(pandas.to_timedelta([1, None, 2], unit="h")),
            "nullable": pandas.Categorical(pandas.array([7, None, 8], dtype="Int16")),
            "arrow": pandas.Categorical(pandas.array(["x", None, "y"], dtype="string[pyarrow]")),
            "date": pandas.Categorical([datetime.date(2024, 1, 1), None, datetime.date(2024, 1, 2)]),
            "none": pandas.Categorical([None, None, None]),
        }
    )
    connection.register("frame", frame)
    first, second, third = connection.execute("SELECT * FROM frame").fetchall()
    berlin, moment = datetime.timezone(datetime.timedelta(hours=1)), datetime.datetime
    hour, day = datetime.timedelta(hours=1), datetime.date
    assert first == (3, 3, 1.5, True, "b", moment(2024, 1, 1), moment(2024, 1, 1, tzinfo=berlin), hour, 7, "x", day(2024, 1, 1), None)
    assert second == (None, 3, *[None] * 10)
    assert third == (1, 1, -0.5, False, "a", moment(2024, 1, 2), moment(2024, 1, 2, tzinfo=berlin), 2 * hour, 8, "y", day(2024, 1, 2), None)
    kinds = dict(connection.sql("SELECT * FROM frame").schema())
    assert (kinds["whole"], kinds["small"], kinds["truth"]) == ("BIGINT", "TINYINT UNSIGNED", "BOOLEAN")
    with pytest.raises(gingham.NotSupportedError, match="'v'.*interval"):
        rows_of(connection, pandas.DataFrame({"v": pandas.cut([1, 2, 3], 2)}))


def test_spans_of_time_are_intervals_there_and_back(connection):
    spans = ["1 days 02:03:04.000005", None, "-1 days", "00:00:00.000000001"]
    for unit in ("s", "ms", "us", "ns"):
        frame = pandas.DataFrame({"v": pandas.to_timedelta(spans).astype(f"timedelta64[{unit}]")})
        connection.register("frame", frame)
        assert connection.sql("SELECT v FROM frame").schema() == [("v", "INTERVAL")]
        back = connection.sql("SELECT v FROM frame").df()["v"]
        assert back.dtype.kind == "m" and back.isna().tolist() == [False, True, False, False]
        assert (back.dropna() == frame["v"].dropna()).all()
        texts = [row[0] for row in connection.execute("SELECT CAST(v AS VARCHAR) FROM frame").fetchall()]
        assert texts[1:3] == [None, "-1 days"] and texts[0].startswith("1 day 02:03:04")
        table = pyarrow.Table.from_pandas(frame)
        connection.register("frame", table)
        assert connection.sql("SELECT v FROM frame").arrow().column("v").to_pylist()[2] == pyarrow.MonthDayNano([0, -1, 0])
        assert (connection.sql("SELECT v FROM frame").df()["v"].dropna() == frame["v"].dropna()).all()
        if unit != "s":
            shown = polars.DataFrame({"v": pandas.Series(frame["v"])})
            connection.register("frame", shown)
            back = connection.sql("SELECT v FROM frame").pl()["v"]
            assert isinstance(back.dtype, polars.Duration) and back.to_list() == shown["v"].to_list()
    moved = "SELECT CAST(TIMESTAMP '2024-01-31 00:00:00' + v AS VARCHAR) FROM frame WHERE v > INTERVAL '1 day'"
    assert rows_of(connection, pandas.DataFrame({"v": pandas.to_timedelta(spans)}), moved) == ["2024-02-01 02:03:04.000005"]
    empty = connection.sql("SELECT INTERVAL '1 day' AS v WHERE false")
    assert str(empty.df()["v"].dtype) == "timedelta64[us]" and empty.pl()["v"].dtype == polars.Duration("us")
    only_null = connection.sql("SELECT CAST(NULL AS INTERVAL) AS v")
    assert str(only_null.df()["v"].dtype) == "timedelta64[us]" and only_null.df()["v"].isna().all()
    # A month has 30 days, as it has where intervals are compared.
    month = connection.sql("SELECT INTERVAL '1 month' AS v")
    assert month.fetchone() == (datetime.timedelta(days=30),)
    assert month.df()["v"][0] == pandas.Timedelta(days=30) and month.pl()["v"][0] == datetime.timedelta(days=30)


def test_spans_that_no_interval_has_or_no_duration(connection):
    table = pyarrow.table({"v": pyarrow.array([1, 2**62], pyarrow.duration("s"))})
    with pytest.raises(gingham.DataError, match=f"'v', row 1: a duration of {2**62} seconds is out of range"):
        rows_of(connection, table)
    far = connection.sql("SELECT INTERVAL '2000000000 days' AS v")
    for read in (far.fetchall, far.df, far.pl):
        with pytest.raises(gingham.DataError, match="'v' has an interval"):
            read()
    with pytest.raises(gingham.NotSupportedError, match="'v' has intervals within"):
        connection.sql("SELECT [INTERVAL '1 day'] AS v").pl()
    # Stored, they would be an INTERVAL column, which tables have not.
    frame = pandas.DataFrame({"v": pandas.to_timedelta(["1 day"])})  # noqa: F841
    with pytest.raises(gingham.NotSupportedError, match="'v'"):
        connection.execute("CREATE TABLE t AS SELECT v FROM frame")


def test_columns_of_polars_that_arrow_has_not(connection):
    untyped = polars.DataFrame({"v": [None, None], "a": [1, 2]})
    assert rows_of(connection, untyped, "SELECT * FROM frame") == [(None, 1), (None, 2)]
    assert rows_of(connection, untyped, "SELECT a FROM frame WHERE v IS NULL AND coalesce(v, a) = 2") == [2]
    connection.register("frame", untyped)
    connection.execute("CREATE TABLE t (v DATE, a INTEGER); INSERT INTO t SELECT * FROM frame")
    with connection.appender("t") as appender:
        appender.append_frame(untyped)
    assert connection.execute("SELECT count(*), count(v), sum(a) FROM t").fetchone() == (4, 0, 6)
    nested = {
        polars.List(polars.Null): ([[None], [], None], [[None], [], None]),
        polars.Struct({"x": polars.Null}): ([{"x": None}, None], [{"x": None}, None]),
        polars.Array(polars.Array(polars.Null, 1), 2): ([[[None], [None]]], [[[None], [None]]]),
    }
    for dtype, (values, expected) in nested.items():
        assert rows_of(connection, polars.DataFrame({"v": polars.Series(values, dtype=dtype)})) == expected, dtype
    for dtype, most in ((polars.Int128, 2**127 - 1), (polars.UInt128, 2**128 - 1)):
        frame = polars.DataFrame({"v": polars.Series([2**100, None, 7], dtype=dtype)})
        assert rows_of(connection, frame) == [NUMBER(2**100), None, NUMBER(7)]
        frame = polars.DataFrame({"v": polars.Series([None, most], dtype=dtype)})
        with pytest.raises(gingham.DataError, match=f"'v', row 1: {most} has more than 38 digits"):
            rows_of(connection, frame)
        with pytest.raises(gingham.NotSupportedError, match="'v' has values of the type .?Int128"):
            rows_of(connection, polars.DataFrame({"v": polars.Series([[1]], dtype=polars.List(dtype))}))
    with pytest.raises(gingham.NotSupportedError, match="'v' has Python's objects"):
        rows_of(connection, polars.DataFrame({"v": polars.Series([object()], dtype=polars.Object)}))


def test_series_are_tables_of_one_column(connection):
    named = polars.Series("x", [1, None, 3])  # noqa: F841
    unnamed = polars.Series([1.5])  # noqa: F841
    records = polars.Series("r", [{"a": 1}])  # noqa: F841
    of_pandas = pandas.Series(["a", "b"], name="word")  # noqa: F841
    of_numbers = pandas.Series([1, 2]).rename(7)  # noqa: F841
    chunks = pyarrow.chunked_array([[1, 2]])  # noqa: F841
    assert connection.sql("SELECT x FROM named").fetchall() == [(1,), (None,), (3,)]
    assert connection.sql("SELECT value FROM unnamed").fetchall() == [(1.5,)]
    assert connection.sql("SELECT r['a'] FROM records").fetchall() == [(1,)]
    assert connection.sql("SELECT word FROM of_pandas").fetchall() == [("a",), ("b",)]
    assert connection.sql('SELECT "7" FROM of_numbers').fetchall() == [(1,), (2,)]
    with pytest.raises(gingham.NotSupportedError, match="'chunks' can't be read as a table: it gives a column"):
        connection.sql("SELECT * FROM chunks")
    for nothing in (pandas.DataFrame(index=range(3)), polars.DataFrame(), pyarrow.table({})):
        with pytest.raises(gingham.ProgrammingError, match="'nothing' has no column"):
            connection.sql("SELECT * FROM nothing")


def test_uuids_of_arrow_are_texts(connection):
    values = [uuid.UUID(int=5), None, uuid.UUID("12345678-1234-5678-1234-567812345678")]
    array = pyarrow.array([None if value is None else value.bytes for value in values], pyarrow.uuid())
    texts = [None if value is None else str(value) for value in values]
    assert rows_of(connection, pyarrow.table({"v": array})) == texts
    assert rows_of(connection, pyarrow.table({"v": array.slice(1)})) == texts[1:]
    assert rows_of(connection, pandas.DataFrame({"v": pandas.Series(array, dtype=pandas.ArrowDtype(pyarrow.uuid()))})) == texts
    lists = pyarrow.ListArray.from_arrays([0, 2, 3], array)
    assert rows_of(connection, pyarrow.table({"v": lists})) == [texts[:2], texts[2:]]
    connection.execute("CREATE TABLE t (v VARCHAR)")
    with connection.appender("t") as appender:
        appender.append_frame(pyarrow.table({"v": array}))
    assert connection.execute("SELECT v FROM t WHERE v = ?", [values[2]]).fetchall() == [(texts[2],)]
    plain = pyarrow.table({"v": pyarrow.array([values[0].bytes], pyarrow.binary(16))})
    assert rows_of(connection, plain) == [values[0].bytes]


def test_fields_of_a_record_that_is_null_are_null(connection):
    records = pyarrow.StructArray.from_arrays([pyarrow.array([1, 2, 3])], names=["a"], mask=pyarrow.array([False, True, False]))
    for first in range(3):
        table = pyarrow.table({"v": records}).slice(first)
        assert rows_of(connection, table, "SELECT v['a'] FROM frame") == [1, None, 3][first:]
        assert rows_of(connection, table) == [{"a": 1}, None, {"a": 3}][first:]
    lists = pyarrow.ListArray.from_arrays([0, 1, 3], records)
    assert rows_of(connection, pyarrow.table({"v": lists}), "SELECT v[1]['a'] FROM frame") == [1, None]


def test_times_that_python_has_not(connection):
    late = connection.sql("SELECT TIME '24:00' AS v")
    for read in (late.fetchall, late.df, late.arrow, late.pl, lambda: late.reader().read_all()):
        with pytest.raises(gingham.DataError, match="'v' has the time 24:00"):
            read()
    with pytest.raises(Exception, match="'v' has the time 24:00"):
        pyarrow.table(late)
    for sql in ("[TIME '24:00']", "named_struct('a', TIME '24:00')"):
        with pytest.raises(gingham.DataError, match="'v' has the time 24:00"):
            connection.sql(f"SELECT {sql} AS v").arrow()
    assert connection.sql("SELECT CAST(TIME '24:00' AS VARCHAR)").fetchone() == ("24:00:00",)
    table = pyarrow.table({"v": pyarrow.array([1_000, 1_001, None], pyarrow.time64("ns"))})
    connection.register("frame", table)
    assert connection.execute("SELECT v FROM frame LIMIT 1").fetchone() == (datetime.time(microsecond=1),)
    fine = connection.sql("SELECT v FROM frame")
    assert fine.arrow().column("v").cast("int64").to_pylist() == [1_000, 1_001, None]
    assert fine.pl()["v"].to_physical().to_list() == [1_000, 1_001, None]
    for read in (fine.fetchall, fine.df):
        with pytest.raises(gingham.DataError, match=r"'v' has a TIME with nanoseconds \(00:00:00.000001001\)"):
            read()


def test_nanoseconds_of_results_are_those_of_pandas(connection):
    moment = pandas.Timestamp("2024-07-01 12:00:00.123456789")
    frame = pandas.DataFrame({"v": [moment], "z": [moment.tz_localize("Europe/Berlin")]})
    first, second = rows_of(connection, frame, "SELECT v, z FROM frame")[0]
    assert first == moment and isinstance(first, datetime.datetime) and first.nanosecond == 789
    assert second == moment.tz_localize("Europe/Berlin") and second.utcoffset() == datetime.timedelta(hours=2)
    assert rows_of(connection, frame, "SELECT CAST(v AS TIMESTAMP(6)) FROM frame") == [moment.round("us").to_pydatetime()]
    span = connection.sql("SELECT TIMESTAMP(9) '2024-01-01 00:00:00.000000001' - TIMESTAMP '2024-01-01' AS v").fetchone()[0]
    assert span == pandas.Timedelta(1, "ns")


def test_arrays_of_results_can_be_written_to(connection):
    sql = """SELECT 1 AS i, NULL::INTEGER AS n, 1.5::REAL AS f, true AS b, DATE '2024-01-01' AS d, TIMESTAMP '2024-01-01' AS t,
             TIMESTAMPTZ '2024-01-01 00:00+00' AS z, INTERVAL '1 day' AS s, 'x' AS w, 1.5 AS m, 2::TINYINT UNSIGNED AS u"""
    connection.execute("CREATE TABLE kept AS SELECT value AS i FROM generate_series(1, 3)")
    relation = connection.sql(sql)
    for name, _, values, mask, _ in relation._rows().numpy():
        assert values.flags.writeable, name
        assert mask is None or mask.flags.writeable, name
    frame = relation.df()
    for name, value in {"i": 7, "n": 7, "f": 7.5, "b": False, "s": pandas.Timedelta(0), "w": "y", "u": 9}.items():
        frame.loc[0, name] = value
        assert frame.loc[0, name] == value, name
    # What was given belongs to whom it was given to.
    stored = connection.sql("SELECT i FROM kept ORDER BY i")
    changed = stored.df()
    changed.loc[0, "i"] = 100
    assert [row[0] for row in stored.fetchall()] == [1, 2, 3]
