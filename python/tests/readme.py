"""The README's examples, in their order, as one program that is run where the package and pandas are installed."""

import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import warnings

import pandas

import gingham

README = pathlib.Path(__file__).parent.parent / "README.md"


def main():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2, "the README has two examples"
    # Who read the project's README has a database of that name already, with a table `sales`.
    text = re.search(r"\$ cat sales.csv\n(.*?)\n\n", (README.parent.parent / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    pathlib.Path("sales.csv").write_text(text[1] + "\n", encoding="utf-8")
    with gingham.connect("shop.gingham") as before:
        assert before.load("sales.csv", "sales") == 5
    scope = {}
    warnings.simplefilter("error")
    exec(blocks[0], scope)  # noqa: S102 - it is our own text
    frame = scope["connection"].sql("SELECT name, price FROM fruit WHERE price > 1").df()
    assert isinstance(frame, pandas.DataFrame) and frame["name"].tolist() == ["quince"], frame
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(blocks[1], scope)  # noqa: S102
    assert all(text in shown.getvalue() for text in ("3.15", "1.20", "2 rows, 2 columns")), shown.getvalue()
    scope["connection"].close()
    assert pathlib.Path("shop.gingham").is_dir()


if __name__ == "__main__":
    # What is tested is what was installed, and not a folder beside this file.
    assert gingham.__file__.startswith(sys.prefix), gingham.__file__
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
    print("the examples of the README work")
