"""Which of several continuations is right."""

import pytest
import torch

from bertlab import BertConfig, BertForMultipleChoice, InputError
from bertlab.corpora.examples import ChoiceExample
from bertlab.tasks.choice import ChoicePrediction, ChoiceTask


@pytest.fixture
def task(tok) -> ChoiceTask:
    return ChoiceTask(tok, 32)


@pytest.fixture
def model(config):
    torch.manual_seed(1)
    return BertForMultipleChoice(config.changed(vocab_size=400, max_position_embeddings=64)).eval()


def test_each_choice_is_scored_with_the_text(task, model):
    examples = [ChoiceExample(str(n), "the dog " * n, ("was red", "it was blue " * n, "a")) for n in range(1, 7)]
    for example, said in zip(examples, task.predict(model, examples), strict=True):
        with torch.inference_mode():
            batch = task.tokenizer([example.text] * 3, list(example.choices), max_length=32)
            logits = model(**{name: tensor[None] for name, tensor in batch.items()}).logits[0]  # (1, C) -> (C,)
        assert said.probabilities == pytest.approx(logits.softmax(0).tolist(), abs=1e-5)
        assert said.choice == int(logits.argmax())


def test_mistakes_are_named(task):
    with pytest.raises(InputError, match="example 4: does not tell which choice"):
        task.check([ChoiceExample("4", "a", ("b", "c"))], BertConfig())
    with pytest.raises(InputError, match="example 4: has 3 choices, 3 has 2"):
        task.features(
            [ChoiceExample("3", "a", ("b", "c")), ChoiceExample("4", "a", ("b", "c", "d"))], None, learn=False
        )


def test_measures_comparisons_and_baselines(task):
    examples = [ChoiceExample("1", "a", ("b", "c"), 0), ChoiceExample("2", "a", ("b", "c"), 1)]
    said = [ChoicePrediction(1, (0.1, 0.9)), ChoicePrediction(1, (0.4, 0.6))]
    assert task.measures(examples, said)["accuracy"] == 0.5
    assert task.baselines(examples, examples)["by chance"] == {"accuracy": 0.5}
    first, second = task.compare(examples, said)
    assert (first.gold, first.predicted) == ("b", "c") and first.error > second.error
    assert task.head_fields(examples) == {} and task.confusions(examples, said) is None
