"""Each relative as a training sees it: how it is pretrained, and what of it a task's head stands on.

All of them are pretrained by bertlab.training.pretrain and fine-tuned by bertlab.training.finetune. Where a relative is
built otherwise than BERT, its width is chosen so that as many parameters go to the tasks.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.errors import InputError
from bertlab.model import BertModel
from bertlab.model.base import NoDraws
from bertlab.relatives import word2vec
from bertlab.relatives.electra import WEIGHT, Electra
from bertlab.relatives.elmo import Elmo
from bertlab.relatives.encoders import LastToken, WithBiLSTM
from bertlab.relatives.gpt import Gpt, GptEncoder, add_language_loss
from bertlab.relatives.word2vec import NOISE_WORDS, Word2Vec
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents
from bertlab.training.engine.micro_batches import WHOLE, Batch, Shares
from bertlab.training.engine.throughput import encoder_operations, pretraining_operations
from bertlab.training.initial_weights import new_model, structured_initialisation
from bertlab.training.objective import Objective, bert_operations, pretraining_loss
from bertlab.training.recipes import PretrainRecipe

Loss = tuple[Tensor, dict[str, Tensor]]
Build = Callable[[BertConfig], nn.Module]
WINDOW = 5  # words on either side that word2vec sees
STAYS = ("decoder.", "guessed.")  # layers that predict words: no task uses them


@dataclass(frozen=True)
class Relative:
    """One way to pretrain. `objective` None: a BERT's own, as the recipe says. `encoder` takes from the pretrained
    model what a head stands on; a `feature_based` one is frozen, under a BiLSTM."""

    encoder: Callable[[Any], Any]
    objective: Objective | None = None
    recipe: Mapping[str, Any] = field(default_factory=dict)  # fields of the PretrainRecipe
    feature_based: bool = False

    def new_model(self, recipe: PretrainRecipe, tokenizer: Tokenizer) -> nn.Module:
        """Return an untrained model with the shapes of the pretrained one."""
        return self.objective.new_model(recipe, tokenizer, []) if self.objective else new_model(recipe, tokenizer)


def head_on(
    relative: Relative, model: Any, head: type, config: BertConfig, tokenizer: Tokenizer, layers: str, pair: bool
) -> nn.Module:
    """Return a head for a task on what `relative` pretrained, ready to be fine-tuned.

    `layers`: "all", and the whole encoder learns (a feature_based relative: its mix); "bilstm", and it learns with a
    BiLSTM over it; else the states that are read, frozen, by a BiLSTM. `pair`: the task has pairs without an order.
    """
    encoder = relative.encoder(model)
    if relative.feature_based and layers == "all":
        layers = "scalar-mix" if isinstance(encoder, Elmo) else "last"
    if layers == "all" and isinstance(encoder, Gpt):
        encoder = GptEncoder(encoder, tokenizer.mask_token_id, orders=pair)
    if layers != "all":
        read = encoder.bert if isinstance(encoder, LastToken) else encoder
        encoder = WithBiLSTM(read, config, "last" if layers == "bilstm" else layers, frozen=layers != "bilstm")
        config = config.changed(pooling="mean")
    made = head(config)
    if isinstance(encoder, BertModel):
        encoder.pooler = (encoder.pooler or made.bert.pooler) if made.bert.pooler else None
    made.bert = encoder
    if isinstance(encoder, GptEncoder):
        add_language_loss(made)
    return made


def carried_parameters(model: nn.Module) -> int:
    """Count the parameters that go to the tasks."""
    return sum(p.numel() for name, p in model.named_parameters() if not name.startswith(STAYS))


def of_same_size(build: Build, config: BertConfig) -> BertConfig:
    """Return `config` with the width at which `build` makes a model with as many parameters as a BERT of `config`."""

    def count(build: Build, config: BertConfig) -> int:
        with torch.device("meta"), NoDraws():
            return carried_parameters(build(config))

    def shaped(width: int) -> BertConfig:
        return config.changed(hidden_size=width, intermediate_size=4 * width)

    heads, wanted = config.num_attention_heads, count(BertModel, config)
    widths = range(heads + heads % 2, 64 * config.hidden_size, heads + heads % 2)
    above = bisect_left(widths, wanted, key=lambda width: count(build, shaped(width)))
    nearest = min(widths[max(0, above - 1) : above + 1], key=lambda width: abs(count(build, shaped(width)) - wanted))
    return shaped(nearest)


# What each one is, and what it learns


def new_gpt(recipe: PretrainRecipe, tokenizer: Tokenizer, documents: Documents) -> Gpt:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        gpt = Gpt(recipe.config(tokenizer.vocab_size))
        structured_initialisation(gpt.encoder, gpt.position, recipe)
    return gpt


def new_elmo(recipe: PretrainRecipe, tokenizer: Tokenizer, documents: Documents) -> Elmo:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        return Elmo(of_same_size(Elmo, recipe.config(tokenizer.vocab_size)))


def new_electra(recipe: PretrainRecipe, tokenizer: Tokenizer, documents: Documents) -> Electra:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        electra = Electra(recipe.config(tokenizer.vocab_size))
        structured_initialisation(electra.encoder.encoder, electra.encoder.embeddings.position, recipe)
    return electra


def new_word2vec(recipe: PretrainRecipe, tokenizer: Tokenizer, documents: Documents) -> Word2Vec:
    words = torch.tensor([token for sentences in documents for sentence in sentences for token in sentence])
    counts = words.long().bincount(minlength=tokenizer.vocab_size)

    def build(config: BertConfig) -> Word2Vec:
        return Word2Vec(counts.to(torch.get_default_device()), config.hidden_size, tokenizer.pad_token_id)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        size = of_same_size(build, recipe.config(tokenizer.vocab_size)).hidden_size
        model = Word2Vec(counts, size, tokenizer.pad_token_id)
        nn.init.normal_(model.seen.weight, std=size**-0.5)
        nn.init.zeros_(model.seen.weight[tokenizer.pad_token_id])
    return model


def language_loss(model: nn.Module, batch: Batch, shares: Shares = WHOLE) -> Loss:
    """Return the loss of the next tokens, and in an ELMo of those before as well."""
    loss = shares["labels"] * model(batch["input_ids"], batch["attention_mask"], predict=True).loss
    return loss, {"next_token_loss": loss}


def electra_loss(model: nn.Module, batch: Batch, shares: Shares = WHOLE) -> Loss:
    out = model(**batch | {"judged": batch["judged"] != IGNORED})
    generator, detector = shares["labels"] * out.generator_loss, shares["judged"] * out.detector_loss
    return generator + WEIGHT * detector, {"generator_loss": generator, "detector_loss": detector}


def rebuild_all(batch: Batch, tokenizer: Tokenizer) -> Batch:
    """Return a masked batch with labels (B, S) for all tokens but special ones: what stood there before masking.

    So a model learns to rebuild everything, as a denoising autoencoder (Vincent et al. 2008). BERT differs: "we only
    predict the masked words rather than reconstructing the entire input" (Devlin et al. 2019, section 3.1).
    """
    original = torch.where(batch["labels"] != IGNORED, batch["labels"], batch["input_ids"])  # (B, S)
    return batch | {"labels": original.masked_fill(tokenizer.special_mask(original), IGNORED)}


def with_judged(batch: Batch, tokenizer: Tokenizer) -> Batch:
    """Add the tokens that ELECTRA judges (B, S): their ids, -100 for special ones."""
    return batch | {"judged": rebuild_all(batch, tokenizer)["labels"]}


def neighbours(batch: Batch, tokenizer: Tokenizer) -> Batch:
    """Return each word of the batch (N,) and the words around it (N, 2W)."""
    rows = [row[~tokenizer.special_mask(row)].tolist() for row in batch["input_ids"]]
    labels, seen = word2vec.windows(rows, WINDOW, tokenizer.pad_token_id)
    return {"labels": labels, "seen": seen, "attention_mask": torch.ones_like(labels)}


def cbow_loss(model: nn.Module, batch: Batch, shares: Shares = WHOLE) -> Loss:
    loss = shares["labels"] * word2vec.batch_loss(cast(Word2Vec, model), batch["seen"], batch["labels"])
    return loss, {"negative_sampling_loss": loss}


def gpt_operations(model: nn.Module, batch: Batch) -> float:
    config = cast(Gpt, model).config
    head = config.hidden_size * config.vocab_size
    return encoder_operations(config, batch) + 6.0 * head * int(batch["attention_mask"].sum())


def elmo_operations(model: nn.Module, batch: Batch) -> float:
    """Count 6 per weight of an LSTM and token, and of the output layer, which both directions use."""
    lstms = sum(p.numel() for name, p in model.named_parameters() if ".weight_" in name)
    head = 2 * cast(Elmo, model).decoder.weight.numel()
    return 6.0 * (lstms + head) * int(batch["attention_mask"].sum())


def electra_operations(model: nn.Module, batch: Batch) -> float:
    generator, encoder = cast(Electra, model).generator.config, cast(Electra, model).encoder.config
    head = encoder.hidden_size**2 * int(batch["attention_mask"].sum())
    return pretraining_operations(generator, batch) + encoder_operations(encoder, batch) + 6.0 * head


def word2vec_operations(model: nn.Module, batch: Batch) -> float:
    size = cast(Word2Vec, model).seen.embedding_dim
    return 6.0 * size * (1 + NOISE_WORDS) * len(batch["labels"])


ALONE = {"second_task": "none"}
CAUSAL = {"second_task": "none", "objective": "left-to-right"}
RELATIVES = {
    "bert": Relative(lambda model: model.bert),
    "masked-only": Relative(lambda model: model.bert, None, ALONE),
    "left-to-right": Relative(lambda model: LastToken(model.bert), None, CAUSAL),
    "denoising": Relative(
        lambda model: model.bert,
        Objective(lambda r, t, _: new_model(r, t), pretraining_loss, bert_operations, rebuild_all),
        ALONE,
    ),
    "electra": Relative(
        lambda model: model.encoder, Objective(new_electra, electra_loss, electra_operations, with_judged), ALONE
    ),
    "gpt": Relative(lambda model: model, Objective(new_gpt, language_loss, gpt_operations), CAUSAL),
    "elmo": Relative(lambda model: model, Objective(new_elmo, language_loss, elmo_operations), CAUSAL, True),
    "word2vec": Relative(
        lambda model: model, Objective(new_word2vec, cbow_loss, word2vec_operations, neighbours), CAUSAL, True
    ),
}


def find_relative(name: str) -> Relative:
    """Return the relative of that name. InputError lists the names."""
    if name not in RELATIVES:
        raise InputError(f"there is no relative {name!r}: choose one of {', '.join(RELATIVES)}")
    return RELATIVES[name]
