"""Marker of an experiment embedded in a figure file or a slide file."""

from __future__ import annotations

import re

MARK = "attention-atlas-experiment:"
EMBEDDED = re.compile(MARK + "([A-Za-z0-9+/]+={0,2})")
