"""Cells of CSV: no formula, no second row."""

import pytest

from croupier.results.exporting import safe_cell


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_a_sign_that_starts_a_formula_gets_an_apostrophe_also_in_full_width(sign):
    assert safe_cell(f"{sign}1") == f"'{sign}1"
    assert safe_cell(f" \t{sign}1").startswith("'")


@pytest.mark.parametrize("end", ["\r", "\n", "\x0b", "\x85", "\u2028"])
def test_no_end_of_a_line_is_left_in_a_cell(end):
    assert len(safe_cell(f"one{end}two").splitlines()) == 1


def test_numbers_stay_numbers():
    assert safe_cell(-1.5) == -1.5
