"""Errors that a user can fix; each message says how."""


class AtlasError(ValueError):
    """An error that the user can fix. The message explains how."""


class TextError(AtlasError):
    """The model cannot process a text, for example because it is too long."""


class CheckpointError(AtlasError):
    """A model folder is missing, damaged or inconsistent."""


class DeviceError(AtlasError):
    """A device is missing, out of memory or failing."""


class SettingsError(AtlasError):
    """A decoding setting is out of range, or the decoding method is unknown."""


class InterventionError(AtlasError):
    """The model or the sentence does not support an intervention."""


class AttentionError(AtlasError):
    """Another program's attention weights are invalid, or do not match their tokens."""


class ServerError(AtlasError):
    """A model server does not respond, or its protocol or model version differs from the client's."""


class LessonError(AtlasError):
    """A lesson is invalid, or refers to something missing from the lesson's sentence."""


class ExperimentError(AtlasError):
    """A saved experiment is invalid, or cannot be rerun with this model or this version of the program."""


class TaskError(AtlasError):
    """A task item or recorded training run is invalid, or a training run cannot continue."""
