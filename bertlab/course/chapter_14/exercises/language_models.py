"""The causal mask, GPT, rows backwards, ELMo, and what two directions say together."""

from typing import Any

import torch

from bertlab.course.chapter_07.exercises.model import starts
from bertlab.course.exercise import Exercise
from bertlab.course.observe import module, random_tensor, small_batch, value
from bertlab.course.solutions import family
from bertlab.course.solutions.config import Config

MASK = "(attention_mask == 0)[:, None, None, :]"
RIGHT = "torch.ones(size, size, dtype=torch.bool, device=attention_mask.device).triu(1)"

check_causal_mask = Exercise(
    family.causal_mask,
    lambda: [(small_batch()[1],), (torch.tensor([[1, 1, 1]]),)],
    right="Right: each token attends to itself and to the left, and nobody to padding.",
    observe=value,
    kept=("causal_mask",),
    slips=[
        ("return True and False: a bool tensor.", f"{MASK} | right => ({MASK} | right).float()"),
        (
            "one mask for all texts knows nothing of their padding: `|` it with (B, 1, 1, S).",
            f"{MASK} | right => right",
        ),
        (
            "this is True where attending is allowed: your attention hides what is True.",
            f"{MASK} | right => ~({MASK} | right)",
        ),
        ("rows and columns are swapped: rows attend. Row 0 must not attend to column 1.", ".triu(1) => .tril(-1)"),
        ("a token may attend to itself: triu(1), not triu.", ".triu(1) => .triu()"),
        (
            "this hides padding alone: also hide what stands to the right.",
            f"{MASK} | right => {MASK}.expand(-1, -1, size, -1)",
        ),
        (
            "padding is missing: its columns are hidden from every row, as in your BERT.",
            f"{MASK} | right => right.expand(len(attention_mask), 1, size, size)",
        ),
        (
            "hide what is padding OR stands to the right: you hide only what is both.",
            f"{MASK} | right => {MASK} & right",
        ),
        (
            "you hid the rows of padding: hide its columns, nobody reads it.",
            f"{MASK} | right => (attention_mask == 0)[:, None, :, None] | right",
        ),
    ],
)


def _text(width: int) -> dict[str, torch.Tensor]:
    ids, mask, _ = small_batch(width=width)
    return {"input_ids": ids, "attention_mask": mask}


def _models(*sizes: tuple[int, int, int, int]) -> list[tuple]:
    options: dict[str, Any] = {"max_position_embeddings": 9, "initializer_range": 0.3, "hidden_dropout_prob": 0.4}
    return [
        ((Config(30, H, L, A, 10, **options),), {"forward": tuple(text.values()), "loss": (text,)})
        for H, A, L, S in sizes
        for text in [_text(S)]
    ]


def _on_words(cls, options, runs) -> dict[str, Any]:
    """A module as `module` sees it, but for the logits of padding, which nothing is asked of."""
    if not isinstance(cls, type):
        return module(cls, options, runs)

    class OnWords(cls):
        def forward(self, *args):
            return super().forward(*args)[args[1].bool()]

        def loss(self, batch):
            self.forward = super().forward
            try:
                return super().loss(batch)
            finally:
                del self.forward

    begun = starts(cls(*options), options[0].initializer_range)
    return module(OnWords, options, runs) | {"weights start with initializer_range, biases with 0": begun}


LOGITS = "logits[:, :-1].flatten(0, 1), following.flatten()"
OPEN = "every position sees the words to its right: give the encoder causal_mask(attention_mask)."
OUT = "self.encoder(x, causal_mask(attention_mask)) @ self.word.weight.T"
ITSELF = "position i is asked for token i, which it sees: ask it for token i + 1."

