"""Files read in place: the odd files of tests/files/odd.txt, options as Python has them, and mistakes."""

import ast
import gzip
import pathlib
import re

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
    with pytest.raises(gingham.Error, match="there is no option 'headr'; did you mean 'header'"):
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
