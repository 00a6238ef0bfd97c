"""Values of every type out and back, without loss: as parameters and tuples, through Arrow, pandas and polars."""

import datetime
import decimal
import math
import zoneinfo

import hypothesis
import hypothesis.strategies as some
import numpy
import pandas
import polars
import pyarrow
import pytest

import gingham

WHOLE = {f"{sign}{bits}": (bits, sign) for bits in (8, 16, 32, 64) for sign in ("i", "u")}


def whole(bits, signed):
    low = -(1 << (bits - 1)) if signed else 0
    return some.integers(low, low + (1 << bits) - 1)


def decimals(precision, scale):
    most = 10**precision - 1
    return some.integers(-most, most).map(lambda unscaled: decimal.Decimal(unscaled).scaleb(-scale, decimal.Context(prec=50)))


UTC = datetime.timezone.utc
VALUES = {
    "BOOLEAN": some.booleans(),
    "TINYINT": whole(8, True),
    "SMALLINT": whole(16, True),
    "INTEGER": whole(32, True),
    "BIGINT": whole(64, True),
    "TINYINT UNSIGNED": whole(8, False),
    "SMALLINT UNSIGNED": whole(16, False),
    "INTEGER UNSIGNED": whole(32, False),
    "BIGINT UNSIGNED": whole(64, False),
    "REAL": some.floats(width=32),
    "DOUBLE": some.floats(),
    "DECIMAL(9,2)": decimals(9, 2),
    "DECIMAL(38,0)": decimals(38, 0),
    "DECIMAL(38,38)": decimals(38, 38),
    "VARCHAR": some.text(some.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    "BINARY": some.binary(),
    "DATE": some.dates(),
    "TIME": some.times(),
    "TIMESTAMP": some.datetimes(),
    "TIMESTAMP WITH TIME ZONE": some.datetimes(timezones=some.just(UTC)),
}
COLUMNS = [(kind, some.lists(some.none() | values, min_size=1, max_size=20)) for kind, values in VALUES.items()]
FEW = hypothesis.settings(max_examples=25, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
EACH = pytest.mark.parametrize(("kind", "lists"), COLUMNS, ids=[kind for kind, _ in COLUMNS])


def same(one, two):
    if isinstance(one, float) and isinstance(two, float) and math.isnan(one):
        return math.isnan(two)
    # A DECIMAL(38,0) is a whole number, which Python has as an int.
    whole = {type(one), type(two)} == {int, decimal.Decimal}
    return one == two and (whole or type(one) is type(two))


def alike(one, two):
    return len(one) == len(two) and all(map(same, one, two))


@pytest.fixture(scope="module")
def shared():
    with gingham.connect() as connection:
        yield connection


def stored(connection, kind, values):
    connection.execute("DROP TABLE IF EXISTS t")
    connection.execute(f"CREATE TABLE t (k INTEGER, v {kind})")
    connection.executemany("INSERT INTO t VALUES (?, ?)", enumerate(values))
    return connection.sql("SELECT v FROM t ORDER BY k")


@EACH
def test_parameters_and_tuples(shared, kind, lists):
    @FEW
    @hypothesis.given(lists)
    def check(values):
        assert alike([row[0] for row in stored(shared, kind, values).fetchall()], values)

    check()


@EACH
def test_arrow(shared, kind, lists):
    @FEW
    @hypothesis.given(lists)
    def check(values):
        relation = stored(shared, kind, values)
        table = relation.arrow()
        assert alike(table.column("v").to_pylist(), values) or "TIME ZONE" in kind
        shared.register("back", table)
        assert alike([row[0] for row in shared.execute("SELECT v FROM back").fetchall()], values)
        assert shared.execute("SELECT count(*) FROM back").fetchone() == (len(values),)
        # As a stored table again, whose type is the same.
        shared.execute("DROP TABLE IF EXISTS again; CREATE TABLE again AS SELECT v FROM back")
        assert shared.sql("SELECT v FROM again").schema() == relation.schema()
        copied, read = (shared.sql(f"SELECT v FROM {table}").fetchall() for table in ("again", "back"))
        assert sorted(map(repr, copied)) == sorted(map(repr, read))

    check()


@EACH
def test_pandas(shared, kind, lists):
    @FEW
    @hypothesis.given(lists)
    def check(values):
        if kind in ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"):
            values = [value for value in values if value is None or 1700 < value.year < 2200] or [None]
        frame = stored(shared, kind, values).df()
        assert frame.shape == (len(values), 1)
        shared.register("back", frame)
        back = [row[0] for row in shared.execute("SELECT v FROM back").fetchall()]
        if kind == "DATE":
            back = [value if value is None else value.date() for value in back]
        assert alike(back, values), (values, back, frame.dtypes)

    check()


@EACH
def test_polars(shared, kind, lists):
    @FEW
    @hypothesis.given(lists)
    def check(values):
        relation = stored(shared, kind, values)
        frame = relation.pl()
        assert frame.shape == (len(values), 1)
        shared.register("back", frame)
        back = [row[0] for row in shared.execute("SELECT v FROM back").fetchall()]
        assert alike(back, values), (values, back, frame.dtypes)

    check()


def test_null_is_not_nan(connection):
    frame = connection.sql("SELECT * FROM (VALUES (1, 0.5e0), (NULL, 'NaN'::DOUBLE), (3, NULL)) AS t(n, x)").df()
    assert list(map(str, frame.dtypes)) == ["Int64", "Float64"]
    assert list(frame["n"].isna()) == [False, True, False]
    assert numpy.isnan(frame["x"].array._data[1]) and not frame["x"].array._mask[1] and frame["x"].array._mask[2]
    only_nan = connection.sql("SELECT 'NaN'::DOUBLE AS x").df()
    assert str(only_nan["x"].dtype) == "Float64" and not only_nan["x"].isna().any()
    connection.register("frame", frame)
    rows = connection.sql("SELECT n, x IS NULL, x = 'NaN'::DOUBLE FROM frame").fetchall()
    assert rows == [(1, False, False), (None, False, True), (3, True, None)]


def test_whole_numbers_without_null_keep_their_width(connection):
    frame = connection.sql("SELECT 1::SMALLINT AS a, 2::INTEGER UNSIGNED AS b, true AS c").df()
    assert list(map(str, frame.dtypes)) == ["int16", "uint32", "bool"]


def test_frames_of_every_kind_of_column(connection):
    frame = pandas.DataFrame(
        {
            "i": pandas.array([1, None, 3], dtype="Int32"),
            "u": numpy.array([1, 2, 2**64 - 1], dtype="uint64"),
            "b": pandas.array([True, None, False], dtype="boolean"),
            "f": numpy.array([1.5, numpy.nan, -0.0], dtype="float32"),
            "big": [10**30, None, -1],
            "s": pandas.Series(["x", None, "äö"], dtype=object),
            "str": pandas.Series(["x", None, "y"], dtype="str"),
            "c": pandas.Categorical(["low", None, "high"]),
            "kept": pandas.Series([1, None, 3], dtype=pandas.ArrowDtype(pyarrow.int16())),
            "d": [datetime.date(2024, 1, 1), None, datetime.date(1, 1, 1)],
            "t": pandas.to_datetime(["2024-01-01", None, "2024-01-02 03:04:05.678901234"], format="ISO8601"),
            "z": pandas.to_datetime(["2024-01-01", None, "2024-07-01"]).tz_localize("Europe/Berlin"),
            "m": [decimal.Decimal("1.5"), None, decimal.Decimal("1000.25")],
            "y": [b"\0\1", None, b""],
            "strided": numpy.arange(6)[::2],
        }
    )
    kinds = dict(connection.sql("SELECT * FROM frame").schema())
    assert kinds["u"] == "BIGINT UNSIGNED" and kinds["big"] == "DECIMAL(38,0)" and kinds["c"] == "VARCHAR"
    assert kinds["m"] == "DECIMAL(6,2)" and kinds["d"] == "DATE" and kinds["i"] == "INTEGER" and kinds["kept"] == "SMALLINT"
    assert connection.sql("SELECT kept FROM frame").fetchall() == [(1,), (None,), (3,)]
    several = pandas.concat([frame[["str"]]] * 3, ignore_index=True)
    assert connection.sql("SELECT count(*), count(str) FROM several").fetchone() == (9, 6)
    rows = connection.sql("SELECT i, u, b, big, s, str, c, d, m, y, strided FROM frame").fetchall()
    day = datetime.date
    number = decimal.Decimal
    assert rows == [
        (1, 1, True, number(10**30), "x", "x", "low", day(2024, 1, 1), number("1.50"), b"\0\1", 0),
        (None, 2, None, None, None, None, None, None, None, None, 2),
        (3, 2**64 - 1, False, number(-1), "äö", "y", "high", day(1, 1, 1), number("1000.25"), b"", 4),
    ]
    moments = connection.sql("SELECT t, z FROM frame").fetchall()
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    assert moments[0] == (datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=berlin))
    assert moments[1] == (None, None)
    assert moments[2][1].utcoffset() == datetime.timedelta(hours=2)
    # Nanoseconds are not lost on the way to another frame.
    assert connection.sql("SELECT t FROM frame").df()["t"][2] == pandas.Timestamp("2024-01-02 03:04:05.678901234")
    # NaN is missing where a column has no mask.
    assert connection.sql("SELECT f, f IS NULL FROM frame").fetchall() == [(1.5, False), (None, True), (-0.0, False)]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([1, "x"], "mixes"),
        ([[1], [2]], "class list"),
        ([{"a": 1}, None], "class dict"),
        (numpy.array([1 + 2j]), "complex"),
        (pandas.interval_range(0, 1), "interval"),
        (pandas.period_range("2024", periods=1, freq="D"), "period"),
        ([decimal.Decimal(10) ** 38], "38 digits"),
    ],
)
def test_columns_that_no_table_can_have_are_refused_by_name(connection, values, told):
    frame = pandas.DataFrame({"good": range(len(values)), "bad": pandas.Series(values)})
    with pytest.raises(gingham.Error, match=told) as error:
        connection.register("frame", frame)
    if "38" not in told:
        assert "'bad'" in str(error.value)
    with pytest.raises(gingham.NotSupportedError, match="two columns"):
        connection.register("frame", pandas.DataFrame([[1, 2]], columns=["a", "a"]))


