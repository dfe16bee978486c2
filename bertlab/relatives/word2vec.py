"""word2vec: one vector for each word, learned by guessing words from their neighbours.

CBOW and skip-gram are Mikolov et al. 2013a ("Efficient Estimation of Word Representations in Vector Space"), negative
sampling is Mikolov et al. 2013b ("Distributed Representations of Words and Phrases and their Compositionality").

Shapes: N examples, C words seen in each, K noise words, D numbers in a vector, V vocabulary, W words on either side.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.errors import InputError
from bertlab.tokenizer import Tokenizer

Kind = Literal["cbow", "skip-gram"]
NOISE_WORDS = 5  # for each right word (Mikolov et al. 2013b, section 2.2: 5 to 20 for small texts)
NOISE_POWER = 0.75  # rare words serve as noise more often than they occur (Mikolov et al. 2013b, section 2.2)


class Word2Vec(nn.Module):
    """Two vectors for each word: `seen` where it is a neighbour, `guessed` where it is asked for.

    The neighbours count as the mean of their vectors: their order makes no difference.
    """

    noise: Tensor  # (V,)

    def __init__(self, frequencies: Tensor, size: int = 64, pad_token_id: int = 0):
        """`frequencies` (V,): how often each word occurs in the training text."""
        super().__init__()
        self.pad_token_id = pad_token_id
        self.seen = nn.Embedding(len(frequencies), size, padding_idx=pad_token_id)
        self.guessed = nn.Embedding(len(frequencies), size)
        nn.init.zeros_(self.guessed.weight)
        noise = frequencies.float() ** NOISE_POWER  # (V,)
        self.register_buffer("noise", noise / noise.sum())

    def forward(self, words: Tensor) -> Tensor:
        """Return the mean vector of words (N, C) without padding: (N, D)."""
        count = (words != self.pad_token_id).sum(1, keepdim=True).clamp(min=1)  # (N, 1)
        return self.seen(words).sum(1) / count  # (N, C, D) -sum-> (N, D); the vector of padding is 0

    def log_probabilities(self, words: Tensor) -> Tensor:
        """Return ln p of every word, given the words (N, C) that are seen: (N, V).

        Negative sampling learns ln p(word | seen) - ln noise(word), up to a constant (Levy and Goldberg 2014).
        """
        logits = self(words) @ self.guessed.weight.T  # (N, D) @ (D, V) -> (N, V)
        return (logits + self.noise.log()).log_softmax(-1)


def negative_sampling_loss(seen: Tensor, right: Tensor, noise: Tensor) -> Tensor:
    """Return the mean of -ln s(seen . right) - sum_k ln s(-seen . noise_k), with s the sigmoid.

    seen (N, D), right (N, D), noise (N, K, D) (Mikolov et al. 2013b, equation 4).
    """
    for_right = (seen * right).sum(-1)  # (N, D) -> (N,)
    for_noise = (noise @ seen[..., None]).squeeze(-1)  # (N, K, D) @ (N, D, 1) -> (N, K)
    return -(F.logsigmoid(for_right) + F.logsigmoid(-for_noise).sum(-1)).mean()


def windows(texts: Iterable[Sequence[int]], window: int, pad_token_id: int = 0) -> tuple[Tensor, Tensor]:
    """Return every word of `texts` (N,) and its W left and W right neighbours (N, 2W), with padding past the ends."""
    edge = [pad_token_id] * window
    row = torch.tensor([word for text in texts for word in (*edge, *text)] + edge + [pad_token_id])
    spans = row.unfold(0, 2 * window + 1, 1)  # (T + ends, 2W + 1)
    spans = spans[spans[:, window] != pad_token_id]  # (N, 2W + 1)
    return spans[:, window], torch.cat([spans[:, :window], spans[:, window + 1 :]], dim=1)


def examples(words: Tensor, neighbours: Tensor, kind: Kind, pad_token_id: int = 0) -> tuple[Tensor, Tensor]:
    """Return the words that are seen (N, C) and the one asked for (N,). CBOW asks for the word and shows all its
    neighbours (C = 2W), skip-gram asks for each neighbour and shows the word alone (C = 1)."""
    if kind == "cbow":
        return neighbours, words
    there = neighbours != pad_token_id  # (N, 2W)
    return words[:, None].expand_as(neighbours)[there][:, None], neighbours[there]


def train_word2vec(
    texts: Sequence[Sequence[int]],
    tokenizer: Tokenizer,
    kind: Kind = "cbow",
    *,
    size: int = 64,
    window: int = 5,
    epochs: int = 5,
    batch_size: int = 2048,
    learning_rate: float = 0.02,
    seed: int = 0,
) -> Word2Vec:
    """Train word vectors on `texts` (token ids); the same seed gives the same vectors.

    InputError: another kind, a number below 1, or no word with a neighbour.
    """
    if kind not in ("cbow", "skip-gram"):
        raise InputError(f"kind={kind!r}: choose cbow or skip-gram")
    for name, value in {"size": size, "window": window, "epochs": epochs, "batch_size": batch_size}.items():
        if value < 1:
            raise InputError(f"{name}={value}: must be at least 1")
    pad = tokenizer.pad_token_id
    words, neighbours = windows(texts, window, pad)
    seen, asked = examples(words, neighbours, kind, pad)
    if not (neighbours != pad).any():
        raise InputError("no word of these texts has a neighbour: give texts of two words or more")
    generator = torch.Generator().manual_seed(seed)
    model = Word2Vec(words.bincount(minlength=tokenizer.vocab_size), size, pad)
    nn.init.normal_(model.seen.weight, std=size**-0.5, generator=generator)
    nn.init.zeros_(model.seen.weight[pad])
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for _ in range(epochs):
        for rows in torch.randperm(len(asked), generator=generator).split(batch_size):
            loss = batch_loss(model, seen[rows], asked[rows], generator)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.requires_grad_(False)


def batch_loss(model: Word2Vec, seen: Tensor, asked: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Return the loss of words `asked` (N,) where words `seen` (N, C) stand, beside noise that `generator` draws."""
    noise = model.noise.multinomial(len(asked) * NOISE_WORDS, True, generator=generator)  # (N * K,)
    noise = model.guessed(noise.view(len(asked), NOISE_WORDS))  # (N, K) -> (N, K, D)
    return negative_sampling_loss(model(seen), model.guessed(asked), noise)


