"""Errors that a user can fix; each message says how."""


class AtlasError(ValueError):
    """An error that the user can fix. The message explains how."""


class TextError(AtlasError):
    """A text that the model cannot process, for example because it is too long."""


class CheckpointError(AtlasError):
    """A model folder that is missing, damaged or inconsistent."""


class DeviceError(AtlasError):
    """A device that is missing, out of memory or failing."""


class SettingsError(AtlasError):
    """A decoding setting that is out of range, or an unknown decoding method."""


class InterventionError(AtlasError):
    """An intervention that the model or the sentence does not support."""


class AttentionError(AtlasError):
    """Attention weights from another program that are not valid weights, or do not match their tokens."""


class ServerError(AtlasError):
    """A model server that does not respond, or whose protocol or model version differs from the client's."""


class LessonError(AtlasError):
    """A lesson that is invalid, or that refers to something missing from the lesson's sentence."""


class ExperimentError(AtlasError):
    """A saved experiment that is invalid, or that this model or version cannot rerun."""


class TaskError(AtlasError):
    """An invalid task item or recorded training run, or a training run that cannot continue."""