check_gpt = Exercise(
    family.Gpt,
    lambda: _models((12, 3, 2, 7), (6, 1, 1, 5)),
    right="Right: your encoder, a mask, and the next token.",
    observe=_on_words,
    kept=("Gpt",),
    slips=[
        (OPEN, "causal_mask(attention_mask) => (attention_mask == 0)[:, None, None, :]"),
        (OPEN, "causal_mask(attention_mask) => None"),
        (
            "the mask is upside down: the encoder hides what is True. Give it causal_mask(attention_mask) as it is.",
            "causal_mask(attention_mask) => ~causal_mask(attention_mask)",
        ),
        (
            "positions are missing: add their vectors to those of the words.",
            "self.word(input_ids) + self.position(positions) => self.word(input_ids)",
        ),
        ("return logits: cross_entropy takes the softmax itself.", f"return {OUT} => return ({OUT}).softmax(-1)"),
        ("return logits: cross_entropy takes the softmax itself.", f"return {OUT} => return ({OUT}).log_softmax(-1)"),
        (
            "in training nothing is dropped: nn.Dropout belongs on the sum of the embeddings.",
            "self.dropout(self.word(input_ids) + self.position(positions)) => self.word(input_ids) + "
            "self.position(positions)",
        ),
        (
            "the weights start as PyTorch draws them: end __init__ with initialise(self, config.initializer_range).",
            "        initialise(self, config.initializer_range)\n => ",
        ),
        (
            "the output layer is the table of word vectors, and learns as such: no detach on it.",
            "@ self.word.weight.T => @ self.word.weight.detach().T",
        ),
        (
            "the encoder learns nothing: no gradient reaches it; no detach and no no_grad.",
            f"return {OUT} => return {OUT.replace(' @', '.detach() @')}",
        ),
        (ITSELF, "IGNORED)[:, 1:] => IGNORED)", f"{LOGITS} => logits.flatten(0, 1), following.flatten()"),
        (
            "shifted the wrong way: position i predicts token i + 1.",
            "IGNORED)[:, 1:] => IGNORED)[:, :-1]",
            "logits[:, :-1] => logits[:, 1:]",
        ),
        (
            "padding counts as a word to predict: give it the label -100.",
            'batch["input_ids"].masked_fill(batch["attention_mask"] == 0, IGNORED) => batch["input_ids"]',
        ),
        (
            "you average over rows first: each token asked for counts alike, in a short text and in a long one.",
            "F.cross_entropy(logits[:, :-1].flatten(0, 1), following.flatten(), ignore_index=IGNORED) => "
            "sum(F.cross_entropy(*row, ignore_index=IGNORED) for row in zip(logits[:, :-1], following)) / len(logits)",
        ),
        (
            "this is the sum: return the mean over the tokens asked for.",
            "ignore_index=IGNORED => ignore_index=IGNORED, reduction='sum'",
        ),
        (
            "the loss teaches nothing: no detach, item or no_grad on its way.",
            f"F.cross_entropy({LOGITS} => F.cross_entropy({LOGITS.replace('logits[', 'logits.detach()[')}",
        ),
    ],
)

ORDER = "torch.where(positions < lengths, lengths - 1 - positions, positions)"

check_backwards = Exercise(
    family.backwards,
    lambda: [
        (*small_batch()[:2],),
        (random_tensor(3, 7, 4), small_batch()[1]),
        (torch.tensor([[2, 8, 3, 0]]), torch.tensor([[1, 1, 1, 0]])),
    ],
    right="Right: each row from its own end, and padding stays behind.",
    kept=("backwards",),
    slips=[
        ("nothing has changed: return the reversed rows.", f"{ORDER} => positions.expand(len(x), -1)"),
        (
            "padding stands in front now: an LSTM would read it first. Reverse each row within its own length.",
            f"{ORDER} => (x.size(1) - 1 - positions).expand(len(x), -1)",
        ),
        (
            "you reversed the order of the texts: reverse the tokens of each.",
            "return x[torch => return x.flip(0) if True else x[torch",
        ),
        (
            "off by one: the new first token is the one at position length - 1.",
            "lengths - 1 - positions => (lengths - positions) % x.size(1)",
        ),
        ("the states keep their gradient: no detach.", "return x[torch => return x.detach()[torch"),
    ],
)

WAY = "states.append(states[-1] + new if number else new)"
LEFT = "left = self.one_way(input_ids, self.lefts)"