def gap_log_probabilities(model: Word2Vec, tokenizer: Tokenizer, texts: Sequence[str], window: int = 5) -> Tensor:
    """Return ln p of every word at the [MASK] of each of N texts, from W words on either side: (N, V).

    InputError names a text without [MASK], or with more than one.
    """
    ids = tokenizer.encode_batch(texts)
    for text, row in zip(texts, ids, strict=True):
        if row.count(tokenizer.mask_token_id) != 1:
            raise InputError(f"write [MASK] in place of one word, once: {text}")
    words, neighbours = windows(ids, window, tokenizer.pad_token_id)
    return model.log_probabilities(neighbours[words == tokenizer.mask_token_id])  # (N, 2W) -> (N, V)


def nearest(table: Tensor, tokenizer: Tokenizer, word: str, k: int = 8) -> list[tuple[str, float]]:
    """Return the k words whose rows of `table` (V, H) have the largest cosine with that of `word`, with the cosines.

    Any table of word vectors will do, BERT's own too. InputError: the word is not one piece of the vocabulary.
    """
    number = tokenizer.id_of(word)
    rows = F.normalize(table.detach(), dim=-1)  # (V, H)
    cosines = rows @ rows[number]  # (V, H) @ (H,) -> (V,)
    cosines[tokenizer.all_special_ids + [number]] = -2.0
    best = cosines.topk(k)
    return list(zip(tokenizer.convert_ids_to_tokens(best.indices), best.values.tolist(), strict=True))
