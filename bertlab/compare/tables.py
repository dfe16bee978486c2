"""The eight tables as data: which models each compares, on which tasks, and what their papers found."""

from dataclasses import replace

from bertlab.compare.systems import RATE, Claim, System, Table, budget
from bertlab.errors import InputError
from bertlab.inputs.masking import Masking

DEVLIN = "Devlin et al. 2019"
FULL = budget(documents=6000, steps=800, width=128, tokens=48, batch=32, tune=200, rates=(3e-3,), dev=300, test=1000)
# In so few steps the models learn to find names, and next to nothing of the other tasks.
QUICK = budget(
    documents=600,
    steps=150,
    width=64,
    tokens=48,
    batch=16,
    tune=300,
    rates=(1e-2,),
    layers=2,
    vocabulary=1000,
    dev=50,
    test=200,
    task="entities",
)
DEEP = {"num_hidden_layers": 4}  # where features of the last four are read, or layers are halved
TASKS = ("entailment", "sentiment", "matching", "choice", "entities", "qa")
LEARNED = ("entities", "qa")  # in FULL's steps the others stay at what a guess reaches
DECODED = ("retelling",)  # takes a decoder


def _masking(mask: int, same: int, random: int) -> System:
    shares = Masking(RATE, mask / 100, random / 100)
    return System(f"{mask}% [MASK], {same}% same, {random}% random", recipe={"masking": shares} | DEEP)


def _frozen(system: System) -> System:
    return replace(system, name=f"{system.name}, features", layers="concat-last-4", tasks=("entities",))


