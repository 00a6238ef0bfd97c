"""Published databases by their URLs."""

import pathlib
import shutil

import pytest

import gingham

# A place with two states, as an earlier build has written it.
PUBLISHED = pathlib.Path(__file__).parents[2] / "tests" / "compat" / "published-v1"


def test_a_url_is_read_from_where_it_is_published(tmp_path):
    shutil.copytree(PUBLISHED, tmp_path / "shop")
    with gingham.connect((tmp_path / "shop").as_uri()) as connection:
        assert connection.sql("SELECT count(*) FROM fruit").fetchone() == (5,)
        connection.execute("REFRESH")
        with pytest.raises(gingham.Error, match="reading only"):
            connection.execute("DROP TABLE fruit")


def test_nothing_at_a_url_is_an_error(tmp_path):
    with pytest.raises(gingham.Error, match="no published database"):
        gingham.connect(tmp_path.as_uri())
