"""Files read in place: the odd files of tests/files/odd.txt, options as Python has them, and mistakes."""

import ast
import gzip
import json
import math
import pathlib
import re
import warnings

import pytest

import gingham

CASES = pathlib.Path(__file__).parents[2] / "tests" / "files" / "odd.txt"
ESCAPES = {"r": b"\r", "n": b"\n", "t": b"\t", "\\": b"\\"}


def unescaped(line):
    """The bytes of a line of a case's text."""
    data = b""
    for number, part in enumerate(re.split(r"\\(x[0-9a-f]{2}|.)", line)):
        if number % 2 == 0:
            data += part.encode()
        else:
            data += bytes([int(part[1:], 16)]) if len(part) == 3 else ESCAPES[part]
    return data


def cases():
    """Name, bytes, options and expected lines of each case that is not packed by what Python lacks."""
    for part in re.split(r"^## ", CASES.read_text(), flags=re.M)[1:]:
        name, rest = part.split("\n", 1)
        head, rest = re.split(r"^---\n", rest, maxsplit=1, flags=re.M)
        text, expected = re.split(r"^--- rows\n", rest, maxsplit=1, flags=re.M)
        fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line and not line.startswith("#"))
        data = b""
        for line in text.splitlines():
            data += unescaped(line[:-2]) if line.endswith("\\c") else unescaped(line) + b"\n"
        # Python before 3.14 has no zstd, and its dates are not infinite.
        if fields.get("packed") == "zstd" or name == "infinities.csv":
            continue
        if fields.get("packed") == "gzip":
            data = gzip.compress(data)
        words = re.sub(r"= (true|false)\b", lambda word: "= " + word[1].title(), fields.get("options", ""))
        call = ast.parse(f"f({words})", mode="eval").body
        options = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        yield pytest.param(name, data, options, [line for line in expected.splitlines() if line], id=name)


@pytest.mark.parametrize("name, data, options, expected", list(cases()))
def test_odd_files(name, data, options, expected, tmp_path):
    path = tmp_path / name
    path.write_bytes(data)
    connection = gingham.connect()
    read = connection.read_json if name.endswith(".json") else connection.read_csv
    if expected[0].startswith("error"):
        with pytest.raises(gingham.Error) as caught:
            read(path, **options).fetchall()
        message = str(caught.value).replace(f"{tmp_path}/", "")
        assert message.startswith(expected[0].split(": ", 1)[1])
        return
    relation = read(path, **options)
    names = [re.split(r" (?=[A-Z]+(\(| |$))", column)[0] for column in expected[0].split("|")]
    assert relation.columns == names
    rows = relation.fetchall()
    assert len(rows) == len(expected) - 1
    for row, line in zip(rows, expected[1:]):
        for value, own in zip(row, line.split("|")):
            assert (value is None) == (own == "NULL"), (row, line)
            if isinstance(value, str):
                assert own == value.replace("\\", "\\\\").replace("\n", "\\n").replace("\x01", "\\u{1}"), (row, line)
            elif isinstance(value, int) and not isinstance(value, bool):
                assert int(own) == value


def test_several_files_and_options(tmp_path):
    (tmp_path / "a.csv").write_text("n;price\n1;2,5\n")
    (tmp_path / "b.csv").write_text("n;price\n2;-\n")
    connection = gingham.connect()
    files = [tmp_path / "a.csv", str(tmp_path / "b.csv")]
    relation = connection.read_csv(files, nullstr=["-", "NA"], types={"n": "SMALLINT"}, filename=True)
    assert [row[:2] for row in relation.fetchall()] == [(1, 2.5), (2, None)]
    assert connection.read_csv(f"{tmp_path}/*.csv", delim=";", header=True, all_varchar=True).fetchall()[1] == ("2", "-")
    assert connection.load(files, "t", null="-") == 2
    assert connection.sql("SELECT sum(n), sum(price) FROM t").fetchone() == (3, 2.5)
    with pytest.raises(gingham.Error, match="there is no option 'headr'; .*did you mean 'header'"):
        connection.read_csv(files, headr=True)
    with pytest.raises(gingham.Error, match="does not exist"):
        connection.read_csv(tmp_path / "it's not there.csv")


def test_rejected_records_are_listed(tmp_path):
    (tmp_path / "a.csv").write_text("n,b\n1,x\ntwo,y\n3,z,more\n")
    connection = gingham.connect()
    read = connection.read_csv(tmp_path / "a.csv", types={"n": "INT"}, ignore_errors=True)
    assert read.fetchall() == [(1, "x")]
    rejects = connection.sql("SELECT line, column_name FROM gingham_rejects").fetchall()
    assert rejects == [(3, "n"), (4, None)]


