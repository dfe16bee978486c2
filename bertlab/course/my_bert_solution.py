"""My BERT: everything that I built in the course, in the order of the paper. It needs torch and numpy only.

Shapes: B sequences, S tokens, H hidden size, A heads, D = H / A head size, L layers, V vocabulary, M masked tokens.
"""

import json
import math
import random
import unicodedata
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

PAD, UNK, CLS, SEP, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
IGNORED = -100  # label of a token that the loss leaves out


@dataclass
class Config:
    """The numbers that make one BERT, named as in a published config.json."""

    vocab_size: int = 30522
    hidden_size: int = 128
    num_hidden_layers: int = 2
    num_attention_heads: int = 2
    intermediate_size: int = 512
    max_position_embeddings: int = 128
    type_vocab_size: int = 2
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    layer_norm_eps: float = 1e-12
    initializer_range: float = 0.02
    pad_token_id: int = 0


# %% tokenizer (chapter 02): WordPiece, after Wu et al. 2016 and Devlin et al. 2019, section 3


def clean_character(character):
    """What a character becomes in the cleaned text: nothing, a space, " 我 ", or itself."""
    control = unicodedata.category(character) in ("Cc", "Cf", "Co") and character not in "\t\n\r"
    if control or character == "\ufffd":  # the sign for a byte that could not be decoded
        return ""
    if character.isspace():
        return " "
    chinese = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF)]
    chinese += [(0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)]
    return f" {character} " if any(first <= ord(character) <= last for first, last in chinese) else character


def clean(text):
    """The text without control characters, accents and capitals; a space around each Chinese character."""
    parts = unicodedata.normalize("NFD", "".join(map(clean_character, text)))
    return "".join(c.lower() for c in parts if unicodedata.category(c) != "Mn")


def is_mark(character):
    """Whether BERT splits the text here: punctuation, and all of the keyboard that is no letter or digit."""
    keyboard = "!" <= character <= "~" and not character.isalnum()
    return keyboard or unicodedata.category(character)[0] == "P"


def split(text):
    """The words and punctuation marks of a cleaned text."""
    return "".join(f" {c} " if is_mark(c) else c for c in text).split()


def cut_word(word, vocabulary):
    """The pieces of a word: the longest first, from the left, with ## inside the word; ["[UNK]"] if there is no way."""
    if len(word) > 100:
        return ["[UNK]"]
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                break
        else:  # not even one letter is a piece
            return ["[UNK]"]
        pieces.append(piece)
        start = end
    return pieces


class Tokenizer:
    """Text to ids, with a vocabulary {token: id}."""

    def __init__(self, vocabulary):
        self.vocabulary, self.vocab_size = vocabulary, len(vocabulary)
        self.pad_token_id, self.cls_token_id = vocabulary["[PAD]"], vocabulary["[CLS]"]
        self.sep_token_id, self.mask_token_id = vocabulary["[SEP]"], vocabulary["[MASK]"]

    @classmethod
    def from_file(cls, path):
        """vocab.txt: one token a line, its id is the number of the line."""
        with open(path, encoding="utf-8") as lines:
            return cls({line.rstrip("\n"): number for number, line in enumerate(lines)})

    def ids(self, text):
        """The ids of a text, without [CLS] and [SEP]."""
        return [self.vocabulary[piece] for word in split(clean(text)) for piece in cut_word(word, self.vocabulary)]


# %% embeddings (chapter 03): Devlin et al., figure 2


class Embeddings(nn.Module):
    """Word + position + segment, then LayerNorm and dropout."""

    def __init__(self, config):
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=config.pad_token_id)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids, token_type_ids):
        positions = torch.arange(input_ids.size(1), device=input_ids.device)  # (S,)
        total = self.word(input_ids) + self.segment(token_type_ids) + self.position(positions)  # (B, S, H)
        return self.dropout(self.norm(total))


# %% attention (chapter 04): Vaswani et al. 2017, section 3.2


