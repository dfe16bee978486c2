"""My BERT, chapters 06 and 07: the two heads, masked tokens, sentence pairs and the joint loss."""

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course.solutions.config import IGNORED, SPECIAL
from bertlab.course.solutions.encoder import Bert, initialise

# %% heads (chapters 06 and 07): Devlin et al., section 3.1


class MaskedLMHead(nn.Module):
    """States to logits of the vocabulary; the decoder's matrix is the table of word vectors."""

    def __init__(self, config, word):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.decoder.weight = word.weight

    def forward(self, states):
        return self.decoder(self.norm(F.gelu(self.dense(states))))  # (..., H) -> (..., H) -> (..., V)


class BertForPreTraining(nn.Module):
    """The encoder with both heads of pretraining."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.mlm = MaskedLMHead(config, self.bert.embeddings.word)
        self.nsp = nn.Linear(config.hidden_size, 2)
        initialise(self, config.initializer_range)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, S) -> logits of words (B, S, V), logits of the pair (B, 2)."""
        hidden, pooled = self.bert(input_ids, attention_mask, token_type_ids)
        return self.mlm(hidden), self.nsp(pooled)


# %% masking (chapter 06): Devlin et al., section 3.1, task 1


def choose(special, rate, generator):
    """Bool (B, S): round(rate x n) of each row's n ordinary tokens, at least one."""
    wanted = ((~special).sum(1, keepdim=True) * rate).round().clamp(min=1)  # (B, 1)
    draws = torch.rand(special.shape, generator=generator).masked_fill(special, 2.0)  # (B, S)
    return draws.argsort(1).argsort(1) < wanted  # the smallest draws of each row


def mask_tokens(ids, special, tokenizer, generator, rate=0.15):
    """ids, special (B, S) -> what the model sees (B, S); labels (B, S): the token where it was chosen, else -100."""
    chosen = choose(special, rate, generator)
    labels = ids.masked_fill(~chosen, IGNORED)
    positions = chosen.nonzero()  # (M, 2)
    positions = positions[torch.randperm(len(positions), generator=generator)]
    masks, randoms = round(0.8 * len(positions)), round(0.1 * len(positions))
    hidden = ids.clone()
    row, column = positions[:masks].T
    hidden[row, column] = tokenizer.mask_token_id
    row, column = positions[masks : masks + randoms].T
    hidden[row, column] = torch.randint(len(SPECIAL), tokenizer.vocab_size, (len(row),), generator=generator)
    return hidden, labels


# %% pairs (chapter 07): Devlin et al., section 3.1, task 2, and appendix A.2


def true_pairs(documents, budget, rng):
    """Documents (lists of sentences, these of ids) -> [(document, first, second), ...]: stretches cut in two."""
    found = []
    for number, sentences in enumerate(documents):
        start = 0
        while len(sentences) - start >= 2:
            end = start + 2
            while end < len(sentences) and sum(map(len, sentences[start : end + 1])) <= budget:
                end += 1
            middle = rng.randint(start + 1, end - 1)
            found.append((number, sum(sentences[start:middle], []), sum(sentences[middle:end], [])))
            start = end
    return found


def cut_pair(first, second, budget):
    """Cut two lists of ids at their outer ends, always the longer one, to `budget` tokens together."""
    while len(first) + len(second) > budget:
        if len(first) > len(second):
            first = first[1:]
        else:
            second = second[:-1]
    return first, second


def negative(document, second, positives, rng):
    """A second text of another document than that of `second`, not equal to it and about as long."""
    while True:
        drawn = rng.choices(positives, k=20)
        others = [text for other, _, text in drawn if other != document and text != second]
        if others:
            return min(others, key=lambda text: abs(len(text) - len(second)))


def make_pairs(positives, rng):
    """True pairs [(document, first, second), ...] -> shuffled [(first, second, label), ...]: half of each label."""
    shuffled = rng.sample(positives, len(positives))
    half = len(shuffled) // 2
    pairs = [(first, second, 0) for _, first, second in shuffled[half:]]
    pairs += [(first, negative(document, second, positives, rng), 1) for document, first, second in shuffled[:half]]
    return rng.sample(pairs, len(pairs))


def collate(pairs, tokenizer):
    """[(first, second, label), ...] -> input_ids, attention_mask, token_type_ids (B, S), next_sentence_label (B,)."""
    cls, sep, pad = [tokenizer.cls_token_id], [tokenizer.sep_token_id], tokenizer.pad_token_id
    rows = [cls + first + sep + second + sep for first, second, _ in pairs]
    kinds = [[0] * (len(first) + 2) + [1] * (len(second) + 1) for first, second, _ in pairs]
    free = [max(map(len, rows)) - len(row) for row in rows]  # positions of padding
    return dict(
        input_ids=torch.tensor([row + [pad] * left for row, left in zip(rows, free, strict=True)]),
        attention_mask=torch.tensor([[1] * len(row) + [0] * left for row, left in zip(rows, free, strict=True)]),
        token_type_ids=torch.tensor([kind + [0] * left for kind, left in zip(kinds, free, strict=True)]),
        next_sentence_label=torch.tensor([label for *_, label in pairs]),
    )


# %% loss (chapter 07): Devlin et al., appendix A.2


def joint_loss(prediction_logits, relationship_logits, labels, next_sentence_label):
    """Logits (B, S, V) and (B, 2), labels (B, S) and (B,) with -100 = not asked -> the sum of both mean losses."""
    words = F.cross_entropy(prediction_logits.flatten(0, 1), labels.flatten(), reduction="sum")
    pairs = F.cross_entropy(relationship_logits, next_sentence_label, reduction="sum")
    return words / (labels != IGNORED).sum().clamp(min=1) + pairs / (next_sentence_label != IGNORED).sum().clamp(min=1)
