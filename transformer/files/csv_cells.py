"""Makes texts harmless for spreadsheets, which would compute some of them as formulas."""

from __future__ import annotations

import re

# FORMULA matches the start of a cell that a spreadsheet would compute. NUMBER matches numbers that look like one.
FORMULA = re.compile(r"[=+\-@＝＋－＠\t\r\n]")
# Where the list separator is not a comma (German, French, … Windows), a spreadsheet starts a cell after this.
# Quotation marks do not prevent it: they count only at the start of a cell.
FORMULA_WITHIN = re.compile(r'([;\t\r\n])(?=[" ]*[=+\-@＝＋－＠])')
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def harmless(cell: object) -> object:
    """Return a cell as spreadsheets show it, with an apostrophe before text that they would compute.

    See OWASP, CSV injection. The apostrophe also follows a semicolon, a tab or the end of a line within the cell.
    Numbers written as text stay unchanged. `assets/attention_browser/exports.js` does the same.
    """
    if not isinstance(cell, str) or NUMBER.fullmatch(cell):
        return cell
    apart = FORMULA_WITHIN.sub(r"\1'", cell)
    return f"'{apart}" if FORMULA.match(apart) else apart
