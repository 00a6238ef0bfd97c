"""The README's examples, in their order, as one program."""

import pathlib
import re

import pandas

README = pathlib.Path(__file__).parent.parent / "README.md"


def test_the_examples_of_the_readme(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    scope = {}
    exec(blocks[0], scope)  # noqa: S102 - it is our own text
    frame = scope["connection"].sql("SELECT name, price FROM fruit WHERE price > 1").df()
    assert isinstance(frame, pandas.DataFrame) and frame["name"].tolist() == ["quince"]
    exec(blocks[1], scope)  # noqa: S102
    shown = capsys.readouterr().out
    assert "3.15" in shown and "1.20" in shown and "2 rows, 2 columns" in shown
    scope["connection"].close()
    assert (tmp_path / "shop.gingham").is_dir()
