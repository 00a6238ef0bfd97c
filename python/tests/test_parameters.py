"""Values of Python, NumPy and pandas as parameters: what they are, or an error that shows the value."""

import datetime
import decimal
import fractions
import uuid

import hypothesis
import hypothesis.strategies as some
import numpy
import pandas
import pytest

import gingham

UTC = datetime.timezone.utc
FEW = hypothesis.settings(max_examples=50, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))


@pytest.fixture(scope="module")
def shared():
    with gingham.connect() as connection:
        yield connection


def given(connection, value):
    """A value as the engine has it: its type, and its text."""
    return connection.execute("SELECT arrow_typeof($1), CAST($1 AS VARCHAR)", [value]).fetchone()


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (bytearray(b"a\0b"), "BinaryView", r"\x610062"),
        (memoryview(b"abcd")[::2], "BinaryView", r"\x6163"),
        (numpy.datetime64("2024-01-02T03:04:05.123456789"), "Timestamp(ns)", "2024-01-02 03:04:05.123456789"),
        (numpy.datetime64("2024-01-02T03:04:05", "ns"), "Timestamp(µs)", "2024-01-02 03:04:05"),
        (numpy.datetime64("2024-01-02T03:04:05.250", "ms"), "Timestamp(µs)", "2024-01-02 03:04:05.25"),
        (numpy.datetime64("2024-01-02T03", "h"), "Timestamp(µs)", "2024-01-02 03:00:00"),
        (numpy.datetime64("20000-01-01T00:00:00", "us"), "Timestamp(µs)", "20000-01-01 00:00:00"),
        (numpy.datetime64("1969-12-31T23:59:59.999999999999", "ps").astype("datetime64[ns]"), "Timestamp(ns)", "1969-12-31 23:59:59.999999999"),
        (numpy.datetime64("2024-02-29"), "Date32", "2024-02-29"),
        (numpy.datetime64("2024-02", "M"), "Date32", "2024-02-01"),
        (numpy.datetime64("2024", "Y"), "Date32", "2024-01-01"),
        (numpy.datetime64("20000-01-01"), "Date32", "20000-01-01"),
        (pandas.Timestamp("2024-01-02 03:04:05.123456789"), "Timestamp(ns)", "2024-01-02 03:04:05.123456789"),
        (pandas.Timestamp("2024-01-02 03:04:05.123456"), "Timestamp(µs)", "2024-01-02 03:04:05.123456"),
        (numpy.timedelta64(90_061, "s"), "Interval(MonthDayNano)", "1 day 01:01:01"),
        (numpy.timedelta64(-1, "ns"), "Interval(MonthDayNano)", "-00:00:00.000000001"),
        (numpy.timedelta64(3, "W"), "Interval(MonthDayNano)", "21 days"),
        (numpy.timedelta64(14, "M"), "Interval(MonthDayNano)", "1 year 2 mons"),
        (datetime.timedelta(hours=-1), "Interval(MonthDayNano)", "-01:00:00"),
        (pandas.Timedelta(1_001, "ns"), "Interval(MonthDayNano)", "00:00:00.000001001"),
        (numpy.int16(-3), "Int64", "-3"),
        (numpy.bool_(True), "Boolean", "true"),
        (uuid.UUID(int=5), "Utf8View", "00000000-0000-0000-0000-000000000005"),
        (10**37, "Decimal128(38, 0)", str(10**37)),
        (decimal.Decimal("-0.50"), "Decimal128(2, 2)", "-0.50"),
    ],
    ids=repr,
)
def test_what_a_value_is(shared, value, kind, text):
    found = given(shared, value)
    assert found[0] == kind
    if kind == "BinaryView":
        assert shared.execute("SELECT ? AS v", [value]).fetchone() == (bytes(value),)
    else:
        assert found[1] == text


@pytest.mark.parametrize("value", [None, pandas.NA, pandas.NaT, numpy.datetime64("NaT"), numpy.timedelta64("NaT", "s")], ids=repr)
def test_missing_values_are_null(shared, value):
    assert shared.execute("SELECT ? IS NULL", [value]).fetchone() == (True,)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (numpy.longdouble(1.5), "class longdouble"),
        (numpy.complex128(1j), "complex"),
        (fractions.Fraction(1, 3), "Fraction.*1/3"),
        (datetime.time(1, tzinfo=UTC), "01:00:00.*has a zone"),
        (numpy.timedelta64(5), "has no unit"),
        (numpy.datetime64("1970-01-01T00:00:00.0000000005", "ps"), "parts of a nanosecond"),
        (numpy.timedelta64(2**62, "D"), "out of range for INTERVAL"),
        (numpy.datetime64(2**62, "D"), "out of range for DATE"),
        (numpy.datetime64(2**62, "s"), "out of range for TIMESTAMP"),
        (10**38, "38 digits"),
        (10**5000, "38 digits"),
        (decimal.Decimal("NaN"), "is no number"),
        ("\ud800", "no text of Unicode"),
    ],
    ids=lambda value: repr(value)[:40] if not isinstance(value, int) else "large",
)
def test_what_no_parameter_can_be(shared, value, told):
    with pytest.raises(gingham.Error, match=told):
        shared.execute("SELECT ? AS v", [value])


@FEW
@hypothesis.given(some.integers(-(2**63) + 1, 2**63 - 1), some.sampled_from(["ns", "us", "ms", "s"]))
def test_moments_and_spans_of_numpy_are_those_of_pandas(shared, count, unit):
    """Held against NumPy's own integers, in microseconds."""
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    count %= 4_000_000_000 * per_second
    moment, span = numpy.datetime64(count, unit), numpy.timedelta64(count, unit)
    shared_moment = shared.execute("SELECT CAST(? AS TIMESTAMP(9)) AS v", [moment]).df()["v"][0]
    assert shared_moment == pandas.Timestamp(moment)
    assert shared.execute("SELECT ? AS v", [span]).df()["v"][0] == pandas.Timedelta(span)
    assert shared.execute("SELECT CAST('1970-01-01' AS TIMESTAMP(9)) + CAST(? AS INTERVAL) = ?", [span, moment]).fetchone() == (True,)


@FEW
@hypothesis.given(some.timedeltas(min_value=datetime.timedelta(days=-999_999_998)))
def test_timedeltas_come_back(shared, value):
    assert shared.execute("SELECT ? AS v", [value]).fetchone() == (value,)
    hours = value / datetime.timedelta(hours=1)
    assert shared.execute("SELECT ? < INTERVAL '0'", [value]).fetchone() == (hours < 0,)