check_elmo = Exercise(
    family.Elmo,
    lambda: _models((6, 1, 3, 7)),
    right="Right: two language models that never see each other's side.",
    observe=module,
    kept=("Elmo",),
    slips=[
        (
            "the states from the right are still in reading order: turn them back, layer by layer.",
            "        right = torch.stack([backwards(layer, attention_mask) for layer in right])\n => ",
        ),
        (
            "both read from the left: `rights` gets the ids backwards.",
            "self.one_way(backwards(input_ids, attention_mask), self.rights) => self.one_way(input_ids, self.rights)",
            "        right = torch.stack([backwards(layer, attention_mask) for layer in right])\n => ",
        ),
        (
            "the halves are swapped: from the left first, then from the right.",
            "torch.cat([left, right], -1) => torch.cat([right, left], -1)",
        ),
        (
            "flip(1) puts padding in front: the direction from the right reads it first. Use `backwards`.",
            "backwards(input_ids, attention_mask) => input_ids.flip(1)",
            "backwards(layer, attention_mask) => layer.flip(1)",
        ),
        (
            "both directions use `lefts`: each has its own LSTMs.",
            "attention_mask), self.rights) => attention_mask), self.lefts)",
        ),
        (
            "the residual connection is missing: from the second LSTM on, add its input to its output.",
            f"{WAY} => states.append(new)",
        ),
        (
            "the residual connection adds the LSTM's own input, the states just below it.",
            "states[-1] + new => states[1] + new",
        ),
        (
            "the residual connection adds the LSTM's input as it is before dropout, states[-1].",
            "states[-1] + new => self.dropout(states[-1]) + new",
        ),
        (
            "the first LSTM has no residual connection: add the input from the second one on.",
            f"{WAY} => states.append(states[-1] + new)",
        ),
        (
            "in training nothing is dropped: dropout comes before each LSTM.",
            "layer(self.dropout(states[-1])) => layer(states[-1])",
        ),
        (
            "the direction from the right is missing: it predicts the token before.",
            "return sum(losses) / 2 => return losses[0]",
        ),
        (
            "the direction from the left is missing: it predicts the next token.",
            "return sum(losses) / 2 => return losses[1]",
        ),
        ("this is the sum: return the mean of the two losses.", "sum(losses) / 2 => sum(losses)"),
        (
            "from the right, the next token has been read already: ask for the token before.",
            "(right[:, 1:], before) => (right[:, :-1], real[:, 1:])",
        ),
        (
            "padding is no token to predict: give it the label -100.",
            'batch["input_ids"].masked_fill(batch["attention_mask"] == 0, IGNORED) => batch["input_ids"]',
        ),
        (
            "states of padding predict the last token: padding has no token before it.",
            "(right[:, 1:], before) => (right[:, 1:], real[:, :-1])",
        ),
        (
            "the states below learn too: no detach between the layers.",
            "self.dropout(states[-1]) => self.dropout(states[-1]).detach()",
        ),
        (
            "the loss teaches nothing: no detach, item or no_grad on its way.",
            "self.decoder(x).flatten => self.decoder(x).detach().flatten",
        ),
    ],
)


def both_sides(left, right, prior):
    return (left + right - prior).log_softmax(-1)


def _sides() -> list[tuple]:
    sizes = ((3, 7, 1), (1, 4, 1), (2, 5, 200))  # the last are next to impossible
    return [
        (*((far * random_tensor(*shape, seed=n)).log_softmax(-1) for n, shape in enumerate(((N, V), (N, V), (V,)))),)
        for N, V, far in sizes
    ]


SUM = "left + right - prior"
TWICE = "what is frequent counts twice: both sides have it in them, so take ln p(word) off once."

check_both_sides = Exercise(
    both_sides,
    _sides,
    right="Right: what the two sides say apart, put together by Bayes' rule.",
    observe=value,
    slips=[
        ("these do not sum to one: finish with log_softmax.", ".log_softmax(-1) => "),
        (TWICE, f"({SUM}).log_softmax(-1) => left + right"),
        (TWICE, " - prior => "),
        ("the sign of the prior is wrong: divide by p(word).", "- prior => + prior"),
        (
            "this is the mean of the probabilities: two pieces of evidence multiply.",
            f"({SUM}).log_softmax(-1) => ((left.exp() + right.exp()) / 2).log()",
        ),
        ("you take the mean: the evidence of both sides adds up.", f"({SUM}) => ((left + right) / 2)"),
        (
            "a small probability becomes 0, and its logarithm infinite: add logarithms.",
            f"({SUM}).log_softmax(-1) => ({SUM}).softmax(-1).log()",
        ),
        ("return ln p, not p: log_softmax.", "log_softmax => softmax"),
        ("the softmax runs over the words of one gap, dim -1.", "log_softmax(-1) => log_softmax(0)"),
    ],
)
