"""Registry of all pages, with their titles, navigation sections and parts.

A page NAME has the script pages/NAME.py and the folder pages/ui/NAME/. If it has URL parameters, they are in
pages/ui/params/NAME.py. The navigation, the part selector, the README's table and tests of every page are generated
from this registry.
"""

from collections.abc import Mapping
from typing import Any

from pages.ui.params.fields import one_of
from pages.ui.params.page import Page, Part
from transformer.values.trace import Kind

_PAGES = (
    Page(
        "translate",
        "Translate",
        "Look",
        "Type a sentence. See its translation and the whole model as one drawing.",
        "the translation, and a drawing of the Transformer with three attention maps; every box opens a page",
    ),
    Page(
        "encoder_attention",
        "Encoder attention",
        "Look",
        "How the words of your sentence look at each other, in every head.",
        "how the tokens of the English sentence look at each other",
        folder="attention",
        kind="encoder",
        bet="looks_most.looks_most",
    ),
    Page(
        "masked_attention",
        "Masked attention",
        "Look",
        "How each word of the translation looks back at the words before it.",
        "how each token of the German sentence looks back at earlier ones, never ahead",
        folder="attention",
        kind="decoder",
        bet="looks_most.looks_most",
    ),
    Page(
        "cross_attention",
        "Cross attention",
        "Look",
        "Which words of your sentence each word of the translation looks at.",
        "which English tokens each German token looks at",
        folder="attention",
        kind="cross",
        bet="looks_most.looks_most",
    ),
    Page(
        "decoding",
        "Decoding step by step",
        "Look",
        "The translation token by token, with the candidates at each step. Choose a candidate and see what follows.",
        "how the German sentence is written, token by token (you can play, stop, step back, see the other "
        "candidates and force one), and the whole tree of a beam search",
        bet="next_token.next_token",
    ),
    Page(
        "language_model",
        "Language model",
        "Look",
        "See how a model continues a text, what it looks at, and how likely it considers a text.",
        "how a small decoder-only Transformer continues a text with every decoding method; the probability of each "
        "token, the attention of all heads, a comparison of two texts, and copying heads",
        needs="language model",
        parts={
            "continue": Part("Continue a text", "continuation.show_continuation"),
            "steps": Part("Step by step", "steps.show_steps"),
            "likely": Part("Score a text", "likelihood.show_likelihood"),
            "heads": Part("Copying heads", "copying_heads.show_copying_heads"),
        },
    ),
    Page(
        "compare_heads",
        "Compare heads",
        "Look",
        "See what every head does, find similar heads, or compare two sentences side by side.",
        "for the translator or a language model: all measurements of all heads, similar heads, a comparison of two "
        "heads, one word through all layers, and matching heads of two models",
        parts={
            "heads": Part("All heads", "all_heads.show_all_heads"),
            "similarity": Part("Similarity", "similar_heads.show_similar_heads"),
            "two_heads": Part("A vs. B", "two_heads.show_two_heads", former=("versus",)),
            "layers": Part("Layers", "across_layers.show_across_layers"),
            "models": Part("Models", "two_models.show_two_models"),
        },
    ),
    Page(
        "your_own_attention",
        "Your own attention",
        "Look",
        "Load a model's attention, for all heads, from a file that another program wrote.",
        "the attention of any model, from a file that a notebook or a script wrote with `attention_atlas.show`; "
        "*Compare heads* can compare the model's heads",
        needs="nothing",
    ),
    Page(
        "gallery",
        "Gallery of heads",
        "Look",
        "Heads that each have one recognisable job, with examples.",
        "what individual heads of this model do, each shown on the sentences that illustrate it best",
    ),
    Page(
        "switch_heads_off",
        "Switch heads off",
        "Ask",
        "Switch heads off and see what the model writes without them.",
        "the translation with any of the 144 heads switched off, scaled or replaced, beside the original; and how "
        "important each head is for the sentence",
        bet="spare_head.spare_head",
    ),
    Page(
        "change_attention",
        "Change what it looks at",
        "Ask",
        "Make a word look at another word, and see what the model writes.",
        "click to redirect a row of attention in one head or in all heads, or erase words; see how the next word and "
        "the rest of the translation change",
        bet="make_it_say.make_it_say",
    ),
    Page(
        "patch",
        "Patch",
        "Ask",
        "Copy values from one sentence's run into another's, and see which of them a translated word needs.",
        "two sentences that differ in a word, and what changes if one run takes a value from the other: the output "
        "of a head or feed-forward network, a row of attention, or a cell of the residual stream; a grid of all "
        "single patches; and what a patch can reach",
    ),
    Page(
        "what_mattered",
        "What mattered",
        "Ask",
        "Which words a translated word depends on, according to several methods, which can disagree.",
        "which source words a translated word depends on, according to several methods; whether the methods agree; "
        "and which part of the model wrote the word",
        bet="missing_word.missing_word",
        parts={
            "strip": Part("Which words", "words.show_words"),
            "writers": Part("Which parts of the model", "components.show_components"),
            "agreement": Part("Do the methods agree?", "agreement.show_agreement"),
            "sides": Part("{source} or {target}", "sides.show_sides"),
            "guess": Part("Guess first", "guess.show_guess"),
        },
    ),
    Page(
        "how_it_came_about",
        "How it came about",
        "Ask",
        "Follow a predicted token back through heads and feed-forward networks, and cut a path to test it.",
        "for the translator or a language model: the exact graph of the words, heads and feed-forward networks that "
        "produced a predicted token; the measured effect of cutting a path; and why a head looks at a word",
        parts={
            "graph": Part("The graph", "graph.show_graph"),
            "score": Part("Why a head looks at a token", "score.show_score"),
        },
    ),
    Page(
        "positional_encoding",
        "Positional encoding",
        "Understand",
        "How the model knows the order of the words, and what happens if the order is lost.",
        "the curves, matrix, distances and rotations of positional encodings, and what happens to the model without "
        "word order",
        parts={
            "shuffled": Part("What if word order is lost?", "shuffled_text.show_shuffled", former=("matters",)),
            "curves": Part("Curves", "curves.show_curves", reads=False),
            "matrix": Part("Matrix", "matrix.show_matrix", reads=False),
            "distances": Part("Distances", "distances.show_distances", reads=False, former=("measures",)),
            "sum": Part("Added or concatenated", "addition.show_addition"),
            "alternatives": Part("Alternatives", "alternatives.show_alternatives", reads=False, former=("others",)),
        },
    ),
    Page(
        "inside_a_layer",
        "Inside a layer",
        "Understand",
        "Every number on the way from the sentence to the translation, step by step.",
        "for the translator or a language model: every stage with its formula, shape and tensor; all "
        "calculations behind a cell of an attention map; and the mask, the norms and the parameters",
        parts={
            "stages": Part("Stage by stage", "stages.show_stages", former=("way",)),
            "cell": Part("One cell", "cell.show_cell"),
            "example": Part("Worked example", "worked_example.show_example", reads=False),
            "mask": Part("The mask", "mask.show_mask"),
            "norm": Part("Norm and residual", "norm_and_residual.show_norm"),
            "parameters": Part("Parameters", "parameters.show_parameters", reads=False),
        },
    ),
    Page(
        "backpropagation",
        "Backpropagation",
        "Understand",
        "How a mistake becomes a small change to every parameter.",
        "the gradient of the sentence's loss, step by step back to the embeddings; every gradient computed by "
        "hand and by autograd; any gradient entry as a sum of terms; and a comparison of pre-norm and post-norm",
        parts={
            "gradients": Part("Step by step, backwards", "gradient.show_gradient", former=("walk",)),
            "sizes": Part("Large and small gradients", "sizes.show_sizes"),
        },
    ),
    Page(
        "training_lab",
        "Training lab",
        "Build",
        "Watch small models learn, or train one yourself.",
        "a small Transformer that learns a task (copy, reverse, sort, addition …) while you watch: all attention "
        "maps, the loss and head scores at every recorded step; the answer to your own input; "
        "and grokking, with the Fourier spectrum of the embeddings",
        needs="nothing",
    ),
    Page(
        "long_texts",
        "Long texts",
        "Build",
        "What attention to long texts costs, and ways to make it cheaper.",
        "why the attention map of a long text does not fit into memory; bytes and seconds by text length for "
        "full, local and compressed attention; the maps for your own text; and the quality lost by cheaper attention",
        needs="nothing",
        parts={
            "map": Part("The map", "text_maps.show_maps", reads=False),
            "cost": Part("Cost", "cost_plot.show_costs", reads=False),
            "loss": Part("Loss", "loss_plot.show_losses", reads=False),
        },
    ),
    Page(
        "lessons",
        "Lessons",
        "Learn",
        "Short lessons with questions, from the first attention map to the limits of attention as an explanation.",
        "short lessons that ask for a guess before they show a number; teachers can add their own",
    ),
    Page(
        "about",
        "About the model",
        "Learn",
        "How this model is built, how it was trained, how good it is and where it fails.",
        "architecture, parameters, training data, scores and limits",
    ),
)
PAGES: Mapping[str, Page] = {page.name: page for page in _PAGES}
# The page at the URL without a path.
FIRST = "translate"
KINDS_OF_PAGES: Mapping[str, Kind] = {page.name: page.kind for page in _PAGES if page.kind}


def sections() -> dict[str, tuple[Page, ...]]:
    """Return the pages of each navigation section, in registry order."""
    names = dict.fromkeys(page.section for page in _PAGES)
    return {name: tuple(page for page in _PAGES if page.section == name) for name in names}


def part_of(page: str) -> Any:
    """Return a field whose value is the name of one of the page's parts."""
    parts = PAGES[page].parts
    return one_of(tuple(parts), former={former: name for name, part in parts.items() for former in part.former})
