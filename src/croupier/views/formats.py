"""Numbers and names for people: rounded to their error, readable exponents, no control characters.

The only characters beyond ASCII are ± and µ.
"""

from __future__ import annotations

import codecs
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from html import escape

__all__ = [
    "bracket",
    "compact",
    "count",
    "duration",
    "for_terminal",
    "html_text",
    "log_rounding",
    "number",
    "p_value",
    "percent",
    "printable",
    "printable_lines",
    "rounding",
    "shorten",
]

UNKNOWN = "unknown"
MISSING = "-"

#: The name of the error handler of `str.encode` that writes +- where a terminal has no ±.
PLAIN_SIGNS = "croupier.plain_signs"


def _plain_sign(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = {"±": "+-", "µ": "u", "†": "*"}
    lost = error.object[error.start : error.end]
    return "".join(signs.get(sign, "?") for sign in lost), error.end


codecs.register_error(PLAIN_SIGNS, _plain_sign)


def for_terminal(text: str) -> str:
    """Return a text that the standard output can print, with +- where it has no ±."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, PLAIN_SIGNS).decode(encoding)


@dataclass(frozen=True)
class Rounding:
    """How related numbers are written: the number of decimals and one shared exponent."""

    exponent: int
    decimals: int

    def digits(self, x: float) -> str:
        """Return x without the exponent; Decimal, as 10**exponent may be too large for a float."""
        if math.isnan(x):
            return UNKNOWN
        if math.isinf(x):
            return "inf" if x > 0 else "-inf"
        text = f"{Decimal(x).scaleb(-self.exponent):.{self.decimals}f}"
        return text.lstrip("-") if not text.strip("-0.") else text

    @property
    def suffix(self) -> str:
        """The shared exponent, such as e-09, or an empty text."""
        return f"e{self.exponent:+03d}" if self.exponent else ""


def _magnitude(x: float, digits: int) -> int:
    """Return the decimal exponent of x after rounding to `digits` significant digits."""
    return int(f"{x:.{digits - 1}e}".partition("e")[2])


def rounding(value: float, error: float | None = None) -> Rounding:
    """Round to two significant digits of the error; share an exponent below 1e-4 and from 1e6 on.

    >>> rounding(1.234567, 0.000123)
    Rounding(exponent=0, decimals=5)
    >>> rounding(1.234567e-9, 1.23e-12)
    Rounding(exponent=-9, decimals=4)
    """
    sizes = [abs(x) for x in (value, error) if x is not None and math.isfinite(x)]
    size = max(sizes, default=0.0)
    if size == 0:
        return Rounding(0, 0)
    top = _magnitude(size, 6)
    exponent = 0 if 1e-4 <= size < 1e6 else top
    if error is None or not math.isfinite(error):
        last = top - 5
    elif error == 0:
        last = top - 14
    else:
        last = max(_magnitude(abs(error), 2) - 1, top - 16)  # a float has no more digits
    return Rounding(exponent, max(0, exponent - last))


def log_rounding(value: float, error: float | None = None) -> Rounding:
    """Return the same as `rounding`, but a large log is written out without an exponent.

    >>> number(-1000007.8824, 0.0123, log_rounding)
    '-1000007.882 ± 0.012'
    """
    how = rounding(value, error)
    return how if how.exponent < 0 else Rounding(0, max(0, how.decimals - how.exponent))


def number(
    value: float, error: float | None = None, rounding: Callable[..., Rounding] = rounding
) -> str:
    """Return a number, and its error if it has one, to two significant digits of the error.

    >>> number(1.2345678, 0.000123)
    '1.23457 ± 0.00012'
    >>> number(1.2345678e-9, 1.2e-12)
    '(1.2346 ± 0.0012)e-09'
    >>> number(0.5), number(2.0, float("nan"))
    ('0.5', '2 ± unknown')
    """
    how = rounding(value, error)
    digits = how.digits(value)
    if error is None:
        return _trim(digits) + how.suffix if math.isfinite(value) else digits
    if not math.isfinite(error) or error == 0:
        pair = f"{_trim(digits)} ± {_trim(how.digits(error))}"
    else:
        pair = f"{digits} ± {how.digits(error)}"
    return f"({pair}){how.suffix}" if how.suffix else pair


def bracket(
    low: float,
    high: float,
    value: float,
    error: float | None = None,
    rounding: Callable[..., Rounding] = rounding,
) -> str:
    """Return the interval [low, high] of an estimate, rounded like the estimate itself.

    >>> bracket(1.2343267, 1.2348089, 1.2345678, 0.000123)
    '[1.23433, 1.23481]'
    """
    how = rounding(value, error)
    ends = [how.digits(low), how.digits(high)]
    if error is None or not math.isfinite(error) or error == 0:
        ends = [_trim(end) for end in ends]
    suffix = how.suffix if math.isfinite(low) or math.isfinite(high) else ""
    return f"[{ends[0]}, {ends[1]}]{suffix}"


def compact(x: float | None, digits: int = 3) -> str:
    """Return a number with a few significant digits, for a narrow column.

    >>> compact(0.34567), compact(1234.5), compact(1.25e-7, 2), compact(None)
    ('0.346', '1,234', '1.2e-07', '-')
    """
    if x is None or math.isnan(x):
        return MISSING
    if math.isinf(x) or x == 0:
        return f"{x:.0f}"
    if not 1e-3 <= abs(x) < 1e6:
        return f"{x:.2g}"
    return _trim(f"{x:,.{max(0, digits - 1 - _magnitude(abs(x), digits))}f}")


def count(n: int, noun: str = "") -> str:
    """Return a count with thousands separators, and the name of what is counted.

    >>> count(1_000_000, "draw"), count(1, "draw"), count(12345)
    ('1,000,000 draws', '1 draw', '12,345')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}" if noun else f"{n:,}"


