"""What needs no other package than Python's own: the module is imported, and statements are run."""

import decimal
import sys
import tempfile

import gingham

with tempfile.TemporaryDirectory() as folder, gingham.connect(f"{folder}/shop.gingham") as connection:
    connection.execute("CREATE TABLE fruit (name VARCHAR, price DECIMAL(6,2))")
    connection.executemany("INSERT INTO fruit VALUES (?, ?)", [("apple", decimal.Decimal("0.45")), ("quince", "1.20")])
    rows = connection.sql("SELECT name, price FROM fruit WHERE price > 1").fetchall()
    assert rows == [("quince", decimal.Decimal("1.20"))], rows
    try:
        connection.execute("SELECT nosuch FROM fruit")
    except gingham.ProgrammingError as error:
        assert error.sqlstate == "42703", error.sqlstate
    else:
        sys.exit("an unknown column is no error")
print("the package works by itself")