def test_records_that_are_passed_over_are_warned_of(tmp_path):
    (tmp_path / "a.csv").write_text("n\n1\ntwo\n")
    connection = gingham.connect()
    with pytest.warns(UserWarning, match="1 record was passed over; SELECT .* FROM gingham_rejects lists it"):
        assert connection.read_csv(tmp_path / "a.csv", types={"n": "INT"}, ignore_errors=True).fetchall() == [(1,)]
    connection.execute("CREATE TABLE t (n INT)")
    with pytest.warns(UserWarning, match="1 record was passed over"):
        assert connection.execute(f"COPY t FROM '{tmp_path}/a.csv' (ignore_errors true)").rowcount == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert connection.execute("SELECT n FROM t").fetchall() == [(1,)]


COLUMNS = """truth BOOLEAN, small SMALLINT, large BIGINT, price DECIMAL(9,2), r REAL, d DOUBLE, day DATE, clock TIME, moment TIMESTAMP,
    seconds TIMESTAMP(0), zoned TIMESTAMP WITH TIME ZONE, text VARCHAR, empty VARCHAR, fixed CHAR(3), bytes BYTEA"""
RECORDS = """(TRUE, 7, 9223372036854775807, 12.50, 0.1, 1.5e300, '2024-02-29', '12:30:00.000001', '2024-02-29 13:45:01.000001',
     '2024-02-29 13:45:01', '2024-02-29 13:45:01+00', 'say "x", naïve', '', 'ab', '\\x00ff'),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (FALSE, -7, -1, -0.01, 'NaN', '-Infinity', '1969-12-31', '00:00:00', '1969-12-31 23:59:59.5', '1970-01-01',
     '1969-12-31 23:59:59.5+00', E'two\nlines', ' ', '', '\\x')"""


@pytest.fixture
def every_type():
    """A connection with a table `t` of every type, and the rows of that."""
    connection = gingham.connect()
    connection.execute(f"CREATE TABLE t ({COLUMNS})")
    connection.execute(f"INSERT INTO t VALUES {RECORDS}")
    return connection, connection.execute("SELECT * FROM t").fetchall()


def test_other_programs_read_parquet_as_it_was(every_type, tmp_path):
    import pandas
    import polars
    import pyarrow
    import pyarrow.parquet

    connection, own = every_type
    connection.execute(f"COPY t TO '{tmp_path}/all.parquet' (compression zstd)")
    table = pyarrow.parquet.read_table(tmp_path / "all.parquet")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds["seconds"] == "timestamp[ms]" and kinds["zoned"] == "timestamp[us, tz=+00:00]", kinds
    assert kinds["day"] == "date32[day]" and kinds["price"] == "decimal128(9, 2)" and kinds["clock"] == "time64[us]", kinds
    read = [tuple(row.values()) for row in table.to_pylist()]
    assert repr(read).replace("<UTC>", "datetime.timezone.utc") == repr(own).replace("<UTC>", "datetime.timezone.utc")
    frame = pandas.read_parquet(tmp_path / "all.parquet")
    assert frame["moment"].iloc[0] == pandas.Timestamp("2024-02-29 13:45:01.000001")
    assert frame["seconds"].iloc[0] == pandas.Timestamp("2024-02-29 13:45:01") and frame["text"].tolist()[0] == 'say "x", naïve'
    frame = polars.read_parquet(tmp_path / "all.parquet")
    assert frame["large"].to_list() == [row[2] for row in own] and frame["bytes"].to_list() == [row[14] for row in own]


def test_other_programs_read_text_as_it_was(every_type, tmp_path):
    import pandas
    import polars
    import pyarrow.csv

    connection, own = every_type
    connection.execute(f"COPY t TO '{tmp_path}/all.csv'")
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""])
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    rows = pyarrow.csv.read_csv(tmp_path / "all.csv", convert_options=options, parse_options=parse).to_pylist()
    for name, place in [("large", 2), ("day", 6), ("text", 11), ("empty", 12)]:
        assert [row[name] for row in rows] == [row[place] for row in own], name
    floats = {name: lambda text: float(text) if text else None for name in ("r", "d")}
    frame = pandas.read_csv(
        tmp_path / "all.csv", keep_default_na=False, na_values=[""], converters=floats, parse_dates=["moment"]
    )
    assert frame["text"].tolist()[0] == own[0][11] and frame["text"].tolist()[2] == own[2][11]
    assert frame["moment"].iloc[2] == pandas.Timestamp("1969-12-31 23:59:59.5")
    assert math.isnan(frame["r"].iloc[2]) and frame["d"].iloc[2] == -math.inf
    frame = polars.read_csv(tmp_path / "all.csv", try_parse_dates=True)
    assert frame["text"].to_list() == [row[11] for row in own] and frame["day"].to_list() == [row[6] for row in own]
    connection.execute(f"COPY t TO '{tmp_path}/all.json'")
    lines = [json.loads(line) for line in (tmp_path / "all.json").read_text(encoding="utf-8").splitlines()]
    assert [line["text"] for line in lines] == [row[11] for row in own] and lines[1]["empty"] is None
    assert [line["large"] for line in lines] == [row[2] for row in own] and lines[2]["r"] == "NaN"
