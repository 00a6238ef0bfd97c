"""What the tests share."""

import pytest

import gingham


@pytest.fixture
def connection():
    with gingham.connect(config={"threads": 2, "memory_limit": "512MB"}) as own:
        yield own