def percent(fraction: float | None) -> str:
    """Return a share in percent; only exactly 0 and 1 are shown as 0% and 100%.

    >>> percent(0.4567), percent(1), percent(0.99999), percent(1e-6), percent(0)
    ('45.7%', '100%', '>99.9%', '<0.1%', '0%')
    """
    if fraction is None or math.isnan(fraction):
        return MISSING
    if fraction in (0, 1):
        return f"{100 * fraction:.0f}%"
    text = f"{100 * fraction:.1f}%"
    return {"0.0%": "<0.1%", "100.0%": ">99.9%"}.get(text, text)


def level(confidence: float) -> str:
    """Return a confidence level in percent, with all its digits.

    >>> level(0.95), level(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * confidence:.10g}%"


def duration(seconds: float | None) -> str:
    """Return a time in a suitable unit.

    >>> duration(12.3e-6), duration(0.0034), duration(0.84), duration(75), duration(7260)
    ('12 µs', '3.4 ms', '0.84 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    rounded = float(f"{seconds:.2g}")
    if seconds >= 60 or rounded >= 60:
        whole = round(seconds)
        for name, unit, part, per in (
            ("d", 86400, "h", 3600),
            ("h", 3600, "min", 60),
            ("min", 60, "s", 1),
        ):
            if whole >= unit:
                rest = whole % unit // per
                return f"{whole // unit:,} {name}" + (f" {rest} {part}" if rest else "")
    for unit_name, scale, least in (("s", 1.0, 0.1), ("ms", 1e3, 1e-3), ("µs", 1e6, 1e-6)):
        if rounded >= least or rounded == 0:
            return f"{float(f'{rounded * scale:.2g}'):g} {unit_name}"
    return f"{float(f'{rounded * 1e9:.2g}'):g} ns"


def cost(x: float | None, unit: str) -> str:
    """Return a cost in the unit of the budget.

    >>> cost(0.0034, "seconds"), cost(1234.5, "cost"), cost(20, "draws")
    ('3.4 ms', '1,234', '20')
    """
    return duration(x) if unit == "seconds" else compact(x)


def p_value(p: float) -> str:
    """Return a p-value with two digits.

    >>> p_value(0.4123), p_value(3.21e-8), p_value(0.0)
    ('p = 0.41', 'p = 3.2e-08', 'p < 1e-300')
    """
    return f"p = {p:.2g}" if p >= 1e-300 else "p < 1e-300"


def printable(text: object) -> str:
    r"""Return a text in one line, with control characters as escapes that a terminal only shows.

    Names, warnings and hosts may come from the file of another user. All text from a result that
    is shown goes through this function.

    >>> print(printable("a\x1b[31mb\nc"))
    a\x1b[31mb\nc
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def printable_lines(text: object) -> str:
    """Return a text like `printable`, but keep its lines."""
    return "\n".join(printable(line) for line in str(text).split("\n"))


def html_text(text: object) -> str:
    """Return a text like `printable`, as text in HTML.

    >>> html_text("a < b")
    'a &lt; b'
    """
    return escape(printable(text))


def shorten(name: str, width: int) -> str:
    """Return a name in at most `width` characters: the middle is cut, as names differ at the ends.

    >>> shorten("importance_sampling_17", 12)
    'importanc…17'
    """
    name = printable(name)
    if len(name) <= width:
        return name
    tail = (width - 1) // 4
    return f"{name[: width - 1 - tail]}…{name[len(name) - tail :]}"


def _trim(digits: str) -> str:
    """Return the digits without the zeros at the end of the decimals."""
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
