"""Fine-tuning: the same trainer for every task family."""

import json
import random
import shutil
import warnings
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
import torch
import torch.nn.functional as F

from bertlab import BertForPreTraining, BertForSequenceClassification, InputError, Tokenizer
from bertlab.corpora.examples import ChoiceExample, TextExample, TokenExample
from bertlab.corpora.storyworld import questions
from bertlab.explain.runs import read_run
from bertlab.inputs.features import text_features
from bertlab.model.attend import few_sizes
from bertlab.tasks.registry import find_task, open_task
from bertlab.training.engine.optim import Optimization
from bertlab.training.finetune import batches, by_length, finetune, start_model
from bertlab.training.finetune_recipe import FinetuneRecipe
from bertlab.training.run_settings import FinetuneSettings
from bertlab.training.task_loss import task_loss
from tests.alike import assert_alike
from tests.training.toy import same, weights

RED, BLUE = "the red {} is here", "a blue {} was there"


def texts(count, seed=0):
    """Red or blue, about things of different length."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        thing = " and ".join(rng.sample(["dog", "cat", "kite", "hat", "tree"], rng.randint(1, 4)))
        label = rng.choice(("red", "blue"))
        made.append(TextExample(str(number), (RED if label == "red" else BLUE).format(thing), None, label))
    return made


def words(count, seed=0):
    made = []
    for example in texts(count, seed):
        said = tuple(example.text.split())
        made.append(TokenExample(example.id, said, tuple("B-colour" if w in ("red", "blue") else "O" for w in said)))
    return made


def choices(count, seed=0):
    return [
        ChoiceExample(e.id, e.text, ("a red one", "a blue one"), int(e.label == "blue")) for e in texts(count, seed)
    ]


FAMILIES = {
    "sentence": texts(24),
    "pair": [replace(e, pair=f"it is {e.label}", label="same") for e in texts(12)]
    + [replace(e, pair="it is green", label="other") for e in texts(12, 1)],
    "token": words(24),
    "choice": choices(24),
    "qa": list(questions(0, 12)),
}


@pytest.fixture(scope="module")
def small(pretrained) -> FinetuneRecipe:
    return FinetuneRecipe(
        "sentence", pretrained, max_length=64, batch_size=4, steps=6, optim=Optimization(learning_rate=1e-3)
    )


@pytest.fixture
def resumed():
    return {"progress": False, "settings": FinetuneSettings(device="cpu", resume=True)}


@pytest.fixture(scope="module")
def quick():
    return {"progress": False, "settings": FinetuneSettings(device="cpu")}


@pytest.fixture(scope="module")
def plain(small, quick) -> BertForSequenceClassification:
    """What the recipe makes as it stands."""
    return finetune(small, texts(24), **quick).model


@pytest.mark.parametrize("task", FAMILIES)
def test_every_family_trains_saves_and_opens_again(task, small, quick, tmp_path):
    examples = FAMILIES[task]
    recipe = replace(small, task=task, max_length=200)
    result = finetune(recipe, examples, examples[:6], out=tmp_path / "run", log_every=2, **quick)
    assert [row["step"] for row in result.rows] == [2, 4, 6] and result.evaluations[-1]["step"] == 6
    assert not result.model.training
    model, opened = open_task(tmp_path / "run")
    assert type(opened) is type(result.task) and same(weights(model), weights(result.model))
    before, after = (list(result.task.predict(m, examples)) for m in (result.model, model))
    assert_alike(before, after)
    assert len(after) == len(examples)
    assert {"recipe.json", "metrics.csv", "dev.csv"} <= {path.name for path in (tmp_path / "run").iterdir()}
    assert not (tmp_path / "run" / "resume").exists()


@pytest.mark.parametrize("task", ["sentence", "token", "choice"])
def test_it_learns(task, small, quick):
    examples = {"sentence": texts, "token": words, "choice": choices}[task]
    recipe = replace(small, task=task, steps=120, batch_size=8, optim=Optimization("muon", learning_rate=1e-2))
    result = finetune(recipe, examples(100), examples(40, seed=5), **quick)
    assert max(look[result.task.best] for look in result.evaluations) > 0.9


@pytest.mark.parametrize(
    "options",
    [
        {"pooling": "mean"},
        {"layer_mix": "scalar-mix"},
        {"freeze": "encoder"},
        {"freeze": "embeddings"},
        {"dropout": 0.2},
        {"label_smoothing": 0.1},
        {"optim": Optimization(learning_rate=1e-3, layer_decay=0.5)},
    ],
    ids=lambda options: str(next(iter(options))),
)
def test_options_take_part_and_survive_saving(options, plain, small, quick, tmp_path):
    result = finetune(replace(small, **options), texts(24), out=tmp_path / "run", **quick)
    assert not same(weights(plain), weights(result.model))
    if options == {"freeze": "encoder"}:
        before = BertForPreTraining.from_pretrained(small.model).bert.encoder.state_dict()
        assert same(before, result.model.bert.encoder.state_dict())
        assert all(parameter.requires_grad for parameter in result.model.parameters())  # what is handed out can learn
    opened, task = open_task(tmp_path / "run")
    assert_alike(list(task.predict(opened, texts(5))), list(result.task.predict(result.model, texts(5))))


@pytest.mark.parametrize("labels", [(0.5, 2.0), (("warm",), ("cold", "wet"), ())], ids=["numbers", "several classes"])
def test_numbers_and_several_classes(labels, small, quick):
    problem = "regression" if isinstance(labels[0], float) else "multi_label_classification"
    examples = [replace(e, label=labels[number % len(labels)]) for number, e in enumerate(texts(24))]
    result = finetune(replace(small, problem=problem), examples, examples[:6], **quick)
    assert result.model.config.problem_type == problem
    said = next(result.task.predict(result.model, examples[:1])).label
    assert isinstance(said, type(labels[0]))


def test_start_keeps_the_encoder_and_draws_the_head_from_the_seed(small, pretrained):
    task = find_task("sentence").family(Tokenizer.from_pretrained(pretrained), 64)
    settled = task.head_fields(texts(10))
    with warnings.catch_warnings(action="error"):  # that the head is new is no surprise here
        model = start_model(small, task, settled)
    encoder = weights(BertForPreTraining.from_pretrained(pretrained).bert)
    assert same(encoder, weights(model.bert))
    torch.manual_seed(5)
    again, other = start_model(small, task, settled), start_model(replace(small, seed=1), task, settled)
    assert torch.equal(model.classifier.weight, again.classifier.weight)
    assert not torch.equal(model.classifier.weight, other.classifier.weight)


def test_dropout_is_that_of_the_head_too(small, pretrained, tmp_path):
    """Whatever dropout before the head the checkpoint's config names."""
    folder = tmp_path / "model"
    shutil.copytree(pretrained, folder)
    told = json.loads((folder / "config.json").read_text()) | {"classifier_dropout": 0.4}
    (folder / "config.json").write_text(json.dumps(told))
    recipe = replace(small, model=str(folder))
    task = find_task("sentence").family(Tokenizer.from_pretrained(pretrained), 64)
    for dropout, wanted in ((None, 0.4), (0.1, 0.1), (0.0, 0.0)):
        assert start_model(replace(recipe, dropout=dropout), task, task.head_fields(texts(10))).dropout.p == wanted


