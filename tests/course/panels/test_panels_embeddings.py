"""The panels of the chapters on context and on input embeddings."""

import torch

from bertlab import BertConfig, BertForPreTraining, Tokenizer
from bertlab.course import panels
from bertlab.course.panels import positions_panel


def test_picture_follows_the_controls():
    box = positions_panel({"start": torch.eye(5), "end": torch.rand(5, 5)}, position=3)
    moment, position, result = box.children
    assert result.value.startswith('<img style="max-width:100%" src="data:image/png;base64,') and position.max == 4
    seen = {result.value}
    position.value = 1
    seen.add(result.value)
    moment.value = "start"
    seen.add(result.value)
    assert len(seen) == 3


TEXTS = ["the animal didn't cross the street because it was too tired.", "my dog is hairy. he likes walks."] * 3


def test_words_come_into_sight_with_the_sliders():
    tok = Tokenizer.train(TEXTS, vocab_size=110)
    torch.manual_seed(0)
    sizes = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40)
    model = BertForPreTraining(BertConfig(vocab_size=tok.vocab_size, max_position_embeddings=48, **sizes)).eval()
    box = panels.context_panel(model, tok, "my dog [MASK] hairy")
    text, left, right, result = box.children
    assert "hairy" not in result.value.partition("<table>")[0] and result.value.count("<tr>") == 5
    right.value = 20
    assert "hairy" in result.value.partition("<table>")[0]
    left.value = 1
    assert ">my<" not in result.value.partition("<table>")[0]
    text.value = "<b> no gap"
    assert "holds no [MASK]" in result.value and "<b> no" not in result.value
