"""My BERT, part two: what I built on the encoder for the tasks, and the loop that fine-tunes it."""

import random

import torch
import torch.nn.functional as F
from torch import nn

from bertlab.course.my_bert_solution import IGNORED, UNK, AdamW, Bert, clean, cut_word, rate_share, split

# %% one sentence (chapter 09): Devlin et al., section 4.1 and appendix A.3


def inputs(tokenizer, first, second=None, max_tokens=128):
    """Texts, and maybe a second text for each -> input_ids, attention_mask, token_type_ids (B, S). Too long: the end of
    the longer text is cut."""
    rows, kinds = [], []
    for number, text in enumerate(first):
        a, b = tokenizer.ids(text), tokenizer.ids(second[number]) if second else []
        free = max_tokens - (3 if second else 2)
        while len(a) + len(b) > free:
            (a if len(a) >= len(b) else b).pop()
        row = [tokenizer.cls_token_id, *a, tokenizer.sep_token_id]
        behind = [*b, tokenizer.sep_token_id] if second else []
        rows.append(row + behind)
        kinds.append([0] * len(row) + [1] * len(behind))
    longest = max(map(len, rows))
    padding = [longest - len(row) for row in rows]
    return dict(
        input_ids=torch.tensor([row + [tokenizer.pad_token_id] * n for row, n in zip(rows, padding, strict=True)]),
        attention_mask=torch.tensor([[1] * len(row) + [0] * n for row, n in zip(rows, padding, strict=True)]),
        token_type_ids=torch.tensor([kind + [0] * n for kind, n in zip(kinds, padding, strict=True)]),
    )


def epochs(examples, size=32, seed=0):
    """Yield lists of `size` examples without end; each epoch has every example once, in another order."""
    rng = random.Random(seed)
    while True:
        order = rng.sample(examples, len(examples))
        yield from (order[start : start + size] for start in range(0, len(order), size))


class BertForSequenceClassification(nn.Module):
    """One linear layer on the pooled [CLS]."""

    def __init__(self, config, num_labels):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, num_labels)
        nn.init.normal_(self.classifier.weight, std=config.initializer_range)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, S) -> logits (B, N)."""
        _, pooled = self.bert(input_ids, attention_mask, token_type_ids)
        return self.classifier(self.dropout(pooled))

    def loss(self, batch):
        """The three inputs (B, S) and labels (B,) -> the mean loss."""
        rows = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        return F.cross_entropy(self(**rows), batch["labels"], ignore_index=IGNORED)


def layer_shares(model, decay):
    """A model with `bert` and a head -> [(module, share of the learning rate), ...]: 1 for the head, the pooler and the
    last layer; each layer below has `decay` times the share of the one above, the embeddings the least."""
    blocks = [model.bert.embeddings, *model.bert.encoder.layers]
    top = [model.bert.pooler, *(module for name, module in model.named_children() if name != "bert")]
    depths = reversed(range(len(blocks)))  # below the last layer
    return [(block, decay**depth) for block, depth in zip(blocks, depths, strict=True)] + [(part, 1.0) for part in top]


def finetune(model, batches, steps, rate=1e-3, warmup=0.1, clip=1.0, on_step=None, shares=None):
    """Train any model that has `loss(batch)` on an iterable of batches; `on_step(step, loss)` is called after each.
    `shares` are [(module, share of the learning rate), ...]; without them the whole model has the whole rate."""
    optimizers = [(AdamW(module), share) for module, share in shares or [(model, 1.0)]]
    weights = [weight for optimizer, _ in optimizers for weight in optimizer.parameters]
    model.train()
    for step, batch in zip(range(steps), batches, strict=False):
        loss = model.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, clip)
        for optimizer, share in optimizers:
            optimizer.step(share * rate * rate_share((step + 0.5) / steps, warmup))
            optimizer.zero_grad()
        if on_step:
            on_step(step, loss.item())
    return model.eval()


# %% two sentences (chapter 10): Devlin et al., section 4.1; Reimers and Gurevych 2019


def mean_pool(states, attention_mask):
    """States (B, S, H) and the mask (B, S), 1 at tokens and 0 at padding -> their mean over the tokens (B, H)."""
    real = attention_mask[:, :, None].to(states.dtype)  # (B, S, 1)
    return (states * real).sum(1) / real.sum(1)


def in_batch_loss(first, second, scale=20.0):
    """Vectors (B, H) of the first and of the second texts -> mean cross-entropy of finding each text's partner."""
    logits = scale * F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T  # (B, H) @ (H, B) -> (B, B)
    return F.cross_entropy(logits, torch.arange(len(logits)))


