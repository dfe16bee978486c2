"""GELU, LayerNorm and the layer."""

import math
from typing import Any

import torch
import torch.nn.functional as F

from bertlab.course.exercise import Exercise
from bertlab.course.observe import call, module, random_tensor, value
from bertlab.course.solutions import encoder
from bertlab.course.solutions.config import Config


def gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


HALF = "0.5 * x * (1 + torch.erf(x / math.sqrt(2)))"

check_gelu = Exercise(
    gelu,
    lambda: [(torch.linspace(-4, 4, 33).view(3, 11),), (random_tensor(2, 3, 4),)],
    right="Right: x, weighed with the share of normal numbers below it.",
    slips=[
        ("this is ReLU: it cuts at 0, GELU bends.", F.relu),
        ("this is the probability alone: multiply it by x.", "0.5 * x * => 0.5 *"),
        ("a factor of one half is missing: (1 + erf) runs from 0 to 2.", "0.5 * x => x"),
        ("the 1 is missing: the probability is (1 + erf) / 2.", "1 + torch => torch"),
        ("this is x times erf: the probability is (1 + erf) / 2.", "0.5 * x * (1 + => x * ("),
        ("x must be divided by the square root of 2 inside erf.", " / math.sqrt(2) => "),
        (
            "this is x times the density; you need the probability below x (the area, not the height).",
            f"{HALF} => x * (-x.square() / 2).exp() / math.sqrt(2 * math.pi)",
        ),
        (
            "this is the tanh approximation, which some BERTs use (hidden_act 'gelu_new'); here, the exact one.",
            f'{HALF} => F.gelu(x, approximate="tanh")',
        ),
        (
            "this is the sigmoid approximation; here, the exact one, with erf.",
            f"{HALF} => x * torch.sigmoid(1.702 * x)",
        ),
        ("this is SiLU: it has the logistic curve where GELU has the normal one.", F.silu),
        (
            "no gradient passes the probability: x would be weighed, and nothing learned of it.",
            "(1 + torch.erf(x / math.sqrt(2))) => (1 + torch.erf(x.detach() / math.sqrt(2)))",
        ),
    ],
)


def layer_norm(x, weight, bias, eps):
    mean = x.mean(-1, keepdim=True)  # (B, S, 1)
    variance = x.var(-1, keepdim=True, unbiased=False)  # (B, S, 1)
    return weight * (x - mean) / (variance + eps).sqrt() + bias


def _rows() -> list[tuple]:
    x, weight, bias = 3 * random_tensor(2, 3, 6) + 1, random_tensor(6, seed=1), random_tensor(6, seed=2)
    alike, far = torch.full((1, 1, 6), 5.0), 4096 + x[:, :, :4].round()
    rows = (x, 6, 0.1), (x[:, :, :5], 5, 0.5), (alike, 6, 0.01), (far, 4, 0.2)
    return [(each, weight[-size:], bias[-size:], eps) for each, size, eps in rows]


def _over(dims: str) -> tuple[str, str]:
    return f"x.mean(-1 => x.mean({dims}", f"x.var(-1 => x.var({dims}"


RESULT = "weight * (x - mean) / (variance + eps).sqrt() + bias"

check_layer_norm = Exercise(
    layer_norm,
    _rows,
    right="Right: each token by itself, over its own features.",
    # no gradients there: those of F.layer_norm are off by more than rounding
    observe=lambda fn, x, *rest: (value if x.mean() > 1000 else call)(fn, x, *rest),
    slips=[
        ("use the eps that you are given.", "variance + eps => variance + 1e-12"),
        (
            "the variance divides by H - 1 (torch's default): LayerNorm divides by H, unbiased=False.",
            ", unbiased=False => ",
        ),
        ("eps stands outside the root: sqrt(variance + eps).", "(variance + eps).sqrt() => (variance.sqrt() + eps)"),
        ("you divided by the variance: take its square root.", ".sqrt() => "),
        (
            "eps is missing under the root: a token whose numbers are all alike becomes nan (0/0).",
            "variance + eps => variance",
        ),
        (
            "E[x²] - mean² is right on paper: where the mean is large, both are large and their difference loses "
            "its digits. Take the mean away first, then square.",
            "x.var(-1, keepdim=True, unbiased=False) => (x**2).mean(-1, keepdim=True) - mean**2",
        ),
        ("use the eps that is given.", "variance + eps => variance + 1e-5"),
        (
            "mean and variance run over the batch: that is batch normalisation. Here each token is by itself.",
            *_over("0"),
        ),
        ("mean and variance run over all tokens: here each token is by itself, dim=-1.", *_over("(0, 1)")),
        ("mean and variance run over the tokens of a text: take the features, dim=-1.", *_over("1")),
        (
            "there is one mean and one variance for all numbers of x: each token has its own, dim=-1.",
            *_over("(0, 1, 2)"),
        ),
        ("mean and variance run over tokens and features: each token is by itself, dim=-1.", *_over("(1, 2)")),
        ("weight and bias are missing.", "weight * (x => (x", " + bias => "),
        ("bias is missing.", " + bias => "),
        ("weight is missing.", "weight * (x => (x"),
        ("weight and bias are swapped.", f"{RESULT} => bias * (x - mean) / (variance + eps).sqrt() + weight"),
        (
            "the mean is not taken away: this is RMSNorm, which came later.",
            f"{RESULT} => weight * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias",
        ),
        (
            "no gradient passes mean and variance: what is learned through them is lost; no detach and no no_grad.",
            f"{RESULT} => weight * (x - mean.detach()) / (variance.detach() + eps).sqrt() + bias",
        ),
    ],
)


