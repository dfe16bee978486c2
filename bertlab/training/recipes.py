"""What a pretraining depends on, in one frozen record; the named recipes stand below."""

from dataclasses import dataclass, field, replace
from typing import Literal

from bertlab.config import VARIANTS, BertConfig
from bertlab.errors import InputError, at_least_one, check_batch_size, check_seed
from bertlab.inputs.masking import Masking
from bertlab.inputs.pairs import SecondTask, least_tokens
from bertlab.training.engine.optim import Optimization, has_read_little

# Fields that a recipe and the config of its model have alike.
SHAPE = ("num_hidden_layers", "hidden_size", "num_attention_heads", "hidden_dropout_prob", "initializer_range")


@dataclass(frozen=True)
class Distillation:
    """What a student learns from its teacher (bertlab/training/distill.py); the defaults are those of Sanh et al. 2019,
    as in their code."""

    temperature: float = 2.0  # both softmaxes are flattened by it
    soft: float = 5.0  # weights of the three losses: the teacher's probabilities,
    masked: float = 2.0  # the masked words themselves,
    states: float = 1.0  # the direction of the last hidden states

    def __post_init__(self) -> None:
        if not self.temperature > 0 or min(self.soft, self.masked, self.states) < 0:
            raise InputError(f"{self}: the temperature must be above 0, and no weight below it")


