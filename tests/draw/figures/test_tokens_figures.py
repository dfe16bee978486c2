from bertlab.draw.figures import tokens as tokens_figures
from bertlab.explain.pieces import CutWord

WORDS = [CutWord("Café", "cafe", ("ca", "##fe"), (7, 8)), CutWord("$x$", "$x$", ("[UNK]",), (1,))]


def texts_of(fig):
    return [text.get_text() for ax in fig.axes for text in ax.texts]


def test_every_piece_and_number_stands_on_the_way():
    assert {"Café", "cafe", "ca", "##fe", "7", "8", "[UNK]"} <= set(texts_of(tokens_figures.way_to_numbers(WORDS)))


def test_boxes_of_many_pieces_stay_on_the_page():
    fig = tokens_figures.joining({"letters": [["##aaa"] * 30, ["##bbb"] * 30]})
    right = max(patch.get_x() + patch.get_width() for patch in fig.axes[0].patches)
    assert right <= 8.0
