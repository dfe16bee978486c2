"""SequenceToSequence: the target is made from the labels, written until its end, and measured word by word."""

import pytest
import torch

from bertlab import BertConfig, InputError, Tokenizer
from bertlab.corpora import storyworld
from bertlab.corpora.examples import TextExample
from bertlab.inputs.features import collate
from bertlab.model import BertModel
from bertlab.relatives.sequence_to_sequence import SequenceToSequence, SequenceToSequenceTask, WrittenText
from bertlab.relatives.transformer import Transformer, write

TOK = Tokenizer.from_pretrained("storyworld-tiny")
CONFIG = BertConfig(TOK.vocab_size, 16, 1, 2, 32, max_position_embeddings=48, initializer_range=0.3)
CONFIG = CONFIG.changed(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
TASK = SequenceToSequenceTask(TOK, max_length=32)
PAIRS = list(storyworld.retelling(0, 6, "train"))


def new() -> SequenceToSequence:
    torch.manual_seed(0)
    return SequenceToSequence(CONFIG, TOK.cls_token_id, TOK.sep_token_id).eval()


def test_the_same_facts_in_other_words_and_only_one_right_way():
    examples = list(storyworld.retelling(0, 300, "train"))
    assert all(e.text != e.pair for e in examples) and len({e.pair for e in examples}) > 250
    told: dict[str, set[str]] = {}
    for example in examples:
        told.setdefault(example.text, set()).add(example.pair)
    assert all(len(pairs) == 1 for pairs in told.values())
    assert examples[:6] == PAIRS and not {e.text for e in examples} & {
        e.text for e in storyworld.retelling(0, 50, "test")
    }


@torch.no_grad()
def test_each_word_is_predicted_from_those_before_it():
    model, batch = new(), collate(TASK.features(PAIRS, CONFIG, learn=True), TOK)
    target = TOK([e.pair for e in PAIRS])  # [CLS] words [SEP]
    labels = target["input_ids"][:, 1:].masked_fill(target["attention_mask"][:, 1:] == 0, -100)
    assert torch.equal(batch["labels"], labels)
    plain = Transformer.forward(model, batch["input_ids"], batch["attention_mask"], target["input_ids"][:, :-1], labels)
    torch.testing.assert_close(model(**batch).loss, plain.loss)


def test_texts_written_together_are_those_written_alone():
    model, batch = new(), TOK([e.text for e in PAIRS])
    together = model.write(batch["input_ids"], batch["attention_mask"])
    for written, source, mask in zip(together, batch["input_ids"], batch["attention_mask"], strict=True):
        alone = write(model, source[mask.bool()].tolist(), TOK.cls_token_id, TOK.sep_token_id)
        assert written[: len(alone)] == alone[: len(written)] and written


def test_a_transformer_may_begin_with_a_berts_encoder():
    torch.manual_seed(1)
    bert = BertModel(CONFIG)
    model, batch = new().from_encoder(bert), TOK([e.text for e in PAIRS])
    states = bert.eval()(**batch).last_hidden_state[batch["attention_mask"].bool()]
    mine = model.encode(batch["input_ids"], batch["attention_mask"])[batch["attention_mask"].bool()]
    torch.testing.assert_close(mine, states, atol=1e-5, rtol=1e-4)


def test_right_words_at_the_right_place_count():
    example = TextExample("1", "Ruth lent Tom a pen.", "Tom borrowed a pen from Ruth.")
    written = [
        WrittenText("tom borrowed a pen from ruth."),
        WrittenText("tom borrowed a lamp from ruth."),
        WrittenText("tom"),
    ]
    assert [TASK.right_words(example, one) for one in written] == [(7, 7), (6, 7), (1, 7)]
    assert TASK.measures([example] * 3, written) == {"word_accuracy": pytest.approx(14 / 21)}
    assert TASK.compare([example], written[:1])[0].error == 0


def test_an_example_without_a_retelling_is_named():
    with pytest.raises(InputError, match="example 7: has no second text"):
        TASK.check([TextExample("7", "Ann waits.")], CONFIG)
