"""my_bert.py: what passes its check is kept, what does not changes nothing, and no version is lost."""

import subprocess
import sys

import pytest
import torch

from bertlab import BertForPreTraining, Tokenizer
from bertlab.course import Mistake, load_matching
from bertlab.course.chapters import KEPT
from bertlab.course.definitions import parse_file
from bertlab.course.keep import current, file, keep, load, solution, solution_file
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


def test_what_is_right_is_kept_and_the_rest_is_solved():
    assert "your rate_share" in keep(RIGHT)
    text = file().read_text()
    assert '# yours\ndef rate_share(progress, warmup):\n    """Mine."""' in text
    assert [part.name for part in current().parts if part.yours] == ["rate_share"]
    module, said = load("rate_share", "Layer")
    assert said == "my_bert.py, yours: rate_share; from the solutions: Layer."
    assert module.rate_share(0.05, 0.1) == 0.5


def test_the_joined_solutions_import_what_they_use_and_no_more():
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F", "-"]
    found = subprocess.run(ruff, input=solution_file(), capture_output=True, encoding="utf-8")
    assert not found.returncode, found.stdout


def test_what_is_wrong_changes_nothing(folder):
    keep(RIGHT)
    before = file().read_text()
    with pytest.raises(Mistake):
        keep(WRONG)
    with pytest.raises(Mistake, match="did you mean rate_share"):
        keep(RIGHT.replace("rate_share", "rate_shar"))
    assert file().read_text() == before and not (folder / "my_bert_versions").exists()


def test_the_line_at_which_a_cell_stopped_is_that_of_the_cell():
    keep(RIGHT)
    with pytest.raises(Mistake, match="It stopped at `return progress / None`"):
        keep(WRONG.replace("return progress", "return progress / None"))


def test_a_replaced_version_is_not_lost(folder):
    keep(RIGHT)
    keep(RIGHT.replace("Mine", "Mine, better"))
    (old,) = (folder / "my_bert_versions").iterdir()
    assert '"""Mine."""' in old.read_text() and "Mine, better" in file().read_text()
    keep(RIGHT.replace("Mine", "Mine, better"))  # the same again is no new version
    assert len(list((folder / "my_bert_versions").iterdir())) == 1


def test_what_is_written_into_the_file_by_hand_counts_as_the_readers():
    load()
    text = file().read_text()
    changed = text.replace("torch.tanh(self.dense", "torch.tanh(1.0 * self.dense")
    changed = changed.replace("\n\n\nclass Layer(", "\n\n\nEPS = 1\n\n\ndef mine():\n    pass\n\n\nclass Layer(")
    file().write_text(changed + "\nprint(end='')\n")
    _, said = load("Pooler", "Layer")
    assert said == "my_bert.py, yours: Pooler; from the solutions: Layer."
    keep(RIGHT)
    again = file().read_text()
    assert "EPS = 1\n" in again and "def mine():" in again and "1.0 * self.dense" in again
    assert again.endswith("\nprint(end='')\n")


def test_a_file_of_an_older_course_gets_the_parts_that_it_lacks():
    load()
    text = file().read_text()
    start = text.index("class Pooler(")
    file().write_text(text[:start] + text[text.index("class Bert(") :])
    assert load("Pooler")[1] == "my_bert.py, from the solutions: Pooler."


def test_a_part_that_was_broken_later_is_named():
    keep(RIGHT)
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
    text = solution_file()
    parts = parse_file(text)
    assert parts.text() == text
    assert KEPT.keys() == {part.name for part in parts.parts} - {"Config", "pretrain", "published", "save"}


def test_the_solutions_pass_their_checks():
    module, _ = load()
    checks = dict.fromkeys(KEPT.values())  # parts may share one
    for check in checks:
        check(*(getattr(module, reference.__name__) for reference in check.references))
    assert len(checks) > 20


def test_a_solution_kept_word_for_word_is_not_called_the_readers():
    code = load()[0].__file__ and (solution_file().partition("class FeedForward")[2]).partition("\n\n\n")[0]
    assert "FeedForward as given" in keep(f"class FeedForward{code}\n")
    assert not [part for part in current().parts if part.yours]


