"""The whole encoder, its first weights, and its parameters counted."""

from typing import Any

import torch
from torch import Tensor, nn

from bertlab.config import BertConfig
from bertlab.course.exercise import Exercise
from bertlab.course.observe import module, small_batch
from bertlab.course.solutions import encoder
from bertlab.course.solutions.config import Config


def _inputs() -> list[tuple]:
    sizes = ((12, 3, 2, 7), (6, 1, 1, 5))  # hidden, heads, layers, tokens
    options: dict[str, Any] = {"attention_probs_dropout_prob": 0.3, "hidden_dropout_prob": 0.4, "layer_norm_eps": 0.1}
    return [
        ((Config(30, H, L, A, 10, max_position_embeddings=9, **options),), {"forward": small_batch(width=S)})
        for H, A, L, S in sizes
    ]


MASK = "(attention_mask == 0)[:, None, None, :]"
POOLED = "torch.tanh(self.dense(hidden[:, 0]))"

check_bert_model = Exercise(
    encoder.Bert,
    _inputs,
    right="Right: with the same weights your BERT and the library's give the same.",
    observe=module,
    gives=("the last hidden state", "the pooler's output"),
    helpers=(encoder.Encoder, encoder.Pooler),
    kept=("Encoder", "Pooler", "Bert"),
    slips=[
        ("padding was not hidden: attention_mask is not used.", f"{MASK} => None"),
        ("hide the columns of padding, not its rows: (B, 1, 1, S).", "None, None, :] => None, :, None]"),
        (
            "the mask is the wrong way round: attention_mask is 1 on tokens, `padding` is True elsewhere.",
            "attention_mask == 0 => attention_mask == 1",
        ),
        (
            "token_type_ids are not used.",
            "self.embeddings(input_ids, token_type_ids) => self.embeddings(input_ids, 0 * token_type_ids)",
        ),
        (
            "attention_mask and token_type_ids have changed places.",
            "(input_ids, token_type_ids) => (input_ids, attention_mask)",
            "(attention_mask == 0) => (token_type_ids == 0)",
        ),
        (
            "the layers are not applied: these are the embeddings.",
            "self.encoder(self.embeddings(input_ids, token_type_ids), padding) => self.embeddings(input_ids, "
            "token_type_ids)",
        ),
        (
            "[Layer(config)] * L is one layer: make a new one for each.",
            "Layer(config) for _ in range(config.num_hidden_layers) => [Layer(config)] * config.num_hidden_layers",
        ),
        (
            "only the last layer is applied: each gets what the one below gave.",
            "x = layer(x, padding) => y = layer(x, padding)",
            "return x => return y",
        ),
        ("the pooler's tanh is missing.", f"{POOLED} => self.dense(hidden[:, 0])"),
        ("this is the state of [CLS] itself: the pooler has a layer and a tanh.", f"{POOLED} => hidden[:, 0]"),
        ("the pooler reads [CLS] alone, hidden[:, 0], not the mean over the tokens.", "hidden[:, 0] => hidden.mean(1)"),
        ("the pooler reads the first token, [CLS], not the last.", "hidden[:, 0] => hidden[:, -1]"),
        ("the pooler has tanh, not ReLU.", "torch.tanh => torch.relu"),
        ("the pooler is for the first token alone: (B, H).", "hidden[:, 0] => hidden"),
        (
            "the encoder is not learned: no gradient reaches it; no detach and no no_grad.",
            "return hidden, self => hidden = hidden.detach(); return hidden, self",
        ),
        (
            "the pooler passes no gradient on to the encoder: no detach.",
            "self.pooler(hidden) => self.pooler(hidden.detach())",
        ),
        (
            "the embeddings are not learned: no gradient reaches them; no detach and no no_grad.",
            "self.embeddings(input_ids, token_type_ids) => self.embeddings(input_ids, token_type_ids).detach()",
        ),
    ],
)


class _Parts(nn.Module):
    """One of each kind, with the decoder's matrix tied, and a matrix that is no layer's."""

    def __init__(self, pad: int) -> None:
        super().__init__()
        self.word = nn.Embedding(400, 64, padding_idx=pad)
        self.position = nn.Embedding(100, 64)
        self.layer: Any = nn.ModuleDict({"dense": nn.Linear(64, 64), "norm": nn.LayerNorm(64)})
        self.decoder = nn.Linear(64, 400)
        self.decoder.weight = self.word.weight
        self.own = nn.Parameter(torch.full((8, 8), 7.0))
        nn.init.normal_(self.word.weight)


