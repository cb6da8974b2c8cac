"""Errors that a user of the atlas can fix; the message of each says how."""

from __future__ import annotations


class AtlasError(ValueError):
    """An error whose message says how to fix it."""


class TextError(AtlasError):
    """A text that cannot be translated as it stands."""


class CheckpointError(AtlasError):
    """A model folder that is missing, damaged or does not fit together."""


class DeviceError(AtlasError):
    """A device that is missing or ran out of memory."""


class InterventionError(AtlasError):
    """A change of a run that the model, or the sentence, does not allow."""


class AttentionError(AtlasError):
    """Attention of another program that is not weights, or does not fit to its tokens."""


class ServerError(AtlasError):
    """A model's server that does not answer, or that does not fit to who asks it."""


class LessonError(AtlasError):
    """A lesson that is not written as it should be, or that asks for what its sentence does not have."""


class ExperimentError(AtlasError):
    """A saved experiment that is not one, or that this model or this version cannot run again."""


class TaskError(AtlasError):
    """An item of a task, or a recorded run, that is not what it should be; or a training that cannot go on."""
