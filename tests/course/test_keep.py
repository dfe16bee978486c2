"""my_bert.py: what passes its check is kept, what does not changes nothing, and no version is lost."""

import subprocess
import sys

import pytest
import torch

from bertlab import BertForPreTraining, Tokenizer
from bertlab.course import Mistake, load_matching
from bertlab.course.keep import CHECKS, SOLUTION, current, definitions, file, keep, load
from bertlab.errors import InputError
from bertlab.io.locate import locate

RIGHT = '''def rate_share(progress, warmup):
    """Mine."""
    if warmup and progress < warmup:
        return progress / warmup
    return (1 - progress) / (1 - warmup)
'''
WRONG = "def rate_share(progress, warmup):\n    return progress\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTLAB_MY_BERT", str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_bert", raising=False)
    return tmp_path


def kept(cell: str) -> str:
    names: dict = {}
    exec(cell, names)
    return keep(cell, names)


def test_what_is_right_is_kept_and_the_rest_is_solved():
    assert "your rate_share" in kept(RIGHT)
    text = file().read_text()
    assert '# yours\ndef rate_share(progress, warmup):\n    """Mine."""' in text
    assert [part.name for part in current()[1] if part.yours] == ["rate_share"]
    module, said = load("rate_share", "Layer")
    assert said == "my_bert.py, yours: rate_share; from the solutions: Layer."
    assert module.rate_share(0.05, 0.1) == 0.5


def test_what_is_wrong_changes_nothing(folder):
    kept(RIGHT)
    before = file().read_text()
    with pytest.raises(Mistake):
        kept(WRONG)
    with pytest.raises(Mistake, match="did you mean rate_share"):
        kept(RIGHT.replace("rate_share", "rate_shar"))
    assert file().read_text() == before and not (folder / "my_bert_versions").exists()


def test_a_replaced_version_is_not_lost(folder):
    kept(RIGHT)
    kept(RIGHT.replace("Mine", "Mine, better"))
    (old,) = (folder / "my_bert_versions").iterdir()
    assert '"""Mine."""' in old.read_text() and "Mine, better" in file().read_text()
    kept(RIGHT.replace("Mine", "Mine, better"))  # the same again is no new version
    assert len(list((folder / "my_bert_versions").iterdir())) == 1


def test_a_part_that_was_broken_later_is_named():
    kept(RIGHT)
    file().write_text(file().read_text().replace("return progress / warmup\n    return", "return 1.0\n    return"))
    with pytest.raises(Mistake, match="your rate_share in my_bert.py does not pass"):
        load("rate_share")
    load("Layer")


@pytest.mark.parametrize("damage", ["def broken(:\n", "raise RuntimeError('no')\n"])
def test_a_file_that_cannot_be_run_is_one_line(damage):
    load()
    file().write_text(file().read_text() + damage)
    with pytest.raises(InputError, match="my_bert.py"):
        load("Layer")


def test_parts_are_put_together_as_they_were():
    text = SOLUTION.read_text()
    head, parts = definitions(text)
    assert head + "".join(part.above + part.source for part in parts) == text
    assert CHECKS.keys() <= {part.name for part in parts}


@pytest.mark.parametrize("name", CHECKS)
def test_the_solutions_pass_their_checks(name):
    module, _ = load()
    CHECKS[name](getattr(module, name))


def test_the_file_runs_alone_with_torch_and_numpy(folder):
    load()
    code = "import sys, my_bert; print(sorted({m.split('.')[0] for m in sys.modules} & {'bertlab', 'transformers'}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_holds_trained_weights_and_what_it_saves_opens(tmp_path):
    module, _ = load()
    library, tok = BertForPreTraining.from_pretrained("storyworld-tiny"), Tokenizer.from_pretrained("storyworld-tiny")
    fields = {name: getattr(library.config, name) for name in module.Config.__dataclass_fields__}
    mine = module.BertForPreTraining(module.Config(**fields)).eval()
    assert load_matching(mine, library).complete
    own = module.Tokenizer.from_file(locate("storyworld-tiny") / "vocab.txt")
    module.save(mine, own, tmp_path / "saved")
    again = BertForPreTraining.from_pretrained(tmp_path / "saved").eval()
    batch = tok(["my dog is hairy", "the man went to the store"], ["he likes walks", "he bought milk"])
    with torch.inference_mode():
        logits, pair = mine(batch["input_ids"], batch["attention_mask"], batch["token_type_ids"])
        out = again(**batch)
    real = batch["attention_mask"].bool()
    assert torch.allclose(out.prediction_logits[real], logits[real], atol=1e-4)
    assert torch.allclose(out.seq_relationship_logits, pair, atol=1e-4)