def test_nested_values_and_intervals(connection):
    sql = "SELECT [1, NULL, 3] AS l, named_struct('a', 1, 'b', 'x') AS s, INTERVAL '1 day 2 seconds' AS i"
    row = connection.sql(sql).fetchone()
    assert row == ([1, None, 3], {"a": 1, "b": "x"}, datetime.timedelta(days=1, seconds=2))
    assert connection.sql(sql).arrow().column("l").to_pylist() == [[1, None, 3]]


def test_zones(connection):
    (moment,) = connection.execute("SELECT TIMESTAMPTZ '2024-07-01 12:00:00+00'").fetchone()
    assert moment == datetime.datetime(2024, 7, 1, 12, tzinfo=UTC)
    value = datetime.datetime(2024, 7, 1, 14, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    assert connection.execute("SELECT ? = TIMESTAMPTZ '2024-07-01 12:00:00+00'", [value]).fetchone() == (True,)


def test_dates_that_python_has_not(connection):
    for sql in ("SELECT DATE 'infinity' AS d", "SELECT TIMESTAMP '20000-01-01' AS d", "SELECT DATE '0044-03-15 BC' AS d"):
        with pytest.raises(gingham.DataError, match="'d'"):
            connection.sql(sql).fetchall()
    assert connection.sql("SELECT CAST(DATE 'infinity' AS VARCHAR)").fetchone() == ("infinity",)


def test_large_results_come_in_chunks(connection):
    reader = connection.sql("SELECT value FROM generate_series(1, 100000000)").reader()
    seen = 0
    for batch in reader:
        seen += batch.num_rows
        if seen > 100_000:
            break
    assert isinstance(batch, pyarrow.RecordBatch) and batch.num_rows < 100_000
    del reader
    assert polars.DataFrame(connection.sql("SELECT 1 AS n")).shape == (1, 1)