def _drawn(fn, *std: float) -> dict[str, Any]:
    model = _Parts(3)
    fn(model, *std)
    dense, norm = model.layer["dense"], model.layer["norm"]
    wanted = std[0] if std else 0.02
    word = model.word.weight.detach()
    others = torch.cat([word[:3], word[4:]])
    tables = {"word": others, "position": model.position.weight.detach(), "dense": dense.weight.detach()}
    found: dict[str, Any] = {"the tied matrix is one": model.decoder.weight is model.word.weight}
    found |= {f"the spread of {name}": _near(float(each.std()), wanted) for name, each in tables.items()}
    found |= {f"the mean of {name} is about 0": abs(float(each.mean())) < wanted / 10 for name, each in tables.items()}
    found |= {f"{name} is normal": _is_normal(each) for name, each in tables.items()}
    found["biases begin at 0"] = not bool(dense.bias.any() or model.decoder.bias.any())
    found["the row of [PAD] begins at 0"] = not bool(word[3].any())
    found["no other row begins at 0"] = bool(others.any(1).all())
    found["LayerNorm begins with weight 1 and bias 0"] = bool((norm.weight == 1).all()) and not bool(norm.bias.any())
    found["what is in no nn.Linear and no nn.Embedding stays as it is"] = bool((model.own == 7).all())
    again = _Parts(0)
    fn(again, *std)
    found["the row of [PAD] begins at 0 if its number is 0"] = not bool(again.word.weight[0].any())
    found["every weight still learns (requires_grad)"] = all(each.requires_grad for each in model.parameters())
    found["gradients are still on"] = torch.is_grad_enabled()
    found["each call draws anew"] = not torch.equal(again.layer["dense"].weight, dense.weight)
    return found


def _near(found: float, wanted: float) -> float:
    return wanted if abs(found / wanted - 1) < 0.1 else found


def _is_normal(weight: Tensor) -> bool:
    """Whether the share within one standard deviation is that of a normal number, 0.68, and some are far out."""
    std = weight.std()
    return abs(float((weight.abs() < std).float().mean()) - 0.683) < 0.02 and bool(weight.abs().max() > 3 * std)


DRAW, ZERO = (
    "nn.init.normal_(module.weight, std=std)",
    "isinstance(module, nn.Embedding) and module.padding_idx is not None",
)
LAST = "the row of [PAD] (padding_idx) begins at 0. A tied output layer draws it again: zero it last."

