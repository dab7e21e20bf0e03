"""Numbers are rounded to their error and stay readable at any scale."""

from __future__ import annotations

import math

import pytest

from croupier.views import formats


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (1.2345678, 0.000123, "1.23457 ± 0.00012"),
        (-1.2345678, 0.000123, "-1.23457 ± 0.00012"),
        (12345.678, 67.8, "12346 ± 68"),
        (12345.678, 678.9, "12346 ± 679"),
        (0.0, 0.5, "0.00 ± 0.50"),
        (0.0, 0.0, "0 ± 0"),
        (1e-12, 0.25, "0.00 ± 0.25"),
        (1.0, 0.0996, "1.00 ± 0.10"),
        (-0.001, 0.5, "0.00 ± 0.50"),
        (2.5e6, 3.1e3, "(2.5000 ± 0.0031)e+06"),
        (1.2346e-9, 1.2e-12, "(1.2346 ± 0.0012)e-09"),
        (0.5, 1.2e7, "(0.0 ± 1.2)e+07"),
        (0.5, 0.0, "0.5 ± 0"),
        (1.5, math.nan, "1.5 ± unknown"),
        (1.5, math.inf, "1.5 ± inf"),
        (math.nan, math.nan, "unknown ± unknown"),
    ],
)
def test_a_value_shows_two_significant_digits_of_its_error(
    value: float, error: float, expected: str
) -> None:
    assert formats.number(value, error) == expected


@pytest.mark.parametrize("power", [-1070, -600, 600, 1000])
def test_scales_at_the_ends_of_the_floats_are_written_with_a_short_mantissa(power: int) -> None:
    shown = formats.number(math.ldexp(1.5, power), math.ldexp(1.5, power - 10))
    assert shown.startswith("(")
    assert len(shown) < 28
    assert float(shown[1:].split(" ")[0]) < 10


def test_a_value_never_shows_more_digits_than_a_float_has() -> None:
    assert len(formats.number(1 / 3, 1e-40).split(" ")[0]) <= 19


def test_a_value_without_error_is_shown_to_six_digits_without_idle_zeros() -> None:
    assert formats.number(0.5) == "0.5"
    assert formats.number(1 / 3) == "0.333333"
    assert formats.number(1.5e-7) == "1.5e-07"


def test_an_interval_is_rounded_as_its_estimate_is() -> None:
    assert formats.bracket(1.23433, 1.2348089, 1.2345678, 0.000123) == "[1.23433, 1.23481]"
    assert formats.bracket(-math.inf, math.inf, 1.5, math.nan) == "[-inf, inf]"
    assert formats.bracket(-math.inf, math.inf, 1.5e9, math.nan) == "[-inf, inf]"
    assert formats.bracket(1.1e-9, 1.3e-9, 1.2e-9, 5e-11) == "[1.100, 1.300]e-09"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "0 s"),
        (8.5e-7, "850 ns"),
        (12.3e-6, "12 µs"),
        (9.996e-4, "1 ms"),
        (0.0034, "3.4 ms"),
        (0.84, "0.84 s"),
        (12.3, "12 s"),
        (59.96, "1 min"),
        (75, "1 min 15 s"),
        (3600, "1 h"),
        (90061, "1 d 1 h"),
        (None, "-"),
        (math.inf, "-"),
    ],
)
def test_a_duration_has_its_natural_unit(seconds: float | None, expected: str) -> None:
    assert formats.duration(seconds) == expected


def test_a_share_that_is_neither_all_nor_nothing_never_looks_like_it() -> None:
    assert formats.percent(1 - 1e-9) == ">99.9%"
    assert formats.percent(1e-9) == "<0.1%"
    assert formats.percent(1.0) == "100%"
    assert formats.percent(0.0) == "0%"


def test_confidence_levels_keep_their_nines() -> None:
    assert formats.level(0.9999999) == "99.99999%"


def test_shortened_names_fit_and_keep_both_ends() -> None:
    for width in range(4, 30):
        assert len(formats.shorten("x" * 100, width)) == width
    assert formats.shorten("control_variate_degree_12", 16).endswith("12")


def test_a_name_cannot_smuggle_control_characters_into_a_terminal() -> None:
    assert formats.shorten("a\x1b[31m\nb", 20) == r"a\x1b[31m\nb"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb\nc", r"a\x1b[31mb\nc"),
        ("\x07\x08\r\t\x7f\x9b", r"\x07\x08\r\t\x7f\x9b"),
        ("\u202eevil\u2066\u2028", r"\u202eevil\u2066\u2028"),  # turns the direction, ends a line
        ("\udc80 \U000e0001", r"\udc80 \U000e0001"),
        ("naïve 漢 ± 🎲 \\n", "naïve 漢 ± 🎲 \\n"),
    ],
)
def test_control_characters_are_shown_as_escapes(text: str, shown: str) -> None:
    assert formats.printable(text) == shown
    assert formats.printable(shown) == shown
    assert formats.printable_lines(f"{text}\nnext") == formats.printable_lines(text) + "\nnext"


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (-1000007.8824, 0.0123, "-1000007.882 ± 0.012"),
        (-123456789.0, 12.3, "-123456789 ± 12"),
        (2.5e6, 3.1e3, "2500000 ± 3100"),
        (-1000007.8824, math.nan, "-1000008 ± unknown"),
        (-5000.125, 0.0123, "-5000.125 ± 0.012"),
        (1.2346e-9, 1.2e-12, "(1.2346 ± 0.0012)e-09"),
        (-math.inf, math.nan, "-inf ± unknown"),
    ],
)
def test_a_large_log_is_written_out(value: float, error: float, expected: str) -> None:
    assert formats.number(value, error, formats.log_rounding) == expected


def test_the_interval_of_a_large_log_is_written_out() -> None:
    shown = formats.bracket(-1000007.91, -1000007.85, -1000007.8824, 0.0123, formats.log_rounding)
    assert shown == "[-1000007.910, -1000007.850]"