SIZES: dict[str, Any] = {"attention_probs_dropout_prob": 0.3, "hidden_dropout_prob": 0.4, "layer_norm_eps": 0.1}


def _states() -> list[tuple]:
    padding = torch.tensor([[0] * 6, [0] * 4 + [1] * 2, [0] + [1] * 5]).bool()[:, None, None]  # (3, 1, 1, 6)
    sizes = ((12, 3, 20, padding), (8, 2, 9, padding), (6, 1, 7, None))  # hidden, heads, intermediate
    return [
        (
            (Config(hidden_size=H, num_attention_heads=A, intermediate_size=F, **SIZES),),
            {"forward": (random_tensor(3, 6, H), rows)},
        )
        for H, A, F, rows in sizes
    ]


ATTENDED, FED = "self.dropout(attended)", "self.dropout(self.feed_forward(x))"
FIRST, SECOND = f"self.attention_norm(x + {ATTENDED})", f"self.feed_forward_norm(x + {FED})"
DROPOUT = "dropout belongs on both sublayers' outputs, before each is added: self.dropout(...) twice."
PASSED = "the gradient does not pass the residual connection: what is added goes back too, no detach."

check_layer = Exercise(
    encoder.Layer,
    _states,
    right="Right: with the same weights your layer and the library's give the same.",
    observe=module,
    helpers=(encoder.FeedForward,),
    kept=("FeedForward", "Layer"),
    slips=[
        (
            "this normalises before each sublayer (pre-LN), as later models do: BERT adds first, then normalises.",
            "self.attention(x, padding) => self.attention(self.attention_norm(x), padding)",
            f"{FIRST} => x + {ATTENDED}",
            f"{SECOND} => x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))",
        ),
        ("x is not added to what attention gives.", f"x + {ATTENDED} => {ATTENDED}"),
        ("what enters the feed-forward network is not added to what it gives.", f"x + {FED} => {FED}"),
        (
            "nothing is added: both residual connections are missing.",
            f"x + {ATTENDED} => {ATTENDED}",
            f"x + {FED} => {FED}",
        ),
        (
            "the second sum starts from the layer's input: add what enters the feed-forward network.",
            f"x = {FIRST} => y, x = x, {FIRST}",
            f"x + {FED} => y + {FED}",
        ),
        ("the second LayerNorm is missing.", f"{SECOND} => x + {FED}"),
        ("the first LayerNorm is missing.", f"{FIRST} => x + {ATTENDED}"),
        (
            "attention_norm is used twice: the second is feed_forward_norm.",
            "self.feed_forward_norm(x => self.attention_norm(x",
        ),
        (
            "the two LayerNorms are swapped.",
            f"{FIRST} => self.feed_forward_norm(x + {ATTENDED})",
            f"return {SECOND} => return self.attention_norm(x + {FED})",
        ),
        ("both LayerNorms are missing.", f"{FIRST} => x + {ATTENDED}", f"{SECOND} => x + {FED}"),
        ("normalise the sum, not one of its parts.", f"{SECOND} => x + self.feed_forward_norm({FED})"),
        (
            "normalise the sums, not one of their parts.",
            f"{FIRST} => x + self.attention_norm({ATTENDED})",
            f"{SECOND} => x + self.feed_forward_norm({FED})",
        ),
        (
            "padding was not hidden: hand `padding` on to attention.",
            "self.attention(x, padding) => self.attention(x, None)",
        ),
        ("the feed-forward network has no activation between up and down.", "F.gelu(self.up(x)) => self.up(x)"),
        ("the feed-forward network uses ReLU: BERT uses GELU.", "F.gelu => F.relu"),
        ("there is no feed-forward network yet.", f"return {SECOND} => return x"),
        (DROPOUT, f"{ATTENDED} => attended"),
        (DROPOUT, f"{FED} => self.feed_forward(x)"),
        (DROPOUT, f"{ATTENDED} => attended", f"{FED} => self.feed_forward(x)"),
        (
            "dropout comes before the sum: it is not for what is passed by.",
            f"x + {ATTENDED} => self.dropout(x + attended)",
            f"x + {FED} => self.dropout(x + self.feed_forward(x))",
        ),
        (
            "after .eval() numbers are still dropped: nn.Dropout knows when, F.dropout does not.",
            f"{ATTENDED} => F.dropout(attended, 0.4)",
            f"{FED} => F.dropout(self.feed_forward(x), 0.4)",
        ),
        ("use the number in config: hidden_dropout_prob.", "config.hidden_dropout_prob => 0.1"),
        ("LayerNorm has its own eps: use config.layer_norm_eps.", ", eps=config.layer_norm_eps => "),
        (PASSED, f"x + {ATTENDED} => x.detach() + {ATTENDED}"),
        (PASSED, f"x + {FED} => x.detach() + {FED}"),
        (PASSED, f"x + {ATTENDED} => x.detach() + {ATTENDED}", f"x + {FED} => x.detach() + {FED}"),
        (
            "attention is not learned: no gradient reaches it; no detach and no no_grad.",
            f"{ATTENDED} => {ATTENDED}.detach()",
        ),
        (
            "the feed-forward network is not learned: no gradient reaches it; no detach and no no_grad.",
            f"{FED} => {FED}.detach()",
        ),
        (
            "return the new x alone: the attention gives two things, unpack them.",
            "attended, _ = self => attended, w = self",
            f"return {SECOND} => return {SECOND}, w",
        ),
    ],
)
