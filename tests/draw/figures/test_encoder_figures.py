"""The figures of the encoder chapter can be drawn, at the common width."""

from bertlab.draw.figures import encoder as encoder_figures


def test_a_bar_says_what_its_model_has_in_all():
    drawn = encoder_figures.parameter_bars({"one": {"a": 10_000_000, "b": 21_300_000}})
    assert [text.get_text() for text in drawn.axes[0].texts] == ["10.0 M\n32%", "21.3 M\n68%", "31.3 M"]
