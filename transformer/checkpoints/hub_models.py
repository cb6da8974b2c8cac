"""Well-known OPUS-MT translation models, with their languages, size and installation command."""

from dataclasses import dataclass

from transformer.checkpoints.available_models import OWN_FOLDER
from transformer.checkpoints.memory import gigabytes, memory_of
from transformer.text.languages import Languages, language

# Number of parameters assumed for every OPUS-MT model (they have 68 to 78 million), and bytes per parameter (float32).
PARAMETERS, BYTES_PER_PARAMETER = 77_000_000, 4
# Languages for which OPUS-MT has a dedicated model into English, and from English.
TO_ENGLISH = "ar bn cs da de es fi fr hi hu id it ja ko nl pl ru sv th tr uk ur vi zh"
FROM_ENGLISH = "ar cs da es fi fr he hi hu id it nl ro ru sv uk vi zh"
# Code of the multilingual model, which reads 120 languages.
MULTILINGUAL = "mul"


@dataclass(frozen=True)
class HubModel:
    """An OPUS-MT model on the Hugging Face Hub.

    Attributes:
        source, target: language codes, as in the model's name on the Hub.
    """

    source: str
    target: str

    def __str__(self) -> str:
        return str(self.languages)

    @property
    def languages(self) -> Languages:
        return Languages(language(self.source), language(self.target))

    @property
    def folder(self) -> str:
        """Name of the folder that `command` creates."""
        return f"{self.source}-{self.target}"

    @property
    def command(self) -> str:
        """Shell command that downloads the model and creates the model folder."""
        return f"attention-atlas import Helsinki-NLP/opus-mt-{self.folder} --output {OWN_FOLDER}/{self.folder}"

    @property
    def requirements(self) -> str:
        """Text for the user about the disk space and memory that the model needs."""
        resident, loading = memory_of(PARAMETERS, BYTES_PER_PARAMETER)
        return (
            f"about {gigabytes(PARAMETERS * BYTES_PER_PARAMETER)} on disk and {gigabytes(resident)} of memory, and up "
            f"to {gigabytes(loading)} while it is being loaded"
        )


def hub_models() -> dict[str, HubModel]:
    """Return all listed models by folder name: models from English first, then models into English."""
    models = [HubModel("en", code) for code in FROM_ENGLISH.split()]
    models += [HubModel(code, "en") for code in TO_ENGLISH.split()]
    models.sort(key=lambda each: (each.source != "en", str(each)))
    return {model.folder: model for model in models}


def model_for(source: str) -> HubModel:
    """Return the dedicated model that translates a language into English, or the multilingual model if none exists."""
    return hub_models().get(f"{source}-en") or HubModel(MULTILINGUAL, "en")