def test_a_head_for_the_same_labels_is_kept_and_another_is_new(small, quick, tmp_path):
    first = finetune(small, texts(24), out=tmp_path / "one", **quick)
    recipe = replace(small, model=str(tmp_path / "one"))
    tokenizer = first.tokenizer
    task = find_task("sentence").family(tokenizer, 64)
    kept = start_model(recipe, task, task.head_fields(texts(10)))
    assert torch.equal(kept.classifier.weight, first.model.classifier.weight)
    others = [replace(e, label=f"{e.label}{number % 2}") for number, e in enumerate(texts(10))]
    new = start_model(recipe, task, task.head_fields(others))
    assert new.classifier.weight.shape[0] == 4
    assert torch.equal(new.bert.pooler.dense.weight, first.model.bert.pooler.dense.weight)


def test_plain_labels_may_be_without_o_in_the_dev_set(small, quick, tmp_path):
    """The measure to choose by is there all the same, and in the guesses too."""
    train = [replace(e, labels=tuple(label.removeprefix("B-") for label in e.labels)) for e in words(12)]
    dev = [TokenExample(e.id, e.words, ("colour",) * len(e.words)) for e in words(3)]
    result = finetune(replace(small, task="token", steps=2), train, dev, out=tmp_path / "run", **quick)
    assert result.task.best == "f1" and "f1" in result.evaluations[0]
    assert all("f1" in guess for guess in result.task.baselines(train, dev).values())
    model, task = open_task(tmp_path / "run")
    assert task.measures(dev, [*task.predict(model, dev)]).keys() == result.evaluations[0].keys() - {"step"}


