"""Marker for the experiment embedded in figure files and slide files."""

from __future__ import annotations

import re

MARK = "attention-atlas-experiment:"
EMBEDDED = re.compile(MARK + "([A-Za-z0-9+/]+={0,2})")