def split_heads(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)  # (B, S, H) -> (B, S, A, D) -> (B, A, S, D)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)  # (B, A, S, D) -> (B, S, A, D) -> (B, S, H)


class MultiHeadAttention(nn.Module):
    """Self-attention: softmax(Q K^T / sqrt(D)) V in A heads."""

    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, x, padding):
        """x (B, S, H), padding (B, 1, 1, S) or None -> output (B, S, H), weights (B, A, S, S)."""
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        scores = query @ key.mT / math.sqrt(query.size(-1))  # (B, A, S, S)
        if padding is not None:
            scores = scores.masked_fill(padding, torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1)
        return self.out(merge_heads(self.dropout(weights) @ value)), weights


# %% encoder (chapter 05): Vaswani et al., sections 3.1 and 3.3; pooler: Devlin et al., section 3


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))  # (B, S, H) -up-> (B, S, 4H) -down-> (B, S, H)


class Layer(nn.Module):
    """Attention, then feed-forward; each is added to its input and the sum normalised (post-LN)."""

    def __init__(self, config):
        super().__init__()
        self.attention = MultiHeadAttention(config)
        self.attention_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x, padding):
        attended, _ = self.attention(x, padding)
        x = self.attention_norm(x + self.dropout(attended))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))

    def forward(self, x, padding):
        for layer in self.layers:
            x = layer(x, padding)
        return x


class Pooler(nn.Module):
    """The vector of the whole input, from the state of [CLS]."""

    def __init__(self, config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden):
        return torch.tanh(self.dense(hidden[:, 0]))  # (B, S, H) -first token-> (B, H) -dense-> (B, H)


