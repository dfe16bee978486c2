"""Right answers written in other ways than the reference pass."""

import math
import random
import re
import string
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from scipy import stats
from torch import nn

from bertlab.compare import statistics
from bertlab.course.chapter_00.exercises import tour
from bertlab.course.chapter_17.exercises import counting
from bertlab.course.chapters import EXERCISES
from bertlab.course.solutions import (
    answers,
    encoder,
    every_token,
    family,
    one_sentence,
    pretraining,
    tokenizer,
    training,
    two_sentences,
)

LOW = torch.finfo(torch.float32).min


# Chapter 02


def clean_by_hand(text):
    kept = ""
    for character in unicodedata_nfd("".join(tokenizer.clean_character(c) for c in text)):
        if category(character) != "Mn":
            kept += character.lower()
    return kept


def unicodedata_nfd(text):
    import unicodedata

    return unicodedata.normalize("NFD", text)


def category(character):
    import unicodedata

    return unicodedata.category(character)


def cut_by_recursion(word, vocabulary, inside=False):
    if not inside and len(word) > 100:
        return ["[UNK]"]
    pieces = []
    while word:
        sizes = [n for n in range(1, len(word) + 1) if ("##" if pieces else "") + word[:n] in vocabulary]
        if not sizes:
            return ["[UNK]"]
        pieces.append(("##" if pieces else "") + word[: sizes[-1]])
        word = word[sizes[-1] :]
    return pieces


class ByLoops(tokenizer.Tokenizer):
    def ids(self, text):
        found = []
        for word in tokenizer.split(tokenizer.clean(text)):
            found.extend(self.vocabulary[piece] for piece in tokenizer.cut_word(word, self.vocabulary))
        return found


def merge_by_index(pieces, first, second):
    at, result = 0, []
    while at < len(pieces):
        if pieces[at : at + 2] == [first, second]:
            result.append(first + second[2:])
            at += 2
        else:
            result.append(pieces[at])
            at += 1
    return result


def gain_in_one_sum(pair, first, second, total):
    def f(n):
        return 0 if n == 0 else n * math.log(n)

    return f(first - pair) + f(second - pair) + f(pair) + f(total) - f(total - pair) - f(first) - f(second)


# Chapter 03


def lookups():
    yield lambda ids, table: (ids[..., None] == torch.arange(len(table))).float() @ table
    yield lambda ids, table: torch.einsum("bsv,vh->bsh", F.one_hot(ids, len(table)).float(), table)
    yield lambda ids, table: F.linear(F.one_hot(ids, len(table)).float(), table.T)
    yield lambda ids, table: torch.sparse.mm(F.one_hot(ids.flatten(), len(table)).to_sparse().float(), table).unflatten(
        0, ids.shape
    )
    yield lambda ids, table: (F.one_hot(ids, len(table))[..., None] * table).sum(-2)
    yield lambda ids, table: torch.stack([F.one_hot(row, len(table)).float() @ table for row in ids])


def segments_by_loops(input_ids, sep, pad):
    rows = []
    for row in input_ids.tolist():
        seen, types = 0, []
        for token in row:
            types.append(1 if seen == 1 and token != pad else 0)
            seen += token == sep
        rows.append(types)
    return torch.tensor(rows)


class EmbeddingsInAnotherOrder(nn.Module):
    def __init__(self, config):
        super().__init__()
        H = config.hidden_size
        self.p = config.hidden_dropout_prob
        self.norm = nn.LayerNorm(H, config.layer_norm_eps)
        self.segment = nn.Embedding(config.type_vocab_size, H)
        self.position = nn.Embedding(config.max_position_embeddings, H)
        self.word = nn.Embedding(config.vocab_size, H, padding_idx=config.pad_token_id)

    def forward(self, input_ids, token_type_ids):
        B, S = input_ids.shape
        places = torch.arange(S).expand(B, S)
        x = self.position(places)
        x = x + self.word(input_ids)
        x += self.segment(token_type_ids)
        return F.dropout(self.norm(x), self.p, self.training)


def waves_in_place(count, width, base=10_000.0):
    angles = torch.arange(count)[:, None] / base ** (torch.arange(0, width, 2) / width)
    table = torch.empty(count, width)
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


def shift_by_blocks(shift, width, base=10_000.0):
    matrix = torch.zeros(width, width)
    for i in range(0, width, 2):
        angle = torch.tensor(shift / base ** (i / width))
        matrix[i : i + 2, i : i + 2] = torch.tensor([[angle.cos(), angle.sin()], [-angle.sin(), angle.cos()]])
    return matrix


# Chapter 04


def attend_by_einsum(query, key, value):
    weights = torch.einsum("...id,...jd->...ij", query, key).mul(query.shape[-1] ** -0.5).softmax(dim=-1)
    return torch.einsum("...ij,...jd->...id", weights, value), weights


def attend_by_hand(query, key, value):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(value.shape[-1])
    e = torch.exp(scores - scores.max(-1, keepdim=True).values)
    weights = e / e.sum(-1, keepdim=True)
    return [torch.matmul(weights, value), weights]


