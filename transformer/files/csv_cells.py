"""Escapes texts for CSV files, because a spreadsheet would run some of them as formulas."""

from __future__ import annotations

import re

# FORMULA matches the first character of a cell that a spreadsheet would run as a formula. NUMBER matches numbers, which
# are safe although some start with such a character.
FORMULA = re.compile(r"[=+\-@＝＋－＠\t\r\n]")
# Where the list separator is not a comma (German or French Windows, for example), a spreadsheet starts a new cell after
# these characters. Quotation marks do not prevent it: they count only at the start of a cell.
INNER_FORMULA = re.compile(r'([;\t\r\n])(?=[" ]*[=+\-@＝＋－＠])')
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def escaped(cell: object) -> object:
    """Return a cell for a CSV file, with an apostrophe before text that a spreadsheet would run as a formula.

    See OWASP, CSV injection. The apostrophe is also inserted after a semicolon, a tab or the end of a line in the cell.
    Numbers written as text stay unchanged. `assets/attention_browser/exports.js` does the same.
    """
    if not isinstance(cell, str) or NUMBER.fullmatch(cell):
        return cell
    apart = INNER_FORMULA.sub(r"\1'", cell)
    return f"'{apart}" if FORMULA.match(apart) else apart
