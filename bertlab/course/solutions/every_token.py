"""My BERT, chapter 11: labels for tokens: a linear layer, then a CRF."""

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course.solutions.encoder import Bert

# %% every token (chapter 11): Devlin et al., section 5.3; Lafferty et al. 2001


def entities(labels):
    """BIO labels of a sentence -> [(kind, first, last), ...], words counted from 0. An I- that continues nothing begins
    a name, as in CoNLL's script."""
    found = []
    for word, label in enumerate(labels):
        prefix, _, kind = label.partition("-")
        if prefix == "I" and found and found[-1][0] == kind and found[-1][2] == word - 1:
            found[-1] = (kind, found[-1][1], word)
        elif prefix != "O":
            found.append((kind, word, word))
    return found


def align(words, labels, tokenizer):
    """Words and a number for each -> ids of [CLS] words [SEP], and as many labels: a word's number at its first piece,
    -100 elsewhere. A word without pieces becomes [UNK]."""
    ids, row = [tokenizer.cls_token_id], [-100]
    for word, label in zip(words, labels, strict=True):
        pieces = tokenizer.ids(word) or [tokenizer.vocabulary["[UNK]"]]
        ids += pieces
        row += [label] + [-100] * (len(pieces) - 1)
    return ids + [tokenizer.sep_token_id], row + [-100]


def word_inputs(examples, tokenizer, max_tokens=128):
    """[(words, labels), ...] -> the three inputs and labels (B, S); the end of a row that is too long is cut off."""
    rows = zip(*(align(words, labels, tokenizer) for words, labels in examples), strict=True)
    ids, labels = ([torch.tensor(row[:-1][: max_tokens - 1] + row[-1:]) for row in kind] for kind in rows)
    pad = nn.utils.rnn.pad_sequence
    input_ids = pad(ids, batch_first=True, padding_value=tokenizer.pad_token_id)
    return dict(
        input_ids=input_ids,
        attention_mask=pad([torch.ones_like(row) for row in ids], batch_first=True),
        token_type_ids=torch.zeros_like(input_ids),
        labels=pad(labels, batch_first=True, padding_value=-100),
    )


def first_pieces(mask, x):
    """x (B, S, ...) where mask (B, S) is True, moved to the front of each row -> (B, W, ...)."""
    order = mask.int().argsort(dim=1, descending=True, stable=True)[:, : int(mask.sum(1).max())]  # (B, W)
    return x[torch.arange(len(x))[:, None], order]


class BertForTokenClassification(nn.Module):
    """One linear layer on the last hidden state of each token."""

    def __init__(self, config, num_labels):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, num_labels)
        nn.init.normal_(self.classifier.weight, std=config.initializer_range)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, S) -> logits (B, S, N)."""
        hidden, _ = self.bert(input_ids, attention_mask, token_type_ids)
        return self.classifier(self.dropout(hidden))

    def words(self, batch):
        """A batch -> of the words alone: logits (B, W, N), labels (B, W), mask (B, W)."""
        mask = batch["labels"] != -100
        logits = self(*(batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")))
        return tuple(first_pieces(mask, x) for x in (logits, batch["labels"], mask))

    def loss(self, batch):
        logits, labels, mask = self.words(batch)
        return F.cross_entropy(logits[mask], labels[mask])

    def decode(self, logits, mask):
        """The label of each word by itself: (B, W, N) -> (B, W)."""
        return logits.argmax(-1)


@torch.no_grad()
def tag(model, sentences, tokenizer, names, decode=None):
    """Lists of words -> as many lists of labels; `decode` in place of the model's own."""
    found = []
    for start in range(0, len(sentences), 64):
        some = [(words, [0] * len(words)) for words in sentences[start : start + 64]]
        logits, _, mask = model.words(word_inputs(some, tokenizer))
        labels = (decode or model.decode)(logits, mask)
        found += [[names[label] for label in row[real].tolist()] for row, real in zip(labels, mask, strict=True)]
    return found


def may_follow(before, after):
    """Whether BIO allows the label `after` behind the label `before`; in front of the first word stands "O"."""
    return not after.startswith("I-") or before in (f"B-{after[2:]}", after)


def path_score(logits, labels, mask, start, steps, end):
    """Logits (B, W, N), labels and mask (B, W), scores (N,), (N, N) [from, to], (N,) -> score of the labels (B,)."""
    labels = labels.masked_fill(~mask, 0)  # some label: it does not count
    score = start[labels[:, 0]] + end[labels.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0]]
    score = score + (logits.gather(2, labels[:, :, None])[:, :, 0] * mask).sum(1)
    return score + (steps[labels[:, :-1], labels[:, 1:]] * mask[:, 1:]).sum(1)


def log_partition(logits, mask, start, steps, end):
    """As path_score, without labels -> the log of the sum of exp(score) over all paths (B,)."""
    total = start + logits[:, 0]  # (B, N): of all paths so far that end in each label
    for word in range(1, logits.size(1)):
        longer = (total[:, :, None] + steps).logsumexp(1) + logits[:, word]  # (B, N, 1) + (N, N) -> (B, N)
        total = torch.where(mask[:, word, None], longer, total)
    return (total + end).logsumexp(1)


@torch.no_grad()
def viterbi(logits, mask, start, steps, end):
    """As log_partition -> the labels of the path with the highest score (B, W), arbitrary where mask is False."""
    best, pointers = start + logits[:, 0], []  # (B, N): of the best path so far that ends in each label
    stay = torch.arange(len(start)).expand_as(best)
    for word in range(1, logits.size(1)):
        score, before = (best[:, :, None] + steps).max(1)  # (B, N, 1) + (N, N) -> (B, N) each
        real = mask[:, word, None]
        best = torch.where(real, score + logits[:, word], best)
        pointers.append(torch.where(real, before, stay))
    path = [(best + end).argmax(1, keepdim=True)]  # (B, 1)
    for pointer in reversed(pointers):
        path.append(pointer.gather(1, path[-1]))
    return torch.cat(path[::-1], 1)


class CRF(nn.Module):
    """Scores for the first label, for each step from label to label, and for the last label of a sentence."""

    def __init__(self, names):
        super().__init__()
        self.start, self.end = nn.Parameter(torch.zeros(len(names))), nn.Parameter(torch.zeros(len(names)))
        self.transitions = nn.Parameter(torch.zeros(len(names), len(names)))  # [from, to]
        forbidden = [[not may_follow(before, after) for after in names] for before in ["O", *names]]
        self.register_buffer("forbidden", torch.tensor(forbidden), persistent=False)

    def scores(self):
        """Start (N,), steps (N, N) and end (N,); what BIO forbids is -10,000."""
        start = self.start.masked_fill(self.forbidden[0], -1e4)
        return start, self.transitions.masked_fill(self.forbidden[1:], -1e4), self.end

    def loss(self, logits, labels, mask):
        """The mean of -log P(labels), for each word."""
        scores = self.scores()
        right = path_score(logits, labels, mask, *scores)
        return (log_partition(logits, mask, *scores) - right).sum() / mask.sum()

    def decode(self, logits, mask):
        """The likeliest labels of each sentence: (B, W, N) -> (B, W)."""
        return viterbi(logits, mask, *self.scores())


class BertWithCRF(BertForTokenClassification):
    """The same logits; a CRF chooses the labels of a sentence together."""

    def __init__(self, config, names):
        super().__init__(config, len(names))
        self.crf = CRF(names)

    def loss(self, batch):
        return self.crf.loss(*self.words(batch))

    def decode(self, logits, mask):
        return self.crf.decode(logits, mask)
