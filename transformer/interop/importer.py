"""Implements the `import` command, which converts a Hugging Face model folder to this project's format."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from transformer.checkpoints.huggingface_files import INDEX, PICKLE, HuggingFaceFolder
from transformer.checkpoints.memory import check_memory, memory_available, memory_message
from transformer.checkpoints.model_files import WEIGHTS, save_model
from transformer.checkpoints.model_texts import CARD
from transformer.errors import CheckpointError
from transformer.files.atomic_writes import atomic_folder, write_text
from transformer.interop import hub
from transformer.interop.reader import ImportedModel, read_folder
from transformer.running.translator import Translator
from transformer.text.languages import Language, Languages, language, typed_language, write_languages

# Placeholder names for a model whose languages are unknown.
UNKNOWN = Languages(language("source"), language("target"))


def import_model(
    source: str,
    output: Path,
    *,
    revision: str | None = None,
    allow_pickle: bool = False,
    tie: bool = False,
    languages: tuple[str | None, str | None] = (None, None),
    say: Callable[[str], object] = lambda _: None,
) -> str:
    """Convert a Hugging Face translation model of a supported family to a model folder in this project's format.

    Args:
        source: the model's folder, or a repository to download from the Hugging Face Hub, "owner/name".
        output: folder to write; must be empty if it exists.
        revision: revision of the repository; None for the newest.
        allow_pickle: whether to read pytorch_model.bin if there is no safetensors file.
        tie: as in `read_folder`.
        languages: codes of the source and target languages; None keeps the folder's language.
        say: function that receives one line about the memory needed, before the model is loaded.

    Returns:
        Report for the terminal, with the model's properties and the importer's decisions.

    Raises:
        AtlasError: the model cannot be read, the output folder is not empty, or a language code is invalid.
    """
    try:
        source_language, target_language = (None if code is None else typed_language(code) for code in languages)
    except ValueError as error:
        raise CheckpointError(f"{error}.") from error
    with atomic_folder(output) as unfinished:
        folder, name, commit = _locate(source, revision, allow_pickle)
        found = HuggingFaceFolder(folder)
        needed, line = memory_message([folder / file for file in found.weight_files()])
        if needed:
            say(line)
        check_memory(folder, needed, memory_available())
        model = read_folder(
            found, name=name, allow_pickle=allow_pickle, tie=tie, revisions=bool(commit), languages=languages
        )
        model = replace(model, card=replace(model.card, languages=_languages(model, source_language, target_language)))
        save_model(unfinished, model.config, model.weights, model.tokenizer, exact=True)
        write_text(unfinished / CARD, card(model, name, commit))
        write_languages(unfinished, model.card.languages or UNKNOWN)
        _check(unfinished)
        size = (unfinished / WEIGHTS).stat().st_size
    return "\n".join([*_card_facts(model, name, commit), f"{size / 1e6:.0f} MB of weights", f"written to {output}"])


def _locate(source: str, revision: str | None, pickle: bool) -> tuple[Path, str, str]:
    """Return the model's folder, name and commit; download the model if `source` is not a folder."""
    path = Path(source).expanduser()
    # `Path.is_dir` would raise an error for a name that is too long.
    if os.path.isdir(path):
        if revision is not None:
            raise CheckpointError(
                f"{path} is a folder: leave out --revision, which is for names on the Hugging Face Hub."
            )
        return path, path.resolve().name, ""
    if os.path.exists(path):
        raise CheckpointError(f"{path} is a file: pass its folder.")
    if not hub.NAME.fullmatch(source) or source.startswith("."):
        raise CheckpointError(
            f"{path} is neither a folder nor a name on the Hugging Face Hub, such as Helsinki-NLP/opus-mt-en-fr."
        )
    folder, commit = hub.fetch(source, revision=revision, pickle=pickle)
    if not pickle and not any((folder / name).exists() for name in (WEIGHTS, INDEX)):
        raise CheckpointError(
            f"{source} has no safetensors file. Try --revision refs/pr/1, which often has one. Or add "
            f"--allow-pickle-weights, which reads only the weights in {PICKLE}, a file that may contain code."
        )
    return folder, source, commit


def _languages(model: ImportedModel, source: Language | None, target: Language | None) -> Languages | None:
    """Return the source and target languages, each from the folder if it is not given; None if both are unknown."""
    if (source is None and target is None) or any(code.startswith("<<") for code in model.tokenizer.codes):
        return model.card.languages
    languages_of_card = model.card.languages or UNKNOWN
    return Languages(source or languages_of_card.source, target or languages_of_card.target)


def _check(folder: Path) -> None:
    """Check that the written folder can be loaded and that the model's outputs are finite."""
    translation = Translator.load(folder, "cpu").trace("1")
    if not np.isfinite(translation.log_probs).all():
        raise CheckpointError("The model's outputs are not finite: its weights are too large.")


def _card_facts(model: ImportedModel, name: str, commit: str) -> list[str]:
    config, tokenizer = model.config, model.tokenizer
    tokens = f"{tokenizer.source_size:,}"
    if tokenizer.size != tokenizer.source_size:
        tokens += f" and {tokenizer.size:,}"
    facts = [
        f"{name}{f', revision {commit}' if commit else ''}",
        f"{config.encoder_layers} + {config.decoder_layers} layers, {config.heads} heads, D {config.d_model}, "
        f"F {config.d_ff}, {config.activation}, {tokens} tokens",
        " to ".join(each.name for each in model.card.languages)
        if model.card.languages
        else "languages unknown: delete this folder and import the model again with --source and --target, or write "
        "the languages into languages.json",
        f"licence: {model.card.licence or 'not stated'}",
    ]
    read = [code for code in model.tokenizer.codes if code.startswith("<")]
    written = [code for code in model.tokenizer.codes if code.startswith(">")]
    if read:
        example = " ".join(codes[0] for codes in (read, written) if codes)
        facts.append(f"a text may begin with language codes, such as {example}; there are {len(read)} languages")
    elif written:
        facts.append(f"a text begins with the code of its target language: {', '.join(written)}")
    return facts + list(model.notes)


def card(model: ImportedModel, name: str, commit: str) -> str:
    """Return the imported model's card: origin, the importer's decisions, and the original card."""
    title = f"{name.split('/')[-1]}, imported"
    if model.card.languages:
        title = f"{' → '.join(each.name for each in model.card.languages)}, imported"
    facts = "\n".join(f"- {fact}" for fact in _card_facts(model, name, commit))
    return f"### {title}\n\n{facts}\n" + (f"\n#### Original card\n\n{model.card.text}\n" if model.card.text else "")