def _size(layers: int, width: int) -> System:
    shape = {"num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": width // 32}
    return System(f"{layers} layers of {width}", recipe=shape)


def _of_the_steps(share: float) -> str:
    return f", {share:.0%} of the steps"


def _after(name: str, relative: str, share: float) -> System:
    return System(f"{name}{_of_the_steps(share)}", relative, steps_share=share)


BERT, MASKED = System("BERT"), System("masked words only", "masked-only")
MIXES = [_masking(*mix) for mix in ((80, 10, 10), (100, 0, 0), (80, 0, 20), (80, 20, 0), (0, 20, 80), (0, 0, 100))]
MIXES += [_masking(60, 20, 20), _masking(0, 50, 50)]  # two more than the paper's
SIZES = [_size(2, 64), _size(2, 128), _size(4, 128), _size(4, 256)]
SHARES = (0.25, 0.5, 1.0)
DEEP_BERT = replace(BERT, recipe=DEEP)
LATER = {  # name -> what differs from BERT, with so many of its steps that all need as many operations
    "no next sentence": System("", "masked-only", recipe=DEEP, steps_share=1.11),
    "batch 4 times as large": System("", recipe=DEEP, batch_factor=4, steps_share=0.25),
    "sentence order": System("", recipe=DEEP | {"second_task": "order"}),
    "shared layers": System("", recipe=DEEP | {"shared_layers": True}),
    "ELECTRA": System("", "electra", recipe=DEEP, steps_share=0.97),
    "half the layers": System("", recipe={"num_hidden_layers": 2}, steps_share=1.86),
    "half the layers, distilled": System("", recipe={"num_hidden_layers": 2}, teacher=DEEP_BERT, steps_share=1.15),
    "rotary positions": System("", recipe=DEEP | {"position_embedding_type": "rotary"}),
    "pre-norm": System("", recipe=DEEP | {"pre_norm": True}),
    "gated feed-forward": System("", recipe=DEEP | {"gated_feed_forward": True}),
    "rotary, pre-norm, gated": System(
        "", recipe=DEEP | {"position_embedding_type": "rotary", "pre_norm": True, "gated_feed_forward": True}
    ),
}
LAYERS = {
    "embeddings": "embeddings",
    "last layer": "last",
    "second-to-last layer": "second-to-last",
    "sum of the last four": "sum-last-4",
    "the last four side by side": "concat-last-4",
    "weighted sum of all": "scalar-mix",
}

TABLES = {
    "relatives": Table(
        "Which way to pretrain helps tasks most, at the same size, text and number of steps?",
        (*TASKS, *DECODED),
        (
            replace(BERT, tasks=TASKS),
            System("GPT", "gpt", tasks=TASKS),
            System("ELMo", "elmo", tasks=TASKS),
            System("word2vec", "word2vec", tasks=TASKS),
            System("denoising autoencoder", "denoising", tasks=TASKS),
            System("ELECTRA", "electra", tasks=TASKS),
            System("Transformer", text="", tasks=DECODED),
            System("Transformer on BERT", tasks=DECODED),
        ),
        (
            Claim("BERT", "GPT", f"{DEVLIN}, table 1"),
            Claim("BERT", "ELMo", f"{DEVLIN}, table 1"),
            Claim("GPT", "ELMo", f"{DEVLIN}, table 1"),
            Claim("ELMo", "word2vec", "Peters et al. 2018, table 1"),
            Claim("BERT", "denoising autoencoder", f"{DEVLIN}, section 3.1, where it is a reason, not a measurement"),
            Claim("ELECTRA", "BERT", "Clark et al. 2020, table 1"),
            Claim("Transformer on BERT", "Transformer", "Rothe et al. 2020"),
        ),
    ),
    "objectives": Table(
        "What of BERT's objective matters?",
        LEARNED,
        (
            BERT,
            MASKED,
            System("left to right", "left-to-right"),
            System("left to right, and a BiLSTM", "left-to-right", "bilstm"),
            System("denoising autoencoder", "denoising"),
            System("ELECTRA", "electra"),
        ),
        (
            Claim("BERT", "masked words only", f"{DEVLIN}, table 5"),
            Claim("masked words only", "left to right", f"{DEVLIN}, table 5"),
            Claim("masked words only", "left to right, and a BiLSTM", f"{DEVLIN}, table 5"),
            Claim("masked words only", "denoising autoencoder", f"{DEVLIN}, section 3.1, as a reason"),
            Claim("ELECTRA", "masked words only", "Clark et al. 2020, table 5"),
        ),
    ),
    "masking": Table(
        "What should stand where a word is asked for?",
        LEARNED,
        (*MIXES, _frozen(MIXES[0]), _frozen(MIXES[1])),
        (
            Claim(MIXES[0].name, MIXES[5].name, f"{DEVLIN}, table 8"),
            Claim(_frozen(MIXES[0]).name, _frozen(MIXES[1]).name, f"{DEVLIN}, table 8"),
        ),
    ),
    "size": Table(
        "Do larger models help small tasks?",
        LEARNED,
        tuple(SIZES),
        tuple(Claim(b.name, a.name, f"{DEVLIN}, table 6") for a, b in zip(SIZES, SIZES[1:], strict=False)),
    ),
    "steps": Table(
        "Do more steps help, and do masked words learn more slowly than a left-to-right model?",
        LEARNED,
        tuple(
            _after(name, kind, share)
            for name, kind in (("masked words", "masked-only"), ("left to right", "left-to-right"))
            for share in SHARES
        ),
        (
            *(
                Claim(
                    f"masked words, {b:.0%} of the steps", f"masked words, {a:.0%} of the steps", f"{DEVLIN}, figure 5"
                )
                for a, b in zip(SHARES, SHARES[1:], strict=False)
            ),
            *(
                Claim(
                    f"masked words, {s:.0%} of the steps", f"left to right, {s:.0%} of the steps", f"{DEVLIN}, figure 5"
                )
                for s in SHARES
            ),
        ),
    ),
    "features": Table(
        "Which layers make the best features, and how far behind fine-tuning are they?",
        ("entities",),
        (
            System("fine-tuned", recipe=DEEP),
            *(System(name, layers=layers, recipe=DEEP) for name, layers in LAYERS.items()),
        ),
        (
            Claim("fine-tuned", "the last four side by side", f"{DEVLIN}, table 7"),
            Claim("the last four side by side", "last layer", f"{DEVLIN}, table 7"),
            Claim("second-to-last layer", "last layer", f"{DEVLIN}, table 7"),
            Claim("the last four side by side", "embeddings", f"{DEVLIN}, table 7"),
        ),
    ),
    "pretraining-data": Table(
        "How much text, and which, for the same number of steps?",
        LEARNED,
        (
            System("random weights", text=""),
            System("1% of the text", text_share=0.01),
            System("10% of the text", text_share=0.1),
            System("all of the text"),
            System("docstrings, as many words", text="pydoc"),
        ),
        (
            Claim("all of the text", "random weights", "Radford et al. 2018, table 5"),
            Claim("all of the text", "10% of the text", "Liu et al. 2019, table 4"),
            Claim("10% of the text", "1% of the text", "Zhang et al. 2021"),
            Claim("all of the text", "docstrings, as many words", "Gururangan et al. 2020, table 3"),
        ),
    ),
    "later": Table(
        "What do the changes of later papers bring, for as many operations?",
        LEARNED,
        (DEEP_BERT, *(replace(system, name=name) for name, system in LATER.items())),
        (
            Claim("no next sentence", "BERT", "Liu et al. 2019, table 2"),
            Claim("batch 4 times as large", "BERT", "Liu et al. 2019, table 3"),
            Claim("sentence order", "BERT", "Lan et al. 2020, table 5"),
            Claim("BERT", "shared layers", "Lan et al. 2020, table 4"),
            Claim("ELECTRA", "BERT", "Clark et al. 2020, figure 1"),
            Claim("BERT", "half the layers, distilled", "Sanh et al. 2019, table 1"),
            Claim(
                "half the layers, distilled",
                "half the layers",
                "Sanh et al. 2019, table 4, where the other losses stay",
            ),
            Claim("rotary positions", "BERT", "Su et al. 2021, figure 3, on the loss"),
            Claim("pre-norm", "BERT", "Xiong et al. 2020, figure 5"),
            Claim("gated feed-forward", "BERT", "Shazeer 2020, table 1, on the loss"),
            Claim("rotary, pre-norm, gated", "BERT", "Warner et al. 2024, table 1"),
        ),
    ),
}


def find_table(name: str) -> Table:
    """Return the table of that name. InputError lists the names."""
    if name not in TABLES:
        raise InputError(f"there is no table {name!r}: choose one of {', '.join(TABLES)}")
    return TABLES[name]