@dataclass(frozen=True)
class PretrainRecipe:
    """A model from random weights, or one that goes on: by default masked words and next-sentence prediction."""

    name: str = "storyworld-tiny"
    # text
    documents: int = 20_000  # of the storyworld; 0: text of your own
    corpus: Literal["", "english-large"] = ""  # of --data: 4 million words of English, or 51 million more
    vocab_size: int = 3500
    lowercase: bool = True
    # model
    num_hidden_layers: int = 4
    hidden_size: int = 128
    num_attention_heads: int = 4
    max_position_embeddings: int = 256
    hidden_dropout_prob: float = 0.0  # off for models this small on text that never repeats a batch
    initializer_range: float = 0.05  # 0.02 suits 768 dimensions; narrow layers need more to break symmetry
    position_init: Literal["random", "sinusoid"] = "sinusoid"  # learned from there on
    attention_init: Literal["random", "matched"] = "matched"  # lower layers begin by looking for what is alike
    # what later papers changed in the encoder (bertlab/model/encoder.py); the defaults are BERT
    position_embedding_type: Literal["absolute", "rotary"] = "absolute"
    pre_norm: bool = False
    gated_feed_forward: bool = False  # two thirds as wide: as many parameters as without
    shared_layers: bool = False
    # tasks
    objective: Literal["masked", "left-to-right"] = "masked"  # left-to-right: each token from those before it
    # (Devlin et al. 2019, section 5.1, "LTR & No NSP")
    second_task: SecondTask = "next"  # order: which of two texts comes first (Lan et al. 2020); none: texts as long
    # as fit (Liu et al. 2019)
    masking: Masking = field(default_factory=lambda: Masking(rate=0.3))  # more to learn from each text than at 15%
    teacher: str = ""  # a bundled name, folder or hub id: learn from this model too, a student of the same vocabulary
    distillation: Distillation = field(default_factory=Distillation)
    model: str = (
        ""  # a trained BERT to go on from (Gururangan et al. 2020), instead of random weights: its shape counts
    )
    learns: Literal["all", "positions"] = "all"  # positions: their embeddings alone, for a model that gets new ones
    # training
    max_tokens: int = 128  # of a pair, with its [CLS] and two [SEP]
    phases: tuple[tuple[float, int], ...] = ()  # (share of the steps, max_tokens) that come first, with shorter texts
    short_share: float = 0.0  # of the steps, drawn at random, with texts of half of max_tokens: more steps a minute
    single_share: float = 0.1  # texts shown alone, without a second: how people type them into the explorer
    batch_size: int = 32
    steps: int = 7000
    optim: Optimization = field(default_factory=lambda: Optimization("muon", learning_rate=5e-3))
    snapshot_steps: tuple[int, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        at_least_one(steps=self.steps, vocab_size=self.vocab_size)
        check_batch_size(self.batch_size)
        if self.documents < 0:
            raise InputError(f"documents={self.documents}: must not be negative")
        for name in ("single_share", "short_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name}={getattr(self, name)}: must be between 0 and 1")
        if self.objective == "left-to-right" and self.second_task != "none":
            reason = "[CLS], which judges the pair, sees none of it"
            raise InputError(f'objective="left-to-right" needs second_task="none": {reason}')
        if self.teacher and self.objective != "masked":
            raise InputError(f'teacher={self.teacher}: has masked words to teach; objective must be "masked"')
        if self.teacher and self.model:
            raise InputError(f"model={self.model}, teacher={self.teacher}: give one, to go on from it or to learn from")
        if self.learns == "positions" and not self.model:
            raise InputError('learns="positions": needs a trained model, whose other weights stay')
        check_seed(self.seed)
        self._check_lengths()
        self.config(self.vocab_size)  # reports an impossible model before any work is done

    def _check_lengths(self) -> None:
        shares = [share for share, _ in self.phases]
        if not (all(share > 0 for share in shares) and sum(shares) < 1):
            raise InputError(f"phases={self.phases}: shares must be above 0 and leave something of the steps")
        least, positions = least_tokens(self.second_task), self.max_position_embeddings
        lengths = [self.max_tokens, *(tokens for _, tokens in self.phases)]
        for tokens in lengths + [tokens // 2 for tokens in lengths if self.short_share]:
            if tokens < least:
                raise InputError(f"max_tokens={tokens} is too short for a text or pair: {least} is the least")
            if tokens > positions:
                reason = f"more than the model has positions (max_position_embeddings={positions})"
                raise InputError(f"max_tokens={tokens} is {reason}")

    def schedule(self) -> list[tuple[int | None, int]]:
        """Return (steps, max_tokens) of each phase; the last has None for its steps and goes on to the end."""
        return [(round(share * self.steps), tokens) for share, tokens in self.phases] + [(None, self.max_tokens)]

    def masking_at(self, step: int) -> Masking:
        """Return how much is hidden at `step`, counted from 1."""
        return self.masking.after((step - 1) / max(1, self.steps - 1))

    def with_model_shape(self) -> "PretrainRecipe":
        """Return the recipe with the shape of the trained model that it names, if it names one.

        The model has more positions in the end if a text is longer than it could read. InputError: there is no such
        model, it predicts in another direction, or reads no pairs.
        """
        if not self.model:
            return self
        config = BertConfig.from_pretrained(self.model)
        if config.is_decoder != (self.objective == "left-to-right"):
            direction = "left-to-right" if config.is_decoder else "masked"
            raise InputError(f'model={self.model}: was trained with objective="{direction}", which must be this run\'s')
        if config.type_vocab_size == 1 and self.second_task != "none":
            raise InputError(f"model={self.model}: reads one text in a row (type_vocab_size 1): --set second_task=none")
        longest = max(self.max_tokens, *(tokens for _, tokens in self.phases), had := config.max_position_embeddings)
        if self.learns == "positions" and longest == had:
            raise InputError(
                f"learns=positions: {self.model} has {had} positions; it gets new ones by max_tokens above that"
            )
        kept = {name: getattr(config, name) for name in (*SHAPE, *VARIANTS)}
        return replace(self, max_position_embeddings=longest, **kept)

    def config(self, vocab_size: int) -> BertConfig:
        """Return the model's configuration, for the vocabulary size that the tokenizer really has."""
        return BertConfig(
            vocab_size=vocab_size,
            intermediate_size=8 * self.hidden_size // 3 if self.gated_feed_forward else 4 * self.hidden_size,
            max_position_embeddings=self.max_position_embeddings,
            attention_probs_dropout_prob=self.hidden_dropout_prob,
            is_decoder=self.objective == "left-to-right",
            **{name: getattr(self, name) for name in (*SHAPE, *VARIANTS)},
        )


def gentle_optimization(recipe: PretrainRecipe) -> Optimization:
    """Return what goes on pretraining the recipe's model without undoing it: AdamW for a published one, or the recipe's
    optimizer at a quarter of its rate for one that has read little. Positions that learn alone can be fast."""
    if recipe.learns == "positions":
        return Optimization("adamw", learning_rate=3e-2, weight_decay=0.0)
    if has_read_little(recipe.config(recipe.vocab_size)):
        return replace(recipe.optim, learning_rate=recipe.optim.learning_rate / 4)
    return Optimization("adamw", learning_rate=1e-4)  # with 5e-4 english forgets first (docs/pretraining.md)


PRETRAIN = {
    recipe.name: recipe
    for recipe in (
        PretrainRecipe(snapshot_steps=(0, 100, 300, 600, 1000, 2000, 4000)),
        PretrainRecipe(
            name="storyworld-live",
            documents=6000,
            num_hidden_layers=2,
            short_share=0.7,
            batch_size=24,
            steps=1900,
        ),
        PretrainRecipe(name="own-text", documents=0, vocab_size=8000, steps=20_000),
        PretrainRecipe(
            name="english-scratch",
            documents=0,
            corpus="english-large",
            vocab_size=8000,
            hidden_size=256,
            second_task="none",
            single_share=0.0,
            max_position_embeddings=128,
            batch_size=64,
            steps=18_000,
            optim=Optimization("muon", learning_rate=4e-3),
        ),
        PretrainRecipe(  # as it was published: Devlin et al. 2019, section 3 and appendix A.2, without our helps
            name="bert-base",
            documents=0,
            vocab_size=30_522,
            num_hidden_layers=12,
            hidden_size=768,
            num_attention_heads=12,
            max_position_embeddings=512,
            hidden_dropout_prob=0.1,
            initializer_range=0.02,
            position_init="random",
            attention_init="random",
            masking=Masking.PAPER,
            max_tokens=512,
            phases=((0.9, 128),),
            single_share=0.0,
            batch_size=256,
            steps=1_000_000,
            optim=Optimization("adamw", learning_rate=1e-4, warmup=0.01, weight_decay=0.01, beta2=0.999),
        ),
    )
}


def pretrain_recipe(name: str) -> PretrainRecipe:
    """Return the recipe of that name. InputError lists the names."""
    if name not in PRETRAIN:
        raise InputError(f"there is no pretraining recipe {name!r}: choose one of {', '.join(PRETRAIN)}")
    return PRETRAIN[name]
