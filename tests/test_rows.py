"""A test that goes through rows fails where one of them does, and says which."""

from __future__ import annotations

import pytest

from tests.rows import rows


def test_all_rows_are_looked_at() -> None:
    """Each once, with its values under their names, and with the fixtures of the test."""
    seen = []

    @rows("number, square", [(2, 4), (3, 9)])
    def look(number: int, square: int, fixture: str) -> None:
        seen.append((number, square, fixture))

    look(fixture="a fixture")
    assert seen == [(2, 4, "a fixture"), (3, 9, "a fixture")]


def test_a_row_that_fails_is_named_and_so_are_the_others() -> None:
    """Though the first failure ends the test, the rest of the table is looked at."""

    @rows("number", range(10))
    def look(number: int) -> None:
        assert number < 7

    with pytest.raises(AssertionError) as failed:
        look()
    assert failed.value.__notes__ == ["In the row number = 7", "and in 2 of 9 others: number = 8; number = 9"]


def test_rows_may_have_names() -> None:
    """Those of a mapping."""

    @rows("number", {"small": 1, "large": 1000})
    def look(number: int) -> None:
        assert number < 7

    with pytest.raises(AssertionError) as failed:
        look()
    assert failed.value.__notes__ == ["In the row large"]


def test_what_is_not_raised_is_a_failure_of_its_row() -> None:
    """`pytest.raises` fails by something that is no Exception."""

    @rows("number", (0, 1))
    def look(number: int) -> None:
        with pytest.raises(ZeroDivisionError):
            1 // number

    with pytest.raises(pytest.fail.Exception) as failed:
        look()
    assert failed.value.__notes__ == ["In the row number = 1"]


def test_tables_are_multiplied() -> None:
    """A failure has a row of each."""

    @rows("one", (1, 2))
    @rows("other", (10, 20))
    def look(one: int, other: int) -> None:
        assert one * other != 40

    with pytest.raises(AssertionError) as failed:
        look()
    assert failed.value.__notes__ == ["In the row other = 20", "In the row one = 2"]


def test_a_table_without_rows_is_no_test() -> None:
    """Nothing could fail in it."""
    with pytest.raises(ValueError, match="no rows of number"):
        rows("number", [])


@rows("number", (1, 2))
def test_pytest_gives_the_fixtures(number: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """And only these."""
    assert number in (1, 2)
    assert isinstance(tmp_path_factory, pytest.TempPathFactory)
