import pytest

from pages.ui.text.number_format import formatted, parameter_count, typeset


@pytest.mark.parametrize(
    ("value", "form", "said"),
    [
        (-2.694, ".2f", "−2.69"),
        (0.5, "+.2f", "+0.50"),
        (4.1e-8, ".1e", "4.1e−08"),
        (-1e-7, 4, "−1.0e−07"),
        (0.25, 6, "0.250000"),
    ],
)
def test_displayed_number_has_a_typographic_minus_sign(value, form, said):
    """A browser would break the line after the hyphen in “4.1e-08”."""
    assert typeset(value, form) == said


def test_exported_number_has_a_hyphen_as_minus_sign():
    assert (formatted(-0.5), formatted(-1e-7)) == ("-0.5000", "-1.0e-07")


@pytest.mark.parametrize(
    ("count", "said"),
    [(17_228_224, "17.2 million parameters"), (100_000, "0.1 million parameters"), (85_268, "85,268 parameters")],
)
def test_parameter_count_is_in_millions_except_for_small_models(count, said):
    assert parameter_count(count) == said