def split_by_view(x, heads):
    return x.view(x.size(0), x.size(1), heads, x.size(2) // heads).permute(0, 2, 1, 3)


def merge_by_cat(x):
    return torch.cat([x[:, head] for head in range(x.size(1))], dim=-1)


class AttentionByEinsum(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.p = config.num_attention_heads, config.attention_probs_dropout_prob
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)

    def forward(self, x, padding):
        B, S, H = x.shape
        query, key, value = self.qkv(x).view(B, S, 3, self.heads, H // self.heads).unbind(2)  # (B, S, A, D) each
        scores = torch.einsum("biad,bjad->baij", query, key) * (H // self.heads) ** -0.5
        if padding is not None:
            scores = scores + padding * -1e4
        weights = F.softmax(scores, -1)
        context = torch.einsum("baij,bjad->biad", F.dropout(weights, self.p, self.training), value)
        return self.out(context.reshape(B, S, H)), weights


class AttentionHeadByHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.size = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, x, padding):
        found, weights = [], []
        for head in range(self.heads):
            part = slice(head * self.size, (head + 1) * self.size)
            query, key, value = (each[..., part] for each in self.qkv(x).chunk(3, -1))  # (B, S, D) each
            scores = query @ key.transpose(1, 2) / self.size**0.5
            if padding is not None:
                scores = scores.masked_fill(padding[:, 0], LOW)
            weights.append(scores.softmax(-1))
            found.append(self.dropout(weights[-1]) @ value)
        return self.out(torch.cat(found, -1)), torch.stack(weights, 1)


def previous_by_steep_scores(positions):
    size = len(positions)
    inverse = torch.linalg.pinv(positions)
    wanted = torch.zeros(size, size)
    wanted[torch.arange(size), (torch.arange(size) - 1).clamp(0)] = 1
    return 200.0 * inverse @ wanted, inverse


# Chapter 05


def norm_of_rows(x, weight, bias, eps):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    return weight[None, None] * (x - mean) / torch.sqrt(variance + eps) + bias[None, None]


class LayerWithTwoDropouts(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention, self.feed_forward = encoder.MultiHeadAttention(config), encoder.FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.attention_norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.first, self.second = nn.Dropout(config.hidden_dropout_prob), nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x, padding):
        y = self.attention(x, padding=padding)[0]
        y = self.attention_norm(self.first(y) + x)
        z = self.feed_forward(y)
        return self.feed_forward_norm(y + self.second(z))


class BertByKeywords(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.pooler, self.encoder = encoder.Pooler(config), encoder.Encoder(config)
        self.embeddings = encoder.Embeddings(config)

    def forward(self, input_ids, attention_mask, token_type_ids):
        x = self.embeddings(token_type_ids=token_type_ids, input_ids=input_ids)
        states = self.encoder(padding=~attention_mask.bool()[:, None, None], x=x)
        return states, self.pooler(states)


def initialise_in_data(model, std=0.02):
    tables = [m for m in model.modules() if isinstance(m, nn.Embedding)]
    for module in [*tables, *(m for m in model.modules() if isinstance(m, nn.Linear))]:
        module.weight.data.normal_(0.0, std)
        if getattr(module, "bias", None) is not None:
            module.bias.data.zero_()
    for table in tables:
        if table.padding_idx is not None:
            table.weight.data[table.padding_idx].zero_()


@torch.no_grad()
def initialise_by_copy(model, std=0.02):
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            module.weight.copy_(std * torch.randn_like(module.weight))
        if isinstance(module, nn.Linear):
            module.bias.fill_(0.0)
    for module in model.modules():
        if getattr(module, "padding_idx", None) is not None:
            module.weight[module.padding_idx] = 0


def count_layer_by_layer(config):
    H, W = config.hidden_size, config.intermediate_size
    total = (config.vocab_size + config.max_position_embeddings + config.type_vocab_size) * H + 2 * H
    for _ in range(config.num_hidden_layers):
        total += 3 * H * H + 3 * H + H * H + H + 2 * H + H * W + W + W * H + H + 2 * H
    return total + H * H + H


# Chapter 06


def actions_by_index(hidden, labels, mask_token_id):
    kinds = torch.zeros_like(hidden)
    asked = labels != -100
    kinds[asked] = 2
    kinds[asked & (hidden == labels)] = 3
    kinds[asked & (hidden == mask_token_id)] = 1
    return kinds


def coins(ids, special, tokenizer, generator, rate=0.15, first=5):
    chosen = (torch.rand(ids.shape, generator=generator) < rate) & ~special
    coin = torch.rand(ids.shape, generator=generator)
    hidden = ids.masked_fill(chosen & (coin < 0.8), tokenizer.mask_token_id)
    words = torch.randint(first, tokenizer.vocab_size, ids.shape, generator=generator)
    return torch.where(chosen & (coin > 0.9), words, hidden), ids.masked_fill(~chosen, -100)


def fates(ids, special, tokenizer, generator, rate=0.15):
    chosen = (torch.rand(ids.shape, generator=generator) < rate) & ~special
    fate = torch.tensor([0.8, 0.1, 0.1]).multinomial(int(chosen.sum()), replacement=True, generator=generator)
    words = torch.randint(5, tokenizer.vocab_size, fate.shape, generator=generator)
    hidden = ids.clone()
    hidden[chosen] = torch.where(fate == 0, tokenizer.mask_token_id, torch.where(fate == 1, words, ids[chosen]))
    return [hidden, ids.masked_fill(~chosen, -100)]


def coins_of_the_whole_vocabulary(ids, special, tokenizer, generator, rate=0.15):
    return coins(ids, special, tokenizer, generator, rate, first=0)


def loss_of_torch(logits, labels):
    chosen = labels != -100
    return F.cross_entropy(logits[chosen], labels[chosen], reduction="sum") / max(int(chosen.sum()), 1)


def loss_of_a_constant(logits, labels):
    chosen = labels != -100
    return F.cross_entropy(logits[chosen], labels[chosen]) if chosen.any() else torch.tensor(0.0)


class HeadStepByStep(pretraining.MaskedLMHead):
    def forward(self, states):
        x = F.gelu(self.dense(states))
        return F.linear(self.norm(x), self.decoder.weight, self.decoder.bias)


def words_from_the_right(tokens):
    words, open_word = [], []
    for place in range(len(tokens) - 1, -1, -1):
        if tokens[place] in ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"):
            continue
        open_word = [place, *open_word]
        if not tokens[place].startswith("##"):
            words, open_word = [open_word, *words], []
    return words


# Chapter 07


def pairs_by_flags(positives, rng):
    """Negatives are the nearest in length of twenty second texts that are shuffled to the front."""
    negatives = set(rng.sample(range(len(positives)), len(positives) // 2))
    pairs = []
    for number, (document, first, second) in enumerate(positives):
        others = [text for other, _, text in positives if other != document and text != second]
        rng.shuffle(others)
        nearest = min(others[:20], key=lambda text: abs(len(text) - len(second)))
        pairs.append((first, nearest, 1) if number in negatives else (first, second, 0))
    rng.shuffle(pairs)
    return pairs


def cut_the_first_of_equals(first, second, budget):
    first, second = list(first), list(second)
    while len(first) + len(second) > budget:
        if len(first) >= len(second):
            del first[0]
        else:
            second.pop()
    return first, second


def by_exchange(positives, rng):
    """Negatives are the nearest in length of all second texts of other documents."""
    shuffled = rng.sample(positives, len(positives))
    half = len(shuffled) // 2
    pairs = [(first, second, 0) for _, first, second in shuffled[half:]]
    for document, first, second in shuffled[:half]:
        others = [text for other, _, text in shuffled if other != document and text != second]
        pairs.append((first, min(others, key=lambda text: abs(len(text) - len(second))), 1))
    rng.shuffle(pairs)
    return pairs


def collate_by_tensors(pairs, tokenizer):
    size = max(len(a) + len(b) + 3 for a, b, _ in pairs)
    ids = torch.full((len(pairs), size), tokenizer.pad_token_id)
    types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, (a, b, _) in enumerate(pairs):
        text = [tokenizer.cls_token_id, *a, tokenizer.sep_token_id, *b, tokenizer.sep_token_id]
        ids[row, : len(text)], mask[row, : len(text)] = torch.tensor(text), 1
        types[row, len(a) + 2 : len(text)] = 1
    labels = torch.tensor([label for _, _, label in pairs])
    return {"next_sentence_label": labels, "token_type_ids": types, "attention_mask": mask, "input_ids": ids}


def joint_loss_of_torch(prediction_logits, relationship_logits, labels, next_sentence_label):
    asked = next_sentence_label != -100
    pairs = F.cross_entropy(relationship_logits[asked], next_sentence_label[asked], reduction="sum")
    return F.cross_entropy(prediction_logits.transpose(1, 2), labels) + pairs / asked.sum().clamp(min=1)


def joint_loss_by_cases(prediction_logits, relationship_logits, labels, next_sentence_label):
    loss = F.cross_entropy(prediction_logits.flatten(0, 1), labels.flatten())
    if (next_sentence_label != -100).any():
        loss = loss + F.cross_entropy(relationship_logits, next_sentence_label)
    return loss


class ModelByKeywords(pretraining.BertForPreTraining):
    def forward(self, input_ids, attention_mask, token_type_ids):
        states, pooled = self.bert(input_ids, token_type_ids=token_type_ids, attention_mask=attention_mask)
        pair = self.nsp(pooled)
        return self.mlm(states), pair


# Chapter 08


def rate_by_min(progress, warmup):
    return min(progress / warmup if warmup else 1, (1 - progress) / (1 - warmup))


def adamw_by_the_formula(weight, grad, m, v, step, rate, betas, eps, decay):
    m, v = betas[0] * m + (1 - betas[0]) * grad, betas[1] * v + (1 - betas[1]) * grad**2
    mean, square = m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)
    return weight - rate * decay * weight - rate * mean / (square.sqrt() + eps), m, v


class TorchAdamW:
    def __init__(self, model, betas=(0.9, 0.999), eps=1e-6, decay=0.01):
        kinds = [[p for p in model.parameters() if (p.ndim > 1) == matrix] for matrix in (True, False)]
        groups = [{"params": kind, "weight_decay": each} for kind, each in zip(kinds, (decay, 0.0), strict=True)]
        self.torch = torch.optim.AdamW(groups, betas=betas, eps=eps)

    def step(self, rate):
        for group in self.torch.param_groups:
            group["lr"] = rate
        self.torch.step()

    def zero_grad(self):
        self.torch.zero_grad()


class AdamWThatZeroes(training.AdamW):
    def zero_grad(self):
        for weight in self.parameters:
            if weight.grad is not None:
                weight.grad.zero_()


def step_that_clears_first(model, optimizer, batch, rate, clip=1.0):
    optimizer.zero_grad()
    words, pairs = model(
        token_type_ids=batch["token_type_ids"], attention_mask=batch["attention_mask"], input_ids=batch["input_ids"]
    )
    asked = batch["labels"] != -100
    loss = F.cross_entropy(words[asked], batch["labels"][asked]) + F.cross_entropy(pairs, batch["next_sentence_label"])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step(rate)
    optimizer.zero_grad()
    return loss.item()


def batches_of_another_order(documents, tokenizer, size=32, max_tokens=64, rate=0.15, seed=0):
    mixed = random.Random(seed).sample(documents, len(documents))
    yield from training.batches(mixed, tokenizer, size, max_tokens, rate, seed + 1)


# Chapters 00 and 01


def likeliest_by_sorting(logits, k):
    order = torch.sort(logits, descending=True).indices
    return order[:k], torch.softmax(logits, 0)[order[:k]]


def passed_by_gather(logits, answers, foils):
    return (logits.gather(1, answers[:, None]) > logits.gather(1, foils[:, None])).float().mean()


def passed_by_loops(logits, answers, foils):
    wins = [row[answer] > row[foil] for row, answer, foil in zip(logits, answers, foils, strict=True)]
    return sum(wins) / len(wins)


def pair_of_tensors(first, second, cls, sep, length):
    ids, types, mask = torch.zeros(3, length, dtype=torch.long)
    text = torch.tensor([cls, *first, sep, *second, sep])
    ids[: len(text)], mask[: len(text)], types[len(first) + 2 : len(text)] = text, 1, 1
    return ids, types, mask


def span_by_a_table(start, end, longest):
    size = len(start)
    scores = start[:, None] + end
    legal = torch.ones(size, size).triu().tril(longest - 1).bool()
    legal[0] = False
    best = scores.masked_fill(~legal, -torch.inf).argmax()
    return best // size, best % size


def neighbours_one_by_one(words, position, window):
    around = range(position - window, position + window + 1)
    return [words[place] for place in around if 0 <= place < len(words) and place != position]


def sampling_by_einsum(seen, right, negatives):
    true, false = torch.einsum("nd,nd->n", seen, right), torch.einsum("nd,nkd->nk", seen, negatives)
    each = F.softplus(-true) + F.softplus(false).sum(1)
    return each.sum() / len(each)


def score_by_loops(log_p, ids):
    rows = [sum(log_p[n, i, ids[n, i + 1]] for i in range(ids.size(1) - 1)) for n in range(len(ids))]
    return torch.stack(rows)


def score_by_numpy(log_p, ids):
    rows, places = np.indices(ids[:, 1:].shape)
    return torch.from_numpy(log_p.detach().numpy()[rows, places, ids[:, 1:].numpy()].sum(1))


def pair_of_an_array(first, second, cls, sep, length):
    return np.array(tour.pair_inputs(first, second, cls, sep, length))


# Chapters 09 and 12


def epochs_of_a_copy(examples, size=32, seed=0):
    rng, mine = random.Random(seed), list(examples)
    while True:
        rng.shuffle(mine)
        for start in range(0, len(mine), size):
            yield mine[start : start + size]


def epochs_by_permutation(examples, size=32, seed=0):
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(examples))
        for start in range(0, len(order), size):
            yield [examples[number] for number in order[start : start + size]]


def epochs_of_what_is_left(examples, size=32, seed=0):
    rng = random.Random(seed)
    while True:
        left = list(range(len(examples)))
        while left:
            numbers = rng.sample(left, min(size, len(left)))
            left = [n for n in left if n not in numbers]
            yield [examples[n] for n in numbers]


class ClassifierByHand(one_sentence.BertForSequenceClassification):
    def forward(self, input_ids, attention_mask, token_type_ids):
        pooled = self.bert(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[1]
        return F.linear(self.dropout(pooled), self.classifier.weight, self.classifier.bias)

    def loss(self, batch):
        logits = self(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
        asked = batch["labels"] != -100
        return -logits.log_softmax(-1)[asked].gather(1, batch["labels"][asked][:, None]).mean()


def finetune_that_clears_first(model, batches, steps, rate=1e-3, warmup=0.1, clip=1.0, on_step=None, shares=None):
    optimizers = [(training.AdamW(part), share) for part, share in (shares or [(model, 1)])]
    model.train()
    batches = iter(batches)
    for step in range(steps):
        for optimizer, _ in optimizers:
            optimizer.zero_grad()
        loss = model.loss(next(batches))
        loss.backward()
        torch.nn.utils.clip_grad_norm_([w for optimizer, _ in optimizers for w in optimizer.parameters], clip)
        for optimizer, share in optimizers:
            optimizer.step(rate * share * training.rate_share((step + 0.5) / steps, warmup))
        if on_step is not None:
            on_step(step, float(loss.detach()))
    model.eval()
    return model


def shares_from_the_top(model, decay):
    heads = dict(model.named_children())
    found, share = [(model.bert.pooler, 1), *((heads[name], 1) for name in heads if name != "bert")], 1.0
    for layer in reversed(model.bert.encoder.layers):
        found.append((layer, share))
        share *= decay
    return [*found, (model.bert.embeddings, share)]


def best_by_counting(accuracies, k):
    ordered, n = sorted(accuracies), len(accuracies)
    return sum(value * (((i + 1) / n) ** k - (i / n) ** k) for i, value in enumerate(ordered))


def normalise_by_expressions(text):
    text = re.sub(f"[{re.escape(string.punctuation)}]", "", text.lower())
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


class AnswerBySqueeze(answers.BertForQuestionAnswering):
    def forward(self, input_ids, attention_mask, token_type_ids):
        states = self.bert(input_ids, attention_mask, token_type_ids)[0]
        start, end = self.qa_outputs(states).split(1, dim=-1)
        return start.squeeze(-1), end.squeeze(-1)


def positions_by_search(places, first, begin, stop):
    if begin < 0 or places[0][0] > begin or places[-1][1] < stop:
        return (0, 0)
    start = next(n for n, (_, right) in enumerate(places) if right > begin)
    end = max(n for n, (left, _) in enumerate(places) if left < stop)
    return (first + start, first + end)


def span_of_loops(start, end, starts, ends, longest=30):
    best, found = -math.inf, None
    for i in range(len(start)):
        for j in range(i, min(i + longest, len(end))):
            if starts[i] and ends[j] and start[i] + end[j] > best:
                best, found = start[i] + end[j], (i, j)
    return found


# Chapters 10, 16 and 18


def pool_by_einsum(states, attention_mask):
    return torch.einsum("bsh,bs->bh", states, attention_mask.to(states.dtype)) / attention_mask.sum(1, keepdim=True)


def in_batch_by_cosines(first, second, scale=20.0):
    cosines = F.cosine_similarity(first[:, None], second[None], dim=-1)
    return -(scale * cosines).log_softmax(1).diagonal().mean()


class EncoderOfAllTexts(two_sentences.SentenceEncoder):
    def loss(self, batch):
        rows = {name: torch.cat([batch["first"][name], batch["second"][name]]) for name in batch["first"]}
        return two_sentences.in_batch_loss(*self(**rows).chunk(2))


def recall_by_sorting(similarity, right, k):
    order = similarity.argsort(dim=1, descending=True)[:, :k].tolist()
    return sum(int(number) in best for number, best in zip(right, order, strict=True)) / len(right)


def fuse_by_ranks(lists):
    total = 0
    for scores in lists:
        at_least = scores[None, :] >= scores[:, None]  # (N, N)
        total = total + 1 / (60 + at_least.sum(1))
    return total


def fuse_by_scipy(lists):
    return np.sum([1 / (60 + stats.rankdata(-scores, method="max")) for scores in lists], axis=0)


def fuse_in_a_list(lists):
    return [sum(1 / (60 + sum(scores >= scores[text])) for scores in lists) for text in range(len(lists[0]))]


def rows_by_look_ahead(documents, budget, sep):
    rows = [[]]
    for document in documents:
        for place, sentence in enumerate(document):
            piece = ([sep] if place == 0 and rows[-1] else []) + list(sentence)
            if len(rows[-1]) + len(piece) <= budget:
                rows[-1] += piece
            else:
                rows.append(list(sentence))
    return rows


def order_by_indices(positives, rng):
    numbers = list(range(len(positives)))
    rng.shuffle(numbers)
    chosen = set(numbers[: len(numbers) // 2])
    pairs = [(b, a, 1) if n in chosen else (a, b, 0) for n, (_, a, b) in enumerate(positives)]
    rng.shuffle(pairs)
    return pairs


def replaced_by_where(input_ids, labels, logits, rng):
    hidden = labels.ne(-100)
    words = logits.flatten(0, 1).softmax(-1).multinomial(1, generator=rng).view_as(input_ids)
    shown = torch.where(hidden, words, input_ids)
    return shown, hidden & (shown != labels)


def replaced_by_noise(input_ids, labels, logits, rng):
    noise = -(-torch.rand(logits.shape, generator=rng).clamp(1e-20, 1 - 1e-7).log()).log()  # Gumbel's
    shown = torch.where(labels == -100, input_ids, (logits + noise).argmax(-1))
    return [shown, (labels != -100) & (shown != labels)]


def unpad_by_rows(input_ids, attention_mask):
    lengths = attention_mask.sum(1).tolist()
    ids = torch.cat([row[:length] for row, length in zip(input_ids, lengths, strict=True)])
    rows = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    return ids, torch.cat([torch.arange(length) for length in lengths]), rows.unsqueeze(1).ne(rows)


def soft_loss_of_torch(student, teacher, temperature):
    log_p, q = F.log_softmax(student / temperature, -1), F.softmax(teacher / temperature, -1)
    return F.kl_div(log_p, q, reduction="batchmean") * temperature**2


def rotate_by_complex_numbers(x, positions):
    half = x.size(-1) // 2
    angles = positions[:, None] * torch.pow(10000.0, -2 * torch.arange(half) / x.size(-1))
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], -1)


def split_by_counting(passages, every):
    number, train, test = {}, [], []
    for document, text in passages:
        number.setdefault(document, len(number))
        (train if number[document] % every else test).append((document, text))
    return train, test


def falling_by_arrays(losses, window):
    before, last = np.array(losses[-2 * window : -window]), np.array(losses[-window:])
    error = np.sqrt(before.var(ddof=1) / window + last.var(ddof=1) / window)
    return before.mean() - last.mean() > 2 * error


def interval_by_choice(right, asked, rng):
    shares = []
    for _ in range(1000):
        drawn = rng.choice(len(right), len(right))
        shares.append(right[drawn].sum() / asked[drawn].sum())
    return tuple(np.percentile(shares, (2.5, 97.5)))


# Chapter 14


def causal_by_comparison(attention_mask):
    places = torch.arange(attention_mask.shape[1])
    ahead = places[None, :] > places[:, None]
    return torch.logical_or(ahead[None, None], attention_mask.eq(0)[:, None, None])


class GptByLinear(family.Gpt):
    def forward(self, input_ids, attention_mask):
        x = self.position.weight[: input_ids.size(1)] + self.word(input_ids)
        return F.linear(self.encoder(self.dropout(x), family.causal_mask(attention_mask)), self.word.weight)

    def loss(self, batch):
        logits = self(batch["input_ids"], batch["attention_mask"])[:, :-1]
        asked = batch["attention_mask"][:, 1:].bool()
        return F.cross_entropy(logits[asked], batch["input_ids"][:, 1:][asked])


def backwards_row_by_row(x, attention_mask):
    rows = []
    for row, length in zip(x, attention_mask.sum(1).tolist(), strict=True):
        rows.append(torch.cat([row[:length].flip(0), row[length:]]))
    return torch.stack(rows)


# Chapter 17


def step_by_splitting(model, optimizer, batch, rate, rows, clip=1.0):
    sizes = {name: (batch[name] != -100).sum() for name in ("labels", "next_sentence_label")}
    loss = 0.0
    for parts in zip(*(batch[name].split(rows) for name in batch), strict=True):
        part = dict(zip(batch, parts, strict=True))
        words, pairs = model(**{name: part[name] for name in ("input_ids", "attention_mask", "token_type_ids")})
        asked, known = part["labels"] != -100, part["next_sentence_label"] != -100
        own = F.cross_entropy(words[asked], part["labels"][asked], reduction="sum") / sizes["labels"]
        right = part["next_sentence_label"][known]
        own = own + F.cross_entropy(pairs[known], right, reduction="sum") / sizes["next_sentence_label"]
        own.backward()
        loss += own.item()
    torch.nn.utils.clip_grad_norm_(optimizer.parameters, clip)
    optimizer.step(rate)
    optimizer.zero_grad()
    return loss


# Chapter 13


def control_dealt_out(words, labels, rng):
    dealt = dict(zip(dict.fromkeys(words), rng.sample(labels, len(labels)), strict=False))
    return [dealt[word] for word in words]


def control_by_word(words, labels, rng):
    known, found = {}, []
    for word in words:
        if word not in known:
            known[word] = labels[rng.randrange(len(labels))]
        found.append(known[word])
    return found


def effects_one_by_one(log_p, ids, position, others, mask_id):
    before = log_p(ids.unsqueeze(0))[0, position]
    value, answer = before.max(0)
    effects = []
    for other in others:
        row = ids.clone()
        row[other] = mask_id
        effects.append(value - log_p(row[None])[0, position, answer])
    return torch.stack(effects)


def likelihood_one_by_one(log_p, ids, special, mask_id):
    total = 0.0
    for place in range(len(ids)):
        if not special[place]:
            row = ids.clone()
            row[place] = mask_id
            total += log_p(row[None])[0, place, ids[place]]
    return total


# Chapter 11


def entities_by_ends(labels):
    found, start = [], None
    for word, label in enumerate([*labels, "O"]):
        goes_on = start is not None and label == f"I-{labels[start][2:]}"
        if start is not None and not goes_on:
            found.append((labels[start][2:], start, word - 1))
            start = None
        if label != "O" and not goes_on:
            start = word
    return found


def align_by_positions(words, labels, tokenizer):
    ids, first = [tokenizer.cls_token_id], {}
    for word, label in zip(words, labels, strict=True):
        first[len(ids)] = label
        ids.extend(tokenizer.ids(word) or [tokenizer.vocabulary["[UNK]"]])
    ids.append(tokenizer.sep_token_id)
    return ids, [first.get(place, -100) for place in range(len(ids))]


class TaggerOfAllPositions(every_token.BertForTokenClassification):
    def loss(self, batch):
        logits = self(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
        return F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=-100)


def score_word_by_word(logits, labels, mask, start, steps, end):
    found = []
    for row, path, real in zip(logits, labels, mask, strict=True):
        path = path[real].tolist()
        score = start[path[0]] + end[path[-1]] + sum(row[word, label] for word, label in enumerate(path))
        found.append(score + sum(steps[a, b] for a, b in pairwise(path)))
    return torch.stack(found)


def partition_row_by_row(logits, mask, start, steps, end):
    found = []
    for row, length in zip(logits, mask.sum(1).tolist(), strict=True):
        total = start + row[0]
        for word in row[1:length]:
            total = torch.logsumexp(total[:, None] + steps + word, 0)
        found.append(torch.logsumexp(total + end, 0))
    return torch.stack(found)


def best_of_all_paths(logits, mask, start, steps, end):
    found = torch.full(mask.shape, -1)
    for number, length in enumerate(mask.sum(1).tolist()):
        paths = torch.cartesian_prod(*[torch.arange(len(start))] * length).view(-1, length)
        rows, real = logits[number : number + 1].expand(len(paths), -1, -1), torch.ones(len(paths), length).bool()
        scores = every_token.path_score(rows[:, :length], paths, real, start, steps, end)
        found[number, :length] = paths[scores.argmax()]
    return found


def marginals_from_both_sides(logits, mask, start, steps, end):
    ahead, behind = [start + logits[:, 0]], [end.expand(len(logits), -1)]
    for word in range(1, logits.size(1)):
        longer = (ahead[-1][:, :, None] + steps).logsumexp(1) + logits[:, word]
        ahead.append(torch.where(mask[:, word, None], longer, ahead[-1]))
    for word in reversed(range(1, logits.size(1))):
        longer = (steps + (logits[:, word] + behind[0])[:, None, :]).logsumexp(2)
        behind.insert(0, torch.where(mask[:, word, None], longer, behind[0]))
    return (torch.stack(ahead, 1) + torch.stack(behind, 1)).softmax(-1)


class CRFBySentences(every_token.CRF):
    def loss(self, logits, labels, mask):
        losses = []
        for row, path, real in zip(logits, labels, mask, strict=True):
            given = row[real][None], real[real][None]
            right = every_token.path_score(given[0], path[real][None], given[1], *self.scores())
            losses.append(every_token.log_partition(*given, *self.scores()) - right)
        return sum(losses).squeeze() / mask.sum()


# Chapter 15


def runs_seed_by_seed(train, measure, settings, seeds):
    rows = {name: [] for name in settings}
    for seed in seeds:
        for name in settings:
            rows[name].append(measure(train(settings[name], seed)))
    return {name: np.array(scores) for name, scores in rows.items()}


def bootstrap_by_loops(better, worse, rng, draws=2000):
    found = []
    for _ in range(draws):
        columns, rows = rng.choice(better.shape[1], better.shape[1]), rng.choice(len(better), len(better))
        first, second = (scores[rows][:, columns].sum((0, 1)) for scores in (better, worse))
        found.append(first[0] / first[1] - second[0] / second[1])
    return found


def verdict_by_exclusion(low, high, p):
    if p >= 0.05 or low <= 0 <= high:
        return "cannot tell"
    return "holds" if low > 0 else "reversed"


def power_by_columns(size, seeds, rng, trials=4000):
    values = size + rng.standard_normal((seeds, trials))
    return (stats.ttest_rel(values, 0 * values).pvalue < 0.05).mean()


def holm_step_by_step(p_values):
    adjusted, least = [0.0] * len(p_values), 0.0
    for place, number in enumerate(sorted(range(len(p_values)), key=lambda n: p_values[n])):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[number]))
        adjusted[number] = least
    return adjusted


ANSWERS = {
    "check_entities": [entities_by_ends],
    "check_align": [align_by_positions],
    "check_may_follow": [lambda before, after: after[0] != "I" or (before != "O" and before[2:] == after[2:])],
    "check_token_classifier": [TaggerOfAllPositions],
    "check_path_score": [score_word_by_word],
    "check_log_partition": [partition_row_by_row],
    "check_viterbi": [best_of_all_paths],
    "check_marginals": [marginals_from_both_sides],
    "check_crf": [CRFBySentences],
    "check_paired_runs": [runs_seed_by_seed],
    "check_measure_by_seed": [
        lambda scores: np.divide(*scores.sum(1).T),
        lambda scores: [seed[:, 0].sum() / seed[:, 1].sum() for seed in scores],
    ],
    "check_paired_bootstrap": [bootstrap_by_loops],
    "check_paired_t": [lambda d: 2 * stats.t.cdf(-abs(d.mean() / stats.sem(d)), len(d) - 1) if d.any() else 1],
    "check_verdict": [verdict_by_exclusion],
    "check_power": [power_by_columns, lambda size, seeds, rng, trials: statistics.power(size, seeds)],
    "check_holm": [holm_step_by_step],
    "check_control_labels": [control_by_word, control_dealt_out],
    "check_removal_effects": [effects_one_by_one],
    "check_removal_rank": [
        lambda shares, effects: sorted(effects.tolist(), reverse=True).index(effects[shares.argmax()].item()) + 1,
        lambda shares, effects: (effects > effects[shares.argmax()]).sum() + 1.0,
    ],
    "check_scalar_mix": [lambda states, weights, gamma: (gamma * weights.softmax(0)[:, None, None] * states).sum(0)],
    "check_pseudo_log_likelihood": [likelihood_one_by_one],
    "check_step_operations": [
        lambda layers, hidden, vocabulary, lengths, labels: (
            72 * layers * hidden * hidden * sum(lengths)
            + 6 * hidden * (hidden + vocabulary) * labels
            + 12 * layers * hidden * sum(n * n for n in lengths)
        ),
        lambda *numbers: float(counting.step_operations(*numbers)),
    ],
    "check_attainable": [
        lambda operations, moved, peak, bandwidth: operations / max(operations / peak, moved / bandwidth)
    ],
    "check_round_to_bfloat16": [lambda x: x.to(torch.bfloat16).to(torch.float32)],
    "check_accumulated_step": [step_by_splitting],
    "check_checkpointed": [
        lambda layer, x: torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False, preserve_rng_state=True)
    ],
    "check_causal_mask": [causal_by_comparison],
    "check_gpt": [GptByLinear],
    "check_backwards": [backwards_row_by_row],
    "check_both_sides": [lambda left, right, prior: F.log_softmax(right - prior + left, dim=1)],
    "check_mean_pool": [pool_by_einsum],
    "check_in_batch_loss": [in_batch_by_cosines],
    "check_sentence_encoder": [EncoderOfAllTexts],
    "check_recall_at": [recall_by_sorting],
    "check_fuse": [fuse_by_ranks, fuse_by_scipy, fuse_in_a_list],
    "check_full_rows": [rows_by_look_ahead],
    "check_order_pairs": [order_by_indices],
    "check_replaced": [replaced_by_where, replaced_by_noise],
    "check_unpad": [unpad_by_rows],
    "check_soft_loss": [soft_loss_of_torch],
    "check_rotate": [rotate_by_complex_numbers],
    "check_gated": [lambda x, up, down: down(F.gelu(up(x)[..., : down.in_features]) * up(x)[..., down.in_features :])],
    "check_split": [split_by_counting],
    "check_still_falling": [falling_by_arrays],
    "check_interval": [interval_by_choice],
    "check_likeliest": [likeliest_by_sorting],
    "check_pair_inputs": [pair_of_tensors, pair_of_an_array],
    "check_share_passed": [passed_by_gather, passed_by_loops],
    "check_best_span": [span_by_a_table],
    "check_neighbours": [neighbours_one_by_one],
    "check_negative_sampling": [sampling_by_einsum],
    "check_may_look": [lambda size: torch.arange(size)[:, None] >= torch.arange(size)],
    "check_text_score": [score_by_loops, score_by_numpy],
    "check_epochs": [epochs_of_a_copy, epochs_by_permutation, epochs_of_what_is_left],
    "check_classifier": [ClassifierByHand],
    "check_finetune": [finetune_that_clears_first],
    "check_layer_shares": [shares_from_the_top, lambda model, decay: iter(shares_from_the_top(model, decay))],
    "check_smooth_loss": [lambda logits, labels, p: F.cross_entropy(logits, labels, label_smoothing=p)],
    "check_expected_best": [best_by_counting],
    "check_normalise": [normalise_by_expressions],
    "check_question_answering": [AnswerBySqueeze],
    "check_answer_positions": [positions_by_search],
    "check_best_answer": [span_of_loops],
    "check_clean": [clean_by_hand],
    "check_cut_word": [cut_by_recursion],
    "check_tokenizer": [ByLoops],
    "check_merge_pair": [merge_by_index],
    "check_likelihood_gain": [gain_in_one_sum],
    "check_lookup": lookups(),
    "check_segment_ids": [segments_by_loops],
    "check_embeddings": [EmbeddingsInAnotherOrder],
    "check_sinusoids": [waves_in_place],
    "check_shift_matrix": [shift_by_blocks],
    "check_attend": [attend_by_einsum, attend_by_hand],
    "check_heads": [(split_by_view, merge_by_cat)],
    "check_masked_weights": [
        lambda scores, attention_mask: (scores + (1 - attention_mask[:, None, None]) * LOW).softmax(-1),
        lambda scores, attention_mask: torch.where(attention_mask[:, None, None] > 0, scores, LOW).softmax(dim=3),
        lambda scores, attention_mask: (scores - 1e4 * (1 - attention_mask[:, None, None])).softmax(-1),
    ],
    "check_multi_head_attention": [AttentionByEinsum, AttentionHeadByHead],
    "check_previous_head": [previous_by_steep_scores, lambda positions: [*previous_by_steep_scores(positions)]],
    "check_gelu": [F.gelu, lambda x: x * torch.distributions.Normal(0, 1).cdf(x)],
    "check_layer_norm": [lambda x, weight, bias, eps: F.layer_norm(x, x.shape[-1:], weight, bias, eps), norm_of_rows],
    "check_layer": [LayerWithTwoDropouts],
    "check_bert_model": [BertByKeywords],
    "check_initialise": [initialise_in_data, initialise_by_copy],
    "check_count_parameters": [count_layer_by_layer],
    "check_actions": [actions_by_index],
    "check_mask_tokens": [coins, fates, coins_of_the_whole_vocabulary],
    "check_mlm_loss": [loss_of_torch, loss_of_a_constant],
    "check_mlm_head": [HeadStepByStep],
    "check_whole_words": [words_from_the_right],
    "check_cut_pair": [cut_the_first_of_equals],
    "check_make_pairs": [by_exchange, pairs_by_flags],
    "check_collate": [collate_by_tensors],
    "check_joint_loss": [joint_loss_of_torch, joint_loss_by_cases],
    "check_pretraining_model": [ModelByKeywords],
    "check_rate_factor": [rate_by_min],
    "check_adamw_step": [adamw_by_the_formula],
    "check_adamw": [TorchAdamW, AdamWThatZeroes],
    "check_train_step": [step_that_clears_first],
    "check_batches": [batches_of_another_order],
}


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        pytest.param(name, answer, id=f"{name}-{number}")
        for name, several in ANSWERS.items()
        for number, answer in enumerate(several)
    ],
)
def test_a_right_answer_written_another_way_passes(name, answer):
    EXERCISES[name](*(answer if isinstance(answer, tuple) else (answer,)))