check_initialise = Exercise(
    encoder.initialise,
    lambda: [(0.02,), (0.3,), ()],
    right="Right: matrices and tables normal, biases and [PAD] 0, LayerNorm 1 and 0.",
    observe=_drawn,
    kept=("initialise",),
    slips=[
        (
            "padding_idx is mostly 0, and `if padding_idx:` takes 0 for none: compare it with None.",
            "module.padding_idx is not None => module.padding_idx",
        ),
        ("biases begin at 0; PyTorch draws them.", "nn.init.zeros_(module.bias) => pass"),
        (LAST, "nn.init.zeros_(module.weight.data => (lambda x: x)(module.weight.data"),
        (LAST, "    for module in model.modules():  # last, as a tied decoder draws the same table once more\n => "),
        (
            "a table without padding_idx is all 0: weight[None] is the whole table, so ask for `is not None`.",
            " and module.padding_idx is not None => ",
        ),
        (
            "the row of [PAD] is that of padding_idx, which need not be row 0.",
            "module.weight.data[module.padding_idx] => module.weight.data[0]",
        ),
        (
            "every call gives the same weights, and so do the random numbers behind it: leave the seed to the program "
            "that calls.",
            "    for module in model.modules():\n        if isinstance(module, nn.Linear |  => "
            "    import torch; torch.manual_seed(0)\n    for module in model.modules():\n        "
            "if isinstance(module, nn.Linear | ",
        ),
        ("a module may lie inside others: go through model.modules(), not children().", "modules() => children()"),
        ("the weights are normal around 0: mean=0.", "std=std => mean=std, std=std"),
        (
            "the weights are cut at two std, as in Google's code; here nn.init.normal_ without a limit.",
            f"{DRAW} => nn.init.trunc_normal_(module.weight, std=std, a=-2 * std, b=2 * std)",
        ),
        ("the weights have std squared: normal_ takes the standard deviation.", "std=std => std=std**2"),
        (
            "the tied matrix came apart: nn.init.normal_ writes into it.",
            f"{DRAW} => module.weight = nn.Parameter(nn.init.normal_(module.weight.clone(), std=std))",
        ),
        (
            "LayerNorm begins with weight 1 and bias 0: leave it as it is.",
            "isinstance(module, nn.Linear | nn.Embedding) => isinstance(module, nn.Linear | nn.Embedding | "
            "nn.LayerNorm)",
        ),
        (
            "the weights are uniform, as PyTorch draws them: nn.init.normal_(weight, std=std).",
            f"{DRAW} => nn.init.uniform_(module.weight, -std * 3**0.5, std * 3**0.5)",
        ),
        ("use the argument std, not the number 0.02.", "std=std => std=0.02"),
        (
            "the matrices of nn.Linear are drawn anew too, not the tables alone.",
            "nn.Linear | nn.Embedding => nn.Embedding",
        ),
        (
            "the tables of nn.Embedding are drawn anew too, not the matrices alone.",
            "nn.Linear | nn.Embedding => nn.Linear",
        ),
        ("nothing was drawn: this is PyTorch's own start, or std=1.", f"{DRAW} => pass"),
    ],
)


def parameters_by_part(config):
    H, wide, L = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    return {
        "embeddings": (config.vocab_size + config.max_position_embeddings + config.type_vocab_size) * H,
        "attention": L * 4 * (H * H + H),  # queries, keys, values and `out`; the number of heads does not matter
        "feed-forward": L * (H * wide + wide + wide * H + H),
        "LayerNorms": (2 * L + 1) * 2 * H,
        "pooler": H * H + H,
    }


def count_parameters(config):
    return sum(parameters_by_part(config).values())


def _configs() -> list[tuple]:
    odd = BertConfig(1000, 30, 4, 5, 77, max_position_embeddings=64, type_vocab_size=3)
    return [(odd,), (BertConfig.from_size("base"),)]


OFTEN_FORGOTTEN = {
    "the pooler": "H * H + H",
    "the table of positions": "config.max_position_embeddings * H",
    "the table of segments": "config.type_vocab_size * H",
    "the table of words": "config.vocab_size * H",
    "the LayerNorm of the embeddings": "2 * H",
    "one LayerNorm of each layer": "L * 2 * H",
    "both LayerNorms of each layer, or the biases of attention's four maps (the same number)": "L * 4 * H",
    "all LayerNorms": "L * 4 * H + 2 * H",
    "the bias of every LayerNorm": "(2 * L + 1) * H",
    "all biases of the layers' linear maps": "L * (5 * H + wide)",
    "all biases of linear maps": "L * (5 * H + wide) + H",
    "the biases of queries, keys and values": "L * 3 * H",
    "the biases of the feed-forward networks": "L * (wide + H)",
    "the linear map `out` of attention": "L * (H * H + H)",
    "two of queries, keys and values": "L * 2 * (H * H + H)",
    "one half of the feed-forward network": "L * (H * wide + wide)",
    "the other half of the feed-forward network": "L * (wide * H + H)",
    "all layers but one": "(L - 1) * (4 * (H * H + H) + 2 * H * wide + wide + H + 4 * H)",
    "queries, keys and values for every further head": "L * (config.num_attention_heads - 1) * 3 * (H * H + H)",
}

check_count_parameters = Exercise(
    count_parameters,
    _configs,
    right="Right, to the unit.",
    helpers=(parameters_by_part,),
    slips=[("intermediate_size need not be 4 H.", "config.intermediate_size => 4 * config.hidden_size")]
    + [
        (f"you {verb} {part}.", f'"pooler": H * H + H => "pooler": H * H + H {sign} ({number})')
        for part, number in OFTEN_FORGOTTEN.items()
        for verb, sign in (("forgot", "-"), ("counted once too often", "+"))
    ],
)