class SentenceEncoder(nn.Module):
    """One vector for each text: the mean over its tokens. Both texts of a pair go through the same weights."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.bert = Bert(config)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, S) -> vectors (B, H)."""
        states, _ = self.bert(input_ids, attention_mask, token_type_ids)
        return mean_pool(states, attention_mask)

    def loss(self, batch):
        """The three inputs of the first texts under "first", those of their partners under "second" -> the loss."""
        return in_batch_loss(self(**batch["first"]), self(**batch["second"]))


def choice_rows(tokenizer, texts, choices, max_tokens=128):
    """B texts and a list of C choices for each -> the three inputs (B, C, S): each choice stands behind its text."""
    first = [text for text, options in zip(texts, choices, strict=True) for _ in options]
    second = [option for options in choices for option in options]
    rows = inputs(tokenizer, first, second, max_tokens)
    return {name: row.view(len(texts), -1, row.size(1)) for name, row in rows.items()}


class BertForMultipleChoice(nn.Module):
    """One logit for each row, and a softmax over the rows of one question."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, 1)
        nn.init.normal_(self.classifier.weight, std=config.initializer_range)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, C, S) -> logits (B, C)."""
        rows = (x.flatten(0, 1) for x in (input_ids, attention_mask, token_type_ids))  # (B, C, S) -> (B*C, S)
        _, pooled = self.bert(*rows)
        return self.classifier(self.dropout(pooled)).view(input_ids.shape[:2])  # (B*C, 1) -> (B, C)

    def loss(self, batch):
        """The three inputs (B, C, S) and labels (B,), the numbers of the right choices -> the mean loss."""
        rows = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        return F.cross_entropy(self(**rows), batch["labels"])


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


# %% where the answer stands (chapter 12): Devlin et al., sections 4.2 and 4.3; windows after the released run_squad.py