def test_helpers_and_imports_of_a_cell_come_along():
    helper = (
        "from fractions import Fraction\n\n\ndef up(progress, warmup):\n    return Fraction(progress / warmup)\n\n\n"
    )
    cell = helper + RIGHT.replace("return progress / warmup", "return float(up(progress, warmup))")
    assert "your up and rate_share" in keep(cell)
    text = file().read_text()
    assert text.count("from fractions import Fraction") == 1 and text.index("def up(") < text.index("def rate_share(")
    keep(cell.replace("Mine", "Mine again"))
    text = file().read_text()
    assert text.count("from fractions import Fraction") == text.count("def up(") == 1
    assert load("rate_share")[0].rate_share(0.05, 0.1) == 0.5


def test_what_the_file_would_lack_is_named():
    with pytest.raises(Mistake, match="uses `up`, which my_bert.py does not have"):
        keep(RIGHT.replace("progress / warmup", "up(progress, warmup)"))
    with pytest.raises(Mistake, match="`%time rate_share.* is for IPython"):
        keep(RIGHT + "%time rate_share(0.5, 0.1)\n")
    with pytest.raises(Mistake, match="torch and numpy alone"):
        keep("import transformers\n" + RIGHT)
    with pytest.raises(Mistake, match="no class or function.*`def`"):
        keep("rate = 1\n")
    with pytest.raises(Mistake, match="uses `UP`, .* assignments of a cell are not kept: write a constant where it is"):
        keep("UP = 1.0\n" + RIGHT.replace("progress / warmup", "UP * progress / warmup"))
    with pytest.raises(InputError, match="name 'UP' is not defined.; assignments of a cell are not kept"):
        keep("UP = 1.0\n" + RIGHT.replace("warmup):", "warmup=UP):"))


def test_a_part_without_a_check_passes_that_of_the_whole():
    wrong = "class FeedForward(nn.Module):\n" + "    def __init__(self, config):\n        super().__init__()\n"
    with pytest.raises(Mistake, match='FeedForward.*missing the required "forward"'):
        keep(wrong)


def test_a_solution_is_shown_folded_and_escaped():
    shown = solution("Pooler", "rate_share")
    assert shown.startswith("<details>") and "-&gt;" in shown and "def rate_share" in shown
    with pytest.raises(InputError, match="Poler"):
        solution("Poler")


def test_the_file_runs_alone_with_torch_and_numpy(folder):
    load()
    code = "import sys, my_bert; print(sorted({m.split('.')[0] for m in sys.modules} & {'bertlab', 'transformers'}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("documents", [1, 3])
def test_too_little_text_is_named_instead_of_waiting_for_ever(documents):
    module, _ = load()
    tok = module.Tokenizer.from_file(locate("storyworld-tiny") / "vocab.txt")
    text = [[tok.ids("my dog is hairy.")] * (40 if documents == 1 else 4)] * documents
    with pytest.raises(ValueError, match="too little text"):
        next(module.batches(text, tok, size=8))


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


# In a notebook


def test_the_magics_keep_take_and_show(capsys, monkeypatch):
    from IPython.core.interactiveshell import InteractiveShell

    memory = []
    monkeypatch.setattr("bertlab.course.keep.keep_memory", lambda: memory.append("kept"))
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "bertlab.course.keep")
    assert memory == ["kept"]
    stub = RIGHT.partition("    if")[0] + "    raise NotImplementedError\n"
    shell.run_cell(f"%%keep\n{stub}")
    assert "Not yet: write your code in place of `raise NotImplementedError`." in capsys.readouterr().out
    shell.run_cell(f"%%keep\n{RIGHT}")
    assert "Kept: my_bert.py has your rate_share." in capsys.readouterr().out
    shell.run_cell("%my_bert rate_share Layer\nprint(rate_share(0.05, 0.1))")
    assert capsys.readouterr().out == "my_bert.py, yours: rate_share; from the solutions: Layer.\n0.5\n"
    shell.run_cell("%solution rate_share")
    shell.run_cell("%my_bert Leyer")
    assert "there is no Leyer" in capsys.readouterr().out