class Bert(nn.Module):
    """The encoder without a head."""

    def __init__(self, config):
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = Pooler(config)

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Three tensors (B, S) -> last hidden state (B, S, H), pooler output (B, H)."""
        padding = (attention_mask == 0)[:, None, None, :]  # (B, S) -> (B, 1, 1, S)
        hidden = self.encoder(self.embeddings(input_ids, token_type_ids), padding)
        return hidden, self.pooler(hidden)


def initialise(model, std=0.02):
    """Draw the weights that training starts from: normal with `std`, biases 0, [PAD] 0. LayerNorm: as torch does."""
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=std)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
    for module in model.modules():  # last, as a tied decoder draws the same table once more
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            nn.init.zeros_(module.weight.data[module.padding_idx])


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
        return self.decoder(self.norm(F.gelu(self.dense(states))))  # (B, S, H) -> (B, S, H) -> (B, S, V)


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


# %% training (chapter 08): Loshchilov and Hutter 2019; Devlin et al., appendix A.2


def rate_share(progress, warmup):
    """Which share of the top learning rate is used at `progress` 0..1: up over the warmup, then down to 0."""
    return progress / warmup if progress < warmup else (1 - progress) / (1 - warmup)


def adamw_step(weight, grad, m, v, step, rate, betas, eps, decay):
    """Four tensors of one shape, step 1, 2, ... -> weight, m, v after this step."""
    m = betas[0] * m + (1 - betas[0]) * grad
    v = betas[1] * v + (1 - betas[1]) * grad**2
    mean, square = m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)
    return weight - rate * decay * weight - rate * mean / (square.sqrt() + eps), m, v


class AdamW:
    """Adam with decoupled weight decay, which biases and LayerNorm are spared."""

    def __init__(self, model, betas=(0.9, 0.999), eps=1e-6, decay=0.01):
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.state = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.parameters]
        self.betas, self.eps, self.decay, self.steps = betas, eps, decay, 0

    @torch.no_grad()
    def step(self, rate):
        self.steps += 1
        for number, (weight, (m, v)) in enumerate(zip(self.parameters, self.state, strict=True)):
            if weight.grad is None:
                continue
            decay = self.decay if weight.ndim > 1 else 0.0
            new, m, v = adamw_step(weight, weight.grad, m, v, self.steps, rate, self.betas, self.eps, decay)
            weight.copy_(new)
            self.state[number] = (m, v)

    def zero_grad(self):
        for weight in self.parameters:
            weight.grad = None


def train_step(model, optimizer, batch, rate, clip=1.0):
    """One step at learning rate `rate` -> the loss (float). batch: input_ids, attention_mask, token_type_ids, labels
    (B, S), next_sentence_label (B,)."""
    logits = model(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
    loss = joint_loss(*logits, batch["labels"], batch["next_sentence_label"])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(optimizer.parameters, clip)
    optimizer.step(rate)
    optimizer.zero_grad()
    return loss.item()


def batches(documents, tokenizer, size=32, max_tokens=64, rate=0.15, seed=0):
    """Yield batches without end: each round over the documents (of ids) makes new pairs and new masks."""
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    special_ids = torch.tensor([tokenizer.vocabulary[token] for token in SPECIAL])
    while True:
        positives = true_pairs(documents, max_tokens - 3, rng)
        if len(positives) < size or len({document for document, *_ in positives}) < 2:
            raise ValueError(f"{len(positives)} pairs of {len(documents)} documents: too little text")
        pairs = [(*cut_pair(*pair, max_tokens - 3), label) for *pair, label in make_pairs(positives, rng)]
        for start in range(0, len(pairs) - size + 1, size):
            batch = collate(pairs[start : start + size], tokenizer)
            special = torch.isin(batch["input_ids"], special_ids)
            batch["input_ids"], batch["labels"] = mask_tokens(batch["input_ids"], special, tokenizer, generator, rate)
            yield batch


def pretrain(model, batches, steps, rate=1e-3, warmup=0.1, on_step=None):
    """Train for `steps` steps on an iterable of batches; `on_step(step, loss)` is called after each."""
    optimizer = AdamW(model.train())
    for step, batch in zip(range(steps), batches, strict=False):
        share = rate_share((step + 0.5) / steps, warmup)
        loss = train_step(model, optimizer, batch, rate * share)
        if on_step:
            on_step(step, loss)
    return model.eval()


# %% saving (chapter 08): as a Hugging Face folder, so that everybody's tools open it

NAMES = {  # ours -> the published ones
    "embeddings.word": "embeddings.word_embeddings",
    "embeddings.position": "embeddings.position_embeddings",
    "embeddings.segment": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    "encoder.layers": "encoder.layer",
    "attention.out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward_norm": "output.LayerNorm",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "pooler.dense": "pooler.dense",
    "mlm.dense": "cls.predictions.transform.dense",
    "mlm.norm": "cls.predictions.transform.LayerNorm",
    "mlm.decoder": "cls.predictions.decoder",
    "nsp": "cls.seq_relationship",
}  # the heads of part two have their published names already


def published(state):
    """Our weights by their published names; queries, keys and values apart."""
    result = {}
    for name, weight in state.items():
        for ours, theirs in NAMES.items():
            name = name.replace(f"{ours}.", f"{theirs}.") if f"{ours}." in f"{name}." else name
        if ".qkv." in name:
            for part, piece in zip(("query", "key", "value"), weight.chunk(3), strict=True):
                result[name.replace("qkv", f"self.{part}")] = piece.clone()
        else:
            result[name] = weight
    if "mlm.decoder.bias" in state:
        result["cls.predictions.bias"] = state["mlm.decoder.bias"]
    return result


def save(model, tokenizer, folder, labels=()):
    """Write config.json, pytorch_model.bin and vocab.txt; transformers.AutoModel opens the folder. `labels` are the
    names of a classifier's classes, in their order."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = asdict(model.config) | {"model_type": "bert", "architectures": [type(model).__name__]}
    if labels:
        config["id2label"] = {str(number): label for number, label in enumerate(labels)}
        config["label2id"] = {label: number for number, label in enumerate(labels)}
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(tokenizer.vocabulary) + "\n", encoding="utf-8")
    torch.save(published(model.state_dict()), folder / "pytorch_model.bin")
