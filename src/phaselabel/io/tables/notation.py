"""Cells as people write numbers and dates in, numbers and days out."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

#: Signs of currencies, before or after a number.
CURRENCY = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF|JPY|kr|zł)"

#: How dates are written besides ISO 8601. The first one that all cells of a column have is taken.
DATE_FORMATS = ("%d.%m.%Y", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%y")

#: What may follow such a date, by the number of colons.
TIMES = ("", " %H:%M", " %H:%M:%S")

#: A cell that may be such a date.
DATE_LIKE = r"^\s*\d{1,4}[./-]\d{1,2}[./-]\d{2,4}( \d{1,2}:\d{2}(:\d{2})?)?\s*$"

#: Signs in cells that are numbers of one scale, however many of these signs there are.
THOUSANDS, ACCOUNTING = "thousands separators", "parentheses for minus"


def number_pattern(decimal: str) -> str:
    """A number with separators, a currency, a percent sign, or (1) for -1, as a regular expression."""
    mark, thousands = (r"\.", r"[,'\x{202f}\x{a0} ]") if decimal == "." else (",", r"[.'\x{202f}\x{a0} ]")
    digits = rf"(?:\d{{1,3}}(?:{thousands}\d{{3}})+|\d+)(?:{mark}\d+)?"
    amount = rf"{CURRENCY}?\s*{digits}\s*(?:{CURRENCY}|%)?\s*"
    return rf"^\s*{CURRENCY}?\s*(?:[+-]?\s*{amount}|\(\s*{amount}\))\s*$"


def signs_in(column: pa.Array, decimal: str) -> set[str] | None:
    """The signs in a column of numbers that match :func:`number_pattern`; None if some cells don't.

    Examples
    --------
    >>> signs_in(pa.array(["1,234", "56"]), "."), signs_in(pa.array(["$5", "a"]), ".")
    ({'thousands separators'}, None)
    """
    if not pc.all(pc.match_substring_regex(column, number_pattern(decimal))).as_py():
        return None
    found = set()
    for sign in ("%", "$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY", "kr", "zł"):
        has = pc.match_substring(column, sign)
        if pc.any(has).as_py():
            # A share of cells with a percent sign may be 0.12 beside 12 %: that is not one scale.
            if sign == "%" and not pc.all(has).as_py():
                return None
            found.add(sign)
    if len(found) > 1:
        return None
    separator = r"\d[,'\x{202f}\x{a0} ]\d" if decimal == "." else r"\d[.'\x{202f}\x{a0} ]\d"
    if pc.any(pc.match_substring_regex(column, separator)).as_py():
        found.add(THOUSANDS)
    if pc.any(pc.match_substring(column, "(")).as_py():
        found.add(ACCOUNTING)
    return found


def written_numbers(column: pa.Array, decimal: str, scaled: bool = True) -> NDArray[np.float64] | None:
    """The values of numbers that match :func:`number_pattern`, NaN where missing; None if some cells don't.

    Without ``scaled`` None too if a sign says what they count, as % does.

    Examples
    --------
    >>> written_numbers(pa.array(["$1,234.50", "-$6", None, "(7)"]), ".")
    array([1234.5,   -6. ,    nan,   -7. ])
    """
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    present = column.drop_null()
    signs = signs_in(present, decimal) if len(present) else set()
    if signs is None or (not scaled and signs - {THOUSANDS, ACCOUNTING}):
        return None
    signed = pc.replace_substring(column, "(", "-")
    digits = pc.replace_substring_regex(signed, rf"[^0-9+\-{decimal}]", "")
    if decimal != ".":
        digits = pc.replace_substring(digits, decimal, ".")
    return np.asarray(digits.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def pointed(column: pa.Array, decimal: str) -> pa.Array:
    """A column of text with decimal points; where commas are the decimal mark, points become commas."""
    if decimal == ".":
        return column
    for old, new in ((".", "\0"), (decimal, "."), ("\0", decimal)):
        column = pc.replace_substring(column, old, new)
    return column


def numbers_or_gaps(column: pa.Array, decimal: str, pattern: str) -> NDArray[np.float64]:
    """The numbers of a column of text; NaN where a cell is something else."""
    column = pointed(column, decimal)
    kept = pc.if_else(pc.match_substring_regex(column, pattern), column, pa.scalar(None, column.type))
    trimmed = pc.utf8_trim_whitespace(kept)
    return np.asarray(trimmed.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def date_formats(column: pa.Array) -> list[str]:
    """The ways to write dates that all cells of a column of text have.

    Examples
    --------
    >>> date_formats(pa.array(["31.12.2023", "01.02.2024"]))[0], date_formats(pa.array(["12/31/2023"]))
    ('%d.%m.%Y', ['%m/%d/%Y'])
    """
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return []
    if not len(column) or not pc.all(pc.match_substring_regex(column.slice(0, 20), DATE_LIKE)).as_py():
        return []
    time = TIMES[column[0].as_py().count(":")]
    return [how + time for how in DATE_FORMATS if _parsed(column, how + time) is not None]


def days_written(column: pa.Array, how: str) -> NDArray[np.float64] | None:
    """Dates of one notation as days since 1970, NaN where missing; None if some cells are something else."""
    stamps = _parsed(column, how)
    if stamps is None:
        return None
    seconds = stamps.cast(pa.int64()).cast(pa.float64(), safe=False)
    return np.asarray(pc.divide(seconds, 86_400.0).to_numpy(zero_copy_only=False), np.float64)


def _parsed(column: pa.Array, how: str) -> Any:
    stamps = pc.strptime(pc.utf8_trim_whitespace(column), format=how, unit="s", error_is_null=True)
    if stamps.null_count != column.null_count:
        return None
    years = pc.year(stamps.drop_null())
    if "%Y" in how and len(years) and pc.min(years).as_py() < 1000:  # 31.12.23 is no year of four digits
        return None
    return stamps
