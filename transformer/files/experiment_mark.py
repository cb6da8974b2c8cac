"""The text by which figures and lists of slides carry an experiment."""

from __future__ import annotations

import re

MARK = "attention-atlas-experiment:"
CARRIED = re.compile(MARK + "([A-Za-z0-9+/]+={0,2})")