def test_a_kept_head_and_the_baselines_mean_the_same_class_by_positive(small, quick, tmp_path):
    """The second of the model's labels, whose order a kept head keeps."""
    tokenizer = Tokenizer.from_pretrained(small.model)
    config = BertForPreTraining.from_pretrained(small.model).config.changed(id2label={0: "red", 1: "blue"})
    BertForSequenceClassification(config).save_pretrained(tmp_path / "head", tokenizer)
    dev = [replace(e, label="blue" if number else "red") for number, e in enumerate(texts(4))]
    known = [replace(e, label="blue" if number % 3 else "red") for number, e in enumerate(texts(12))]
    result = finetune(replace(small, model=str(tmp_path / "head")), known, dev, out=tmp_path / "run", **quick)
    for task in (result.task, open_task(tmp_path / "run")[1]):
        guess = task.baselines(known, dev)["always the most frequent"]
        assert guess["positive_f1"] == pytest.approx(2 * 3 / (3 + 4))  # of blue; of red it would be 0


def test_a_head_for_several_numbers_is_not_kept_for_one(small, quick, tmp_path):
    numbers = [replace(e, label=float(number)) for number, e in enumerate(texts(10))]
    config = BertForPreTraining.from_pretrained(small.model).config.changed(num_labels=3, problem_type="regression")
    tokenizer = Tokenizer.from_pretrained(small.model)
    BertForSequenceClassification(config).save_pretrained(tmp_path, tokenizer)
    task = find_task("sentence").family(tokenizer, 64)
    model = start_model(replace(small, model=str(tmp_path)), task, task.head_fields(numbers))
    assert model.classifier.weight.shape[0] == 1


def test_same_seed_same_weights_to_the_bit(small, quick):
    runs = []
    for state, recipe in ((1, small), (2, small), (1, replace(small, seed=4))):
        torch.manual_seed(state)
        runs.append(weights(finetune(replace(recipe, dropout=0.1), texts(24), **quick).model))
    assert same(runs[0], runs[1]) and not same(runs[0], runs[2])


class Killed(Exception):
    """What ends a run in the middle."""


def kill_after(step):
    """What raises Killed at the first row that is logged after `step`."""

    def kill(row):
        if row["step"] > step:
            raise Killed

    return kill


def test_killed_and_resumed_gives_the_same_weights(small, quick, tmp_path, resumed):
    recipe = replace(small, steps=8, evaluate_every=2, dropout=0.1)
    data = texts(24), texts(8, seed=3)
    whole = finetune(recipe, *data, out=tmp_path / "whole", **quick)
    with pytest.raises(Killed):
        finetune(
            recipe,
            *data,
            out=tmp_path / "cut",
            log_every=1,
            on_log=kill_after(5),
            progress=False,
            settings=FinetuneSettings(device="cpu", save_every=1),
        )
    result = finetune(recipe, *data, out=tmp_path / "cut", **resumed)
    assert same(weights(result.model), weights(whole.model)) and result.evaluations == whole.evaluations
    assert (tmp_path / "cut" / "dev.csv").read_text() == (tmp_path / "whole" / "dev.csv").read_text()


def test_snapshots_are_the_model_as_it_was_without_evaluations(small, quick, tmp_path):
    recipe = replace(small, snapshot_steps=(0, 3), evaluate_every=4)
    result = finetune(recipe, texts(24), texts(8, seed=3), out=tmp_path / "run", **quick)
    assert [look["step"] for look in result.evaluations] == [4, 6]
    start, middle = (open_task(tmp_path / "run" / f"step-0000{step}")[0] for step in recipe.snapshot_steps)
    begun = start_model(recipe, result.task, result.task.head_fields(texts(24)))
    assert torch.equal(start.classifier.weight, begun.classifier.weight.half().float())
    assert not same(weights(middle), weights(start)) and not same(weights(middle), weights(result.model))
    read = read_run(tmp_path / "run")
    assert [moment.step for moment in read.moments] == [0, 3, 6] and read.finished


def test_ctrl_c_saves_what_was_learned_and_resume_wants_the_same_examples(small, quick, tmp_path, resumed):
    def stop(row):
        raise KeyboardInterrupt

    result = finetune(small, texts(24), texts(9), out=tmp_path / "run", log_every=2, on_log=stop, **quick)
    assert result.stopped and [row["step"] for row in result.rows] == [2]
    assert same(weights(open_task(tmp_path / "run")[0]), weights(result.model))
    for other in ((texts(24, seed=1), texts(9)), (texts(24), texts(9, seed=1))):
        with pytest.raises(InputError, match="another text"):
            finetune(small, *other, out=tmp_path / "run", **resumed)


