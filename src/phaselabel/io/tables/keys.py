"""Columns of whole numbers in, why one of them only names its rows out: ids, postcodes, telephone numbers."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

#: Words in the name of a column that only names its rows.
KEY_WORDS = frozenset(
    """id ids key uid uuid guid pk zip zipcode postcode postalcode postal plz phone telephone tel fax mobile
    ssn iban isbn ean gtin barcode sku account accountno""".split()
)

#: With fewer rows, whole numbers that are all different say nothing.
FEWEST_ROWS = 20

#: Keys without a telling name have at least this many digits.
KEY_DIGITS = 5


class KeyWatch:
    """What speaks for a key in the batches of one column.

    Attributes
    ----------
    whole : bool
        Whether all values are whole numbers.
    zeros : bool
        Whether some value is written with zeros before it.
    """

    def __init__(self) -> None:
        self.whole, self.zeros, self.several = True, False, False
        self.blocks: list[NDArray[np.float64]] = []

    def add(self, present: pa.Array, numbers: NDArray[np.float64]) -> None:
        """Look at the values of one more batch."""
        if not self.whole:
            return
        self.whole = bool((numbers[:50] == np.floor(numbers[:50])).all()) and bool(
            (numbers == np.floor(numbers)).all()
        )
        if not self.whole:
            self.blocks = []
            return
        if pa.types.is_string(present.type) and not self.zeros:
            self.zeros = bool(pc.any(pc.match_substring_regex(present, r"^0\d+$")).as_py())
        self.blocks.append(numbers)

    def merge(self, later: "KeyWatch") -> None:
        """Add what is known of the batches that follow."""
        self.whole, self.zeros = self.whole and later.whole, self.zeros or later.zeros
        self.blocks = [*self.blocks, *later.blocks] if self.whole else []

    def reason(self, name: str) -> str:
        """Why the column is a key; empty if it is none."""
        if not self.whole or not self.blocks:
            return ""
        if is_named_key(name):
            return "whole numbers under the name of a key"
        if self.zeros:
            return "codes, written with zeros before them"
        values = np.concatenate(self.blocks)
        if len(values) < FEWEST_ROWS or len(np.unique(values)) < len(values):
            return ""
        low, high = float(values.min()), float(values.max())
        if high - low < 1.5 * len(values) and low >= 0:
            return "whole numbers, each once and without gaps"
        digits = len(str(int(low)))
        if low > 0 and digits == len(str(int(high))) and digits >= KEY_DIGITS and high < 1e15:
            checked = "with a check digit" if digits >= 8 and _luhn(values) else "of one length"
            return f"whole numbers, each once and {checked}"
        return ""


def is_named_key(name: str) -> bool:
    """Whether a word in the name of a column says that it only names its rows.

    Examples
    --------
    >>> is_named_key("customerID"), is_named_key("home phone"), is_named_key("width")
    (True, True, False)
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return not KEY_WORDS.isdisjoint(re.findall(r"[a-z]+", words))


def _luhn(values: NDArray[np.float64]) -> bool:
    """Whether the last digit of all numbers is the check digit of credit cards.

    Examples
    --------
    >>> _luhn(np.array([79927398713.0])), _luhn(np.array([79927398710.0]))
    (True, False)
    """
    rest, total, double = values.astype(np.int64), np.zeros(len(values), np.int64), False
    while rest.any():
        digit = rest % 10
        digit = np.where(double & (digit > 4), 2 * digit - 9, digit * (1 + double))
        total, rest, double = total + digit, rest // 10, not double
    return bool((total % 10 == 0).all())