class BertForQuestionAnswering(nn.Module):
    """One linear layer on every token: how well an answer starts there, and how well it ends there."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)  # the vectors S and E of the paper
        nn.init.normal_(self.qa_outputs.weight, std=config.initializer_range)
        nn.init.zeros_(self.qa_outputs.bias)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, S) -> start logits (B, S), end logits (B, S)."""
        hidden, _ = self.bert(input_ids, attention_mask, token_type_ids)
        return self.qa_outputs(hidden).unbind(-1)  # (B, S, H) -> (B, S, 2) -> 2 x (B, S)

    def loss(self, batch):
        """The three inputs (B, S), start_positions and end_positions (B,) -> the mean of both mean losses."""
        start, end = self(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
        return (F.cross_entropy(start, batch["start_positions"]) + F.cross_entropy(end, batch["end_positions"])) / 2


def offsets(tokenizer, text):
    """Where each token of a text begins and stops, in characters of the text: [(0, 4), (5, 8), ...]."""
    letters = [(letter, place) for place, character in enumerate(text) for letter in clean(character)]
    cleaned, at, found = "".join(letter for letter, _ in letters), 0, []
    for word in split(cleaned):
        at = cleaned.index(word, at)
        for piece in cut_word(word, tokenizer.vocabulary):
            size = len(word) if piece == UNK else len(piece.removeprefix("##"))
            found.append((letters[at][1], letters[at + size - 1][1] + 1))
            at += size
    return found


def answer_positions(places, first, begin, stop):
    """Characters of the passage's tokens, the position of the first of them in its row, characters begin..stop of the
    answer -> positions of its first and last token; 0, 0 ([CLS]) if there is none (begin < 0) or not all is here."""
    if begin < 0 or begin < places[0][0] or stop > places[-1][1]:
        return 0, 0
    touched = [number for number, (left, right) in enumerate(places) if left < stop and begin < right]
    return first + touched[0], first + touched[-1]


def cut_windows(count, room, stride):
    """Ranges of at most `room` of `count` tokens, which start `stride` tokens apart."""
    stride = min(stride, room)  # no token may fall between two windows
    return [range(start, min(start + room, count)) for start in range(0, max(count - room, 0) + stride, stride)]


def most_context(windows):
    """For each token the number of the window in which it has most context; of equal ones the first."""

    def context(number, token):
        window = windows[number]
        return min(token - window.start, window.stop - 1 - token) + 0.01 * len(window)

    holding = [[n for n, window in enumerate(windows) if token in window] for token in range(windows[-1].stop)]
    return [max(numbers, key=lambda n: context(n, token)) for token, numbers in enumerate(holding)]


def question_rows(tokenizer, question, passage, max_tokens=128, stride=64):
    """One row for each window of the passage: `ids`, `first`, the position of the window's first token in the row,
    `places`, the characters of its tokens in the passage, `starts`, whether an answer may start with each of them."""
    head = [tokenizer.cls_token_id, *tokenizer.ids(question)[:64], tokenizer.sep_token_id]
    ids, places = tokenizer.ids(passage), offsets(tokenizer, passage)
    windows = cut_windows(len(ids), max_tokens - len(head) - 1, stride)
    best = most_context(windows)
    return [
        dict(
            ids=[*head, *ids[window.start : window.stop], tokenizer.sep_token_id],
            first=len(head),
            places=places[window.start : window.stop],
            starts=[best[token] == number for token in window],
        )
        for number, window in enumerate(windows)
    ]


def question_batch(rows, tokenizer):
    """Rows of question_rows -> input_ids, attention_mask, token_type_ids (B, S)."""
    longest = max(len(row["ids"]) for row in rows)
    free = [longest - len(row["ids"]) for row in rows]  # positions of padding
    kinds = [[0] * row["first"] + [1] * (len(row["places"]) + 1) for row in rows]
    return dict(
        input_ids=torch.tensor([r["ids"] + [tokenizer.pad_token_id] * n for r, n in zip(rows, free, strict=True)]),
        attention_mask=torch.tensor([[1] * len(r["ids"]) + [0] * n for r, n in zip(rows, free, strict=True)]),
        token_type_ids=torch.tensor([kind + [0] * n for kind, n in zip(kinds, free, strict=True)]),
    )


def best_span(start, end, starts, ends, longest=30):
    """Logits (S,) and where an answer may start and end, bool (S,) -> first and last token of the best span of at most
    `longest` tokens."""
    size = len(start)
    scores = start[:, None] + end[None, :]  # (S, 1) + (1, S) -> (S, S)
    near = torch.ones(size, size, dtype=torch.bool).triu().tril(longest - 1)  # start <= end < start + longest
    legal = near & starts[:, None] & ends[None, :]
    return divmod(int(scores.masked_fill(~legal, -torch.inf).argmax()), size)


def decide(nulls, spans, threshold=0.0):
    """Of each window the score of "no answer", and its best span as (score, text) -> the answer, or "" for none."""
    score, text = max(spans)
    return "" if min(nulls) - score > threshold else text


@torch.no_grad()
def answer_question(model, tokenizer, question, passage, threshold=0.0, max_tokens=128, stride=64):
    """Return the answer as it stands in the passage, "" for none."""
    rows, nulls, spans = question_rows(tokenizer, question, passage, max_tokens, stride), [], []
    for row, start, end in zip(rows, *model(**question_batch(rows, tokenizer)), strict=True):
        starts, ends = torch.zeros(2, len(start), dtype=torch.bool)
        passage_part = slice(row["first"], row["first"] + len(row["places"]))
        starts[passage_part], ends[passage_part] = torch.tensor(row["starts"]), True
        first, last = best_span(start, end, starts, ends)
        (begin, _), (_, stop) = row["places"][first - row["first"]], row["places"][last - row["first"]]
        nulls.append(float(start[0] + end[0]))
        spans.append((float(start[first] + end[last]), passage[begin:stop]))
    return decide(nulls, spans, threshold)
