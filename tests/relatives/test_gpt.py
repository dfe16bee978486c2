"""GPT against transformers' OpenAIGPT, weights going both ways; its input forms; its loss in fine-tuning."""

import pytest
import torch
import torch.nn.functional as F

from bertlab import BertConfig, Tokenizer
from bertlab.relatives.gpt import AUXILIARY, Gpt, GptClassifier, from_published, task_rows, to_published

SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
CONFIG = BertConfig(vocab_size=40, **SHAPE, hidden_act="gelu_new", layer_norm_eps=1e-5, max_position_embeddings=12)
CONFIG = CONFIG.changed(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.3)
IDS = torch.tensor([[5, 6, 7, 8, 9, 10], [11, 12, 13, 14, 0, 0]])
MASK = torch.tensor([[1] * 6, [1, 1, 1, 1, 0, 0]])


def new(seed: int = 0) -> Gpt:
    torch.manual_seed(seed)
    return Gpt(CONFIG).eval()


def theirs():
    transformers = pytest.importorskip("transformers")
    config = transformers.OpenAIGPTConfig(vocab_size=40, n_positions=12, n_embd=32, n_layer=2, n_head=4, afn="gelu")
    return transformers.OpenAIGPTLMHeadModel(config).eval()


@torch.no_grad()
def compare(mine: Gpt, other) -> None:
    out = mine(IDS, MASK, predict=True)
    labels = IDS.masked_fill(MASK == 0, -100)
    right = other(IDS, labels=labels)
    torch.testing.assert_close(mine.logits(out.last_hidden_state), right.logits, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(out.loss, right.loss, atol=1e-5, rtol=1e-5)


def test_our_weights_in_theirs():
    mine, other = new(), theirs()
    missing, unexpected = other.transformer.load_state_dict(to_published(mine), strict=False)
    assert not missing and not unexpected
    other.tie_weights()
    compare(mine, other)


def test_their_weights_in_ours():
    mine, other = new(), theirs()
    torch.manual_seed(3)
    with torch.no_grad():
        for weight in other.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    from_published(mine, other.transformer.state_dict())
    compare(mine, other)


@torch.no_grad()
def test_nothing_is_known_of_what_comes_next():
    model, later = new(), IDS.clone()
    later[0, 4] = 30
    change = (model(later).last_hidden_state - model(IDS).last_hidden_state)[0].abs().amax(-1)  # (S,)
    assert (change[:4] == 0).all() and (change[4:] > 1e-3).all()


TOK = Tokenizer.from_pretrained("storyworld-tiny")


@pytest.mark.parametrize(
    "form, others, rows",
    [
        ("rows", [], ["[CLS] the dog [MASK]"]),
        ("rows", ["a cat"], ["[CLS] the dog [SEP] a cat [MASK]"]),
        ("orders", ["a cat"], ["[CLS] the dog [SEP] a cat [MASK]", "[CLS] a cat [SEP] the dog [MASK]"]),
        ("choices", ["a cat", "rain"], ["[CLS] the dog [SEP] a cat [MASK]", "[CLS] the dog [SEP] rain [MASK]"]),
    ],
)
def test_the_four_forms_of_input(form, others, rows):
    found = [" ".join(TOK.convert_ids_to_tokens(ids)) for ids in task_rows(TOK, form, "the dog", others)]
    assert found == rows


def test_a_row_that_is_too_long_loses_the_end_of_the_first_text():
    (row,) = task_rows(TOK, "rows", "the dog saw the cat and ran", ["a cat"], max_length=8)
    assert TOK.convert_ids_to_tokens(row) == "[CLS] the dog saw [SEP] a cat [MASK]".split()


def rows(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    ids, mask = torch.randint(1, 40, (2, count, 6)), torch.ones(2, count, 6, dtype=torch.long)
    mask[0, 0, 4:] = 0
    return ids, mask


@torch.no_grad()
def test_the_state_of_the_last_token_is_classified():
    model, (ids, mask) = GptClassifier(new(), classes=3).eval(), rows(1)
    states = model.gpt(ids[:, 0], mask[:, 0]).last_hidden_state
    right = model.classifier(torch.stack([states[0, 3], states[1, 5]]))
    torch.testing.assert_close(model(ids, mask).logits, right)
    labels = torch.tensor([2, 0])
    auxiliary = model.gpt(ids[:, 0], mask[:, 0], predict=True).loss
    torch.testing.assert_close(model(ids, mask, labels).loss, F.cross_entropy(right, labels) + AUXILIARY * auxiliary)


@torch.no_grad()
def test_both_orders_are_one_example_and_choices_get_a_logit_each():
    ids, mask = rows(2)
    orders = GptClassifier(new(), classes=2, form="orders").eval()
    torch.testing.assert_close(orders(ids, mask).logits, orders(ids.flip(1), mask.flip(1)).logits)
    choices = GptClassifier(new(), classes=9, form="choices").eval()
    assert choices(ids, mask).logits.shape == (2, 2)
    torch.testing.assert_close(choices(ids, mask).logits.flip(1), choices(ids.flip(1), mask.flip(1)).logits)
