"""What can go wrong for a person who uses the atlas; the text of each error says what to do about it."""

from __future__ import annotations


class AtlasError(ValueError):
    """Something a reader of the message can mend."""


class TextError(AtlasError):
    """A text that cannot be translated as it stands."""


class CheckpointError(AtlasError):
    """A model folder that is missing, damaged or does not fit together."""


class DeviceError(AtlasError):
    """A device that is not there or ran out of memory."""
