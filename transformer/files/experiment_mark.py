"""Marks the beginning of an experiment that is embedded in a figure file or a slide file."""

import re

MARK = "attention-atlas-experiment:"
EMBEDDED = re.compile(MARK + "([A-Za-z0-9+/]+={0,2})")