def test_the_best_checkpoint_is_kept_and_enough_is_enough(small, quick):
    figures = iter([0.5, 0.9, 0.7, 0.6, 1.0])
    seen = {}

    def remember(row):
        seen[row["step"]] = row["accuracy"]

    recipe = replace(small, steps=50, evaluate_every=2, patience=2)
    task = find_task("sentence").family
    original, taken = task.measures, {}
    try:
        task.measures = lambda *_: {"accuracy": next(figures)}
        settings = FinetuneSettings(device="cpu", on_evaluation=remember)
        result = finetune(recipe, texts(24), texts(4), **quick | {"settings": settings})
    finally:
        task.measures = original
    assert seen == {2: 0.5, 4: 0.9, 6: 0.7, 8: 0.6}  # two evaluations without a better one: the end
    at_four = finetune(replace(recipe, patience=0, steps=50), texts(24), **quick).model
    assert not same(weights(at_four), weights(result.model)) and not taken


def test_without_a_dev_set_the_last_weights_are_kept(small, quick):
    result = finetune(small, texts(24), **quick)
    assert result.evaluations == [] and result.rows[-1]["step"] == 6


def test_an_epoch_is_every_example_once_in_batches_of_like_length(small, pretrained):
    tok = Tokenizer.from_pretrained(pretrained)
    features = find_task("choice").family(tok, 64).features(choices(203), None, learn=True)
    order = by_length(features, 4, random.Random(0))
    assert sorted(number for batch in order for number in batch) == list(range(203))
    assert Counter(map(len, order)) == {4: 50, 3: 1}
    spread = [max(features[i].length for i in batch) - min(features[i].length for i in batch) for batch in order]
    shuffled = random.Random(1).sample(range(203), 203)
    usual = [shuffled[i : i + 4] for i in range(0, 203, 4)]
    wide = [max(features[i].length for i in batch) - min(features[i].length for i in batch) for batch in usual]
    assert sum(spread) < 0.3 * sum(wide)


def test_batches_have_one_of_few_lengths_and_none_over_the_limit(small, pretrained):
    tok = Tokenizer.from_pretrained(pretrained)
    examples = [TextExample(str(words), "hat " * words, None, None) for words in range(1, 70)]
    features = text_features(examples, tok, 90)
    one_by_one = batches(features, tok, replace(small, max_length=90, batch_size=1), 0)
    found = {batch["input_ids"].size(1) for batch in islice(one_by_one, len(features))}
    lengths = {feature.length for feature in features}
    assert found == {min(few_sizes(length), 90) for length in lengths} and found < lengths and max(found) == 90


def test_batches_go_on_where_they_were(small, pretrained):
    tok = Tokenizer.from_pretrained(pretrained)
    task = find_task("sentence").family(tok, 64)
    examples = texts(10)
    model = start_model(small, task, task.head_fields(examples))
    features = task.features(examples, model.config, learn=True)
    whole = list(islice(batches(features, tok, small, 0), 8))
    for start in (1, 3, 5):
        for one, other in zip(whole[start:], batches(features, tok, small, start), strict=False):
            assert all(torch.equal(one[name], other[name]) for name in one)


@torch.no_grad()
def test_smoothing_mixes_in_the_other_classes(small, pretrained):
    task = find_task("sentence").family(Tokenizer.from_pretrained(pretrained), 64)
    model = start_model(small, task, task.head_fields(texts(10)))
    tok = Tokenizer.from_pretrained(pretrained)
    batch = tok(["a red hat", "a blue hat"]) | {"labels": torch.tensor([0, 1])}
    plain = float(task_loss(model, batch)[0])
    logs = model(**{k: v for k, v in batch.items() if k != "labels"}).logits.log_softmax(-1)
    uniform = float(-logs.mean())
    assert plain == pytest.approx(float(F.nll_loss(logs, batch["labels"])), rel=1e-5)
    assert float(task_loss(model, batch, smoothing=0.2)[0]) == pytest.approx(0.8 * plain + 0.2 * uniform, rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "examples", "message"),
    [
        ({}, [], "no example"),
        ({"task": "qa", "layer_mix": "sum-last-4"}, list(questions(0, 2)), "layer_mix=sum-last-4: means nothing"),
        ({"token_decoder": "crf"}, texts(4), "token_decoder=crf: means nothing for the task sentence"),
        ({"stride": 5}, texts(4), "stride=5: means nothing"),
    ],
)
def test_mistakes_are_named(changes, examples, message, small, quick):
    with pytest.raises(InputError, match=message):
        finetune(replace(small, **changes), examples, **quick)


def test_smoothing_of_a_crf_or_of_numbers(small):
    for changes in ({"token_decoder": "crf"}, {"problem": "regression"}):
        with pytest.raises(InputError, match="label_smoothing=0.1"):
            replace(small, label_smoothing=0.1, **changes)
