"""GPT against transformers' OpenAIGPT with the same weights; its input forms; its loss in fine-tuning."""

import pytest
import torch
import torch.nn.functional as F

from bertlab import BertConfig, BertForSequenceClassification, Tokenizer
from bertlab.relatives.gpt import AUXILIARY, Gpt, GptEncoder, GptOutput, add_language_loss

SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
CONFIG = BertConfig(vocab_size=40, **SHAPE, hidden_act="gelu_new", layer_norm_eps=1e-5, max_position_embeddings=12)
CONFIG = CONFIG.changed(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.3)
IDS = torch.tensor([[5, 6, 7, 8, 9, 10], [11, 12, 13, 14, 0, 0]])
MASK = torch.tensor([[1] * 6, [1, 1, 1, 1, 0, 0]])
PUBLISHED = {  # our names -> those of the released checkpoints
    "word": "tokens_embed",
    "position": "positions_embed",
    "attention.qkv": "attn.c_attn",
    "attention.out": "attn.c_proj",
    "attention_norm": "ln_1",
    "feed_forward.up": "mlp.c_fc",
    "feed_forward.down": "mlp.c_proj",
    "feed_forward_norm": "ln_2",
}


def new(seed: int = 0) -> Gpt:
    torch.manual_seed(seed)
    return Gpt(CONFIG).eval()


def theirs():
    transformers = pytest.importorskip("transformers")
    config = transformers.OpenAIGPTConfig(vocab_size=40, n_positions=12, n_embd=32, n_layer=2, n_head=4, afn="gelu")
    return transformers.OpenAIGPTLMHeadModel(config).eval()


def published_name(name: str) -> str:
    name = name.replace("encoder.layers.", "h.")
    module, _, leaf = name.rpartition(".")
    ours = next(ours for ours in PUBLISHED if module == ours or module.endswith(f".{ours}"))
    return f"{module.removesuffix(ours)}{PUBLISHED[ours]}.{leaf}"


def turned(name: str, weight: torch.Tensor) -> torch.Tensor:
    """The released checkpoints store the matrices of the layers as (in, out)."""
    return weight.T.clone() if ".layers." in name and weight.dim() == 2 else weight


@torch.no_grad()
def compare(mine: Gpt, other) -> None:
    out = mine(IDS, MASK, predict=True)
    labels = IDS.masked_fill(MASK == 0, -100)
    right = other(IDS, labels=labels)
    torch.testing.assert_close(mine.logits(out.last_hidden_state), right.logits, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(out.loss, right.loss, atol=1e-5, rtol=1e-5)


def test_their_weights_in_ours():
    mine, other = new(), theirs()
    torch.manual_seed(3)
    with torch.no_grad():
        for weight in other.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    tensors = other.transformer.state_dict()
    mine.load_state_dict({name: turned(name, tensors[published_name(name)]) for name in mine.state_dict()})
    compare(mine, other)


TOK = Tokenizer.from_pretrained("storyworld-tiny")


def seen(first: str, second: str | None) -> list[tuple[str, ...]]:
    """What a GptEncoder gives its GPT to read, row by row, with padding at the end."""
    rows: list[tuple[str, ...]] = []

    def gpt(ids, mask, predict=False):
        rows.extend(tuple(TOK.convert_ids_to_tokens(row[real])) for row, real in zip(ids, mask.bool(), strict=True))
        return GptOutput(torch.zeros(*ids.shape, 4), ())

    encoder = GptEncoder(torch.nn.Identity(), TOK.mask_token_id, orders=True).eval()
    encoder.gpt.forward = gpt
    encoder(**TOK([first, "the cat and the dog saw it"], second and [second, "a mouse"]))
    return [row for row in rows if "dog" in row and "mouse" not in row]


def test_the_extract_token_ends_a_row_and_a_pair_is_read_in_both_orders():
    pair = "[CLS] the dog [SEP] a cat [MASK]".split(), "[CLS] a cat [SEP] the dog [MASK]".split()
    assert seen("the dog", "a cat") == [tuple(row) for row in pair]


def encoder_and_batch(orders: bool) -> tuple[GptEncoder, dict[str, torch.Tensor]]:
    batch = {"input_ids": IDS, "attention_mask": MASK, "token_type_ids": torch.tensor([[0, 0, 0, 1, 1, 1], [0] * 6])}
    return GptEncoder(new(), mask_token_id=3, orders=orders).eval(), batch


@torch.no_grad()
def test_the_state_of_the_last_token_stands_for_the_text():
    encoder, batch = encoder_and_batch(orders=False)
    shown = torch.tensor([[5, 6, 7, 8, 9, 3], [11, 12, 13, 3, 0, 0]])
    states = encoder.gpt(shown, MASK).last_hidden_state
    torch.testing.assert_close(encoder(**batch).pooler_output, torch.stack([states[0, 5], states[1, 3]]))


@torch.no_grad()
def test_both_orders_of_a_pair_are_one_example():
    encoder, batch = encoder_and_batch(orders=True)
    other = torch.tensor([[5, 8, 9, 7, 6, 3]])  # [CLS] a [SEP] b b [X] -> [CLS] b b [SEP] a [X]
    types = torch.tensor([[0, 0, 0, 0, 1, 1]])
    turned = encoder(other, MASK[:1], types).pooler_output
    torch.testing.assert_close(encoder(**batch).pooler_output[:1], turned)


def test_a_head_goes_on_predicting_tokens():
    head = BertForSequenceClassification(CONFIG.changed(num_labels=3))
    (head.bert, batch), labels = encoder_and_batch(orders=False), torch.tensor([2, 0])
    add_language_loss(head.train())
    out = head(**batch, labels=labels)
    auxiliary = new()(torch.tensor([[5, 6, 7, 8, 9, 3], [11, 12, 13, 3, 0, 0]]), MASK, predict=True).loss
    torch.testing.assert_close(out.loss, F.cross_entropy(out.logits, labels) + AUXILIARY * auxiliary)
    assert head.eval()(**batch).loss is None
