"""Small checkpoints with their tokenizers, and limits on what a test may use."""

import resource
import shutil

import pytest
import torch
from damage import PREDICT, opened

from bertlab import (
    BertConfig,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    InputError,
    Tokenizer,
)

MOST_MEGABYTES = 500
HEADS = {
    "pretraining": (BertForPreTraining, None),
    "sentence": (BertForSequenceClassification, ["bad", "so-so", "good"]),
    "token": (BertForTokenClassification, ["O", "B-pet", "I-pet"]),
    "qa": (BertForQuestionAnswering, None),
}


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    """Kind -> folder of an undamaged checkpoint."""
    tokenizer = Tokenizer.train(["my dog is hairy", "who is hairy ?"], 60, min_frequency=1)
    sizes = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=32)
    plain = BertConfig(vocab_size=tokenizer.vocab_size, max_position_embeddings=32, **sizes)
    home = tmp_path_factory.mktemp("sound")
    torch.manual_seed(0)
    for kind, (head, names) in HEADS.items():
        own = plain.changed(id2label=dict(enumerate(names))) if names else plain
        head(own).save_pretrained(home / kind, tokenizer)
    return {kind: home / kind for kind in HEADS}


@pytest.fixture
def folder_of(sound, tmp_path):
    """A copy of a checkpoint, to be damaged."""

    def copied(kind):
        return shutil.copytree(sound[kind], tmp_path / kind)

    return copied


@pytest.fixture(autouse=True)
def within_memory():
    """Peak memory grows by less than 500 MB; what asks for gigabytes fails at once instead of filling the machine."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (4 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEGABYTES * 1024


@pytest.fixture
def refused(folder_of):
    """Damage a checkpoint; each face that is asked must raise an InputError of one line that holds the words."""

    def check(kind, damage, words, faces):
        folder = folder_of(kind)
        damage(folder)
        for face in faces:
            with pytest.raises(InputError) as caught:
                opened(face, kind, folder)
            message = str(caught.value)
            assert message.isprintable() and len(message) < 600, message
            for word in words.split(" ... "):
                assert word in message, message
        if faces == (PREDICT,):
            opened("info", kind, folder)  # it reads no values

    return check
