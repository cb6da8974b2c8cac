"""Escapes CSV cells that a spreadsheet would otherwise run as formulas."""

import re

# FORMULA matches the first character of a cell that a spreadsheet would run as a formula. NUMBER matches numbers, which
# are safe even if they begin with + or -.
FORMULA = re.compile(r"[=+\-@＝＋－＠\t\r\n]")
# INNER_FORMULA matches a separator before a formula. A spreadsheet whose list separator is not a comma (as on German or
# French Windows) begins a new cell there. Quotation marks do not prevent this: they count only at a cell's start.
INNER_FORMULA = re.compile(r'([;\t\r\n])(?=[" ]*[=+\-@＝＋－＠])')
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def escaped(cell: object) -> object:
    """Return a CSV cell with an apostrophe before any text that a spreadsheet would run as a formula.

    Source: OWASP, "CSV Injection". An apostrophe is also inserted after a semicolon, tab or line break within the cell,
    if a formula could begin there. Numbers written as text stay unchanged. `assets/attention_browser/exports.js`
    applies the same rule.
    """
    if not isinstance(cell, str) or NUMBER.fullmatch(cell):
        return cell
    apart = INNER_FORMULA.sub(r"\1'", cell)
    return f"'{apart}" if FORMULA.match(apart) else apart
