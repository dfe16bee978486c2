"""`bertlab finetune`, `evaluate` and `predict` on files as their makers wrote them."""

import json
import shlex
from pathlib import Path

import pytest

from bertlab.cli.main import main
from bertlab.cli.shared.doubts import quoted, repeated
from bertlab.corpora.examples import TextExample
from tests.alike import assert_alike

QUICK = "--steps 2 --batch-size 8 --device cpu"
TEXTS = ["the red dog", 'a "blue cat', "the red hat , old", "a blue kite"] * 6


@pytest.fixture(scope="module")
def place(pretrained, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("files")
    (place / "tiny").symlink_to(pretrained)
    return place


@pytest.fixture
def cli(place, capsys, monkeypatch):
    """Runs `bertlab LINE` in that folder, which must succeed; gives stdout and stderr."""
    monkeypatch.chdir(place)

    def run(line: str) -> tuple[str, str]:
        main(shlex.split(line))
        return capsys.readouterr()

    return run


def write(path: Path, rows, end: str = "\n") -> None:
    path.write_text("".join(f"{row}{end}" for row in rows), encoding="utf-8", newline="")


def test_cola_and_labels_before_texts(cli, place):
    """A lone quote joins no lines, and a model learned from one form is measured on another."""
    write(place / "train.tsv", [f"gj04\t{n % 2}\t{'*' * (n % 2 == 0)}\t{text}" for n, text in enumerate(TEXTS)])
    write(place / "lines.txt", [f"{n % 2} {text}" for n, text in enumerate(TEXTS)])
    write(place / "test.tsv", ["index\tsentence", *(f"{n}\t{text}" for n, text in enumerate(TEXTS))])
    columns = "--text-column 3 --label-column 1"
    cli(f"finetune sentence --model tiny --train train.tsv {columns} --out cola {QUICK}")
    measured = [cli(f"evaluate cola --data {file} --json")[0] for file in (f"train.tsv {columns}", "lines.txt")]
    assert_alike(*map(json.loads, measured))
    assert "accuracy" in json.loads(measured[0])
    cli("predict --model cola --file test.tsv --out said.jsonl")
    assert len((place / "said.jsonl").read_text().splitlines()) == 24


def test_sts_benchmark(cli, place):
    rows = [f"main\tMSRvid\t2012\t{n:04}\t{n % 6}.000\t{text}\tA dog." for n, text in enumerate(TEXTS)]
    write(place / "sts-train.csv", [row + "\thttps://a.org\tsee there" * (n % 3 == 2) for n, row in enumerate(rows)])
    columns = "--text-column 5 --pair-column 6 --label-column 4"
    cli(f"finetune pair --model tiny --train sts-train.csv {columns} --set problem=regression --out sts {QUICK}")
    assert "pearson" in json.loads(cli(f"evaluate sts --data sts-train.csv {columns} --json")[0])


def test_labels_that_nobody_agreed_on_and_rare_ones(cli, place):
    labels = ["neutral", "entailment", "-", "contradiction"] * 6
    labels[1], labels[5], labels[9] = "slip", "twice", "twice"
    rows = [{"sentence1": text, "sentence2": "天", "label": label} for text, label in zip(TEXTS, labels, strict=True)]
    write(place / "ocnli.json", [json.dumps(row) for row in rows])
    ask = "finetune pair --model tiny --train ocnli.json"
    warned = cli(f"{ask} --out nli {QUICK}")[1]
    assert "warning: ocnli.json: the label 'slip' occurs once, the label 'twice' occurs twice, the label '-'" in warned
    report = (place / "nli" / "report.md").read_text()
    assert "occurs once" in report
    _, said = cli(f"{ask} --skip-label - slip twice --out agreed {QUICK}")
    assert "left out 6 rows labelled '-'; left out 2 rows labelled 'twice'; left out 1 row labelled 'slip'" in said
    assert "occurs" not in said and "left out 6 rows" in (place / "agreed" / "report.md").read_text()
    config = json.loads((place / "agreed" / "config.json").read_text())
    assert sorted(config["label2id"]) == ["contradiction", "entailment", "neutral"]
    measured, said = cli("evaluate agreed --data ocnli.json --skip-label - --on-error skip --json")
    assert "left out 6 rows labelled '-'" in said
    assert "left out 3 rows with labels that the model does not know: 'slip', 'twice'" in said
    again = cli("evaluate agreed --data ocnli.json --skip-label - slip twice --json")[0]
    assert_alike(json.loads(measured), json.loads(again))


def test_a_model_of_another_language_is_warned_of(cli, place):
    signs = [f"{sign}{n % 2}\t{'B-PER.NAM' if sign == '王' else 'O'}\n" for n, sign in enumerate("小王在北京")]
    write(place / "weibo.txt", ["".join(signs)] * 20)
    said = cli(f"finetune token --model storyworld-tiny --train weibo.txt --out weibo {QUICK}")[1]
    assert "% of the tokens are unknown to storyworld-tiny ([UNK]); name a --model for this language" in said
    assert "% of the tokens are unknown" in (place / "weibo" / "report.md").read_text()
    write(place / "english.txt", [f"{n % 2} {text}" for n, text in enumerate(TEXTS)])
    assert "unknown" not in cli(f"finetune sentence --model storyworld-tiny --train english.txt --out good {QUICK}")[1]


def test_pairs_that_are_cut_are_warned_of(cli, place):
    longer = [f"{text} {'and so on ' * (60 if n % 4 == 0 else 1)}" for n, text in enumerate(TEXTS)]
    write(place / "long.tsv", ["text\tpair\tlabel", *(f"{text}\tit is\t{n % 2}" for n, text in enumerate(longer))])
    ask = f"finetune pair --model storyworld-tiny --train long.tsv {QUICK}"
    said = cli(f"{ask} --out cut")[1]
    assert "% of the texts are longer than 128 tokens, and their ends are not read; --max-length reads" in said
    assert "are longer than" not in cli(f"{ask} --max-length 256 --out whole")[1]


def test_a_head_that_transformers_lacks_is_said(cli, place):
    """It would open there with another head, and answer at chance."""
    write(place / "two.tsv", ["text\tlabel", *(f"{text}\t{n % 2}" for n, text in enumerate(TEXTS))])
    note = "transformers has no head with pooling=mean and refuses this model; bertlab opens it"
    said = cli(f"finetune sentence --model tiny --train two.tsv --out mean {QUICK} --set pooling=mean")[1]
    assert said.count(note) == 1 and note in (place / "mean" / "README.md").read_text()
    assert json.loads((place / "mean" / "config.json").read_text())["model_type"] == "bert-variant"
    cli('predict "the red dog" --model mean')
    assert "transformers has no" not in cli(f"finetune sentence --model tiny --train two.tsv --out cls {QUICK}")[1]


def test_plain_labels_of_words(cli, place):
    kinds = {"the": "DET", "a": "DET", "red": "ADJ", "old": "ADJ", '"blue': "ADJ", "blue": "ADJ", ",": "PUNCT"}
    sentences = ["".join(f"{word}\t{kinds.get(word, 'NOUN')}\n" for word in text.split()) for text in TEXTS]
    write(place / "pos.conll", sentences)
    cli(f"finetune token --model tiny --train pos.conll --out pos {QUICK} --set token_decoder=crf")
    measures = json.loads(cli("evaluate pos --data pos.conll --json")[0])
    assert set(measures) == {"token_accuracy", "token_accuracy_low", "token_accuracy_high", "macro_f1"}
    assert "token_accuracy" in json.loads((place / "pos" / "baselines.json").read_text())[0]
    rows = json.loads(cli('predict "the red dog" --model pos --json')[0])
    assert [row["text"] for row in rows] == ["the", "red", "dog"] and {r["kind"] for r in rows} <= {
        *kinds.values(),
        "NOUN",
    }


def test_bmes_and_entities_that_the_model_does_not_know(cli, place):
    write(place / "bmes.txt", ["京 B-GPE\n城 M-GPE\n里 E-GPE\n男 S-PER\n在 O\n"] * 20)
    write(place / "more.txt", ["男 S-PER\n在 O\n", "男 B-MISC\n人 E-MISC\n京 S-LAW\n", "人 S-MISC\n"])
    cli(f"finetune token --model tiny --train bmes.txt --out bmes {QUICK}")
    names = json.loads((place / "bmes" / "config.json").read_text())["id2label"].values()
    assert set(names) == {"O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("GPE", "PER"))}
    measured, said = cli("evaluate bmes --data more.txt --on-error skip --json")
    assert "left out 2 rows with labels that the model does not know: 'B-MISC', 'E-MISC', 'S-LAW', 'S-MISC'" in said
    assert "f1:PER" in json.loads(measured) and "f1:MISC" not in json.loads(measured)
    write(place / "other.txt", ["人 S-MISC\n"])
    with pytest.raises(SystemExit):
        cli("evaluate bmes --data other.txt --on-error skip")
    _, said = cli(f"finetune token --model tiny --train bmes.txt --test more.txt --on-error skip --out less {QUICK}")
    line = "more.txt, test: left out 2 rows with labels that the model does not know: 'B-MISC'"
    assert line in said and line in (place / "less" / "report.md").read_text()


def test_a_label_that_only_one_fold_has_stops_before_the_first_training(cli, place, capsys):
    write(place / "once.conll", ["a\tDET\ndog\tNOUN\n"] * 30 + ["oh\tINTJ\n"])
    ask = f"finetune token --model tiny --train once.conll --folds 2 {QUICK}"
    with pytest.raises(SystemExit):
        cli(f"{ask} --out stopped")
    said = capsys.readouterr().err
    assert "the model knows no label 'INTJ'; it knows DET, NOUN; --on-error skip leaves such rows out" in said
    assert not (place / "stopped").exists()
    assert (
        "left out 1 row with labels that the model does not know: 'INTJ'" in cli(f"{ask} --on-error skip --out on")[1]
    )
    assert len(json.loads((place / "on" / "folds.json").read_text())["this run"]["token_accuracy"]["folds"]) == 2


def test_repeated_and_contradicting_examples_are_warned_of(cli, place):
    """Each example once, with one class, is no reason for a warning."""
    rows = [f"text {n} of forty\t{n % 2}" for n in range(40)]
    write(place / "once.tsv", ["text\tlabel", *rows])
    write(place / "other.tsv", ["text\tlabel", *(row.replace("forty", "others") for row in rows)])
    ask = f"finetune sentence --model tiny {QUICK} --train"
    said = cli(f"{ask} once.tsv --test other.tsv --out once")[1]
    assert "too much of new ones" not in said and "another label" not in said
    write(place / "new.tsv", ["text\tlabel", rows[0], *(row.replace("forty", "new ones") for row in rows[:9])])
    said = cli(f"{ask} once.tsv --dev other.tsv --test new.tsv --out leak")[1]
    assert said.count("too much of new ones") == 1
    warning = "new.tsv: 1 of the 10 examples to measure by are learned from, too, so the measures promise too much"
    assert f"warning: {warning}" in said and warning in (place / "leak" / "report.md").read_text()
    write(place / "new.tsv", ["text\tlabel", f" {rows[0].upper()}", *rows[1:3]])
    assert "3 of the 3 examples" in cli(f"{ask} once.tsv --dev other.tsv --test new.tsv --out look")[1]
    pairs = [TextExample(f"{n}", *texts, "x") for n, texts in enumerate([("a", "b"), ("B", "a")])]
    assert any("1 of the 1 examples" in said for said in repeated(pairs[:1], pairs[1:]))
    write(place / "twice.tsv", ["text\tlabel", *rows, *rows])
    folds = cli(f"{ask} twice.tsv --folds 2 --out folds")[1]
    assert "too much of new ones" not in folds and "fold 2 of 2" in folds  # both copies stand in the same fold
    write(place / "both.tsv", ["text\tlabel", *rows, rows[0].replace("\t0", "\t1")])
    said = cli(f"{ask} both.tsv --dev other.tsv --out both")[1]
    assert "warning: both.tsv: 1 of the texts have another label in another row; the first: 'text 0 of forty'" in said


def test_second_texts_that_are_not_read_are_warned_of(cli, place):
    write(place / "two.csv", ["premise,hypothesis,label", *(f"a {n},b {n},{n % 2}" for n in range(40))])
    ask = f"--model tiny --train two.csv {QUICK}"
    warning = "two.csv: sentence reads the first of two texts in each row; finetune pair reads both"
    assert f"warning: {warning}" in cli(f"finetune sentence {ask} --out first")[1]
    assert "of two texts" not in cli(f"finetune pair {ask} --out pair")[1]
    assert "of two texts" not in cli(f"finetune sentence {ask} --text-column premise --out named")[1]


def test_texts_that_are_still_quoted_are_warned_of(cli, place):
    """A published file may have a quote anywhere, and texts that stand in quotes."""
    rows = [f'"he said ""text {n}"""\t{n % 2}' if n % 9 == 0 else f'"text {n}"\t{n % 2}' for n in range(40)]
    write(place / "quoted.tsv", ["text\tlabel", *rows])
    ask = f"finetune sentence --model tiny {QUICK}"
    warning = 'quoted.tsv: 5 of the texts begin and end with a " and have "" within; a file with tabs is read without'
    assert f"warning: {warning}" in cli(f"{ask} --train quoted.tsv --out quoted")[1]
    write(place / "plain.tsv", ["text\tlabel", *(row.replace('""', "''") for row in rows), '"" and "\t0'])
    assert "begin and end with" not in cli(f"{ask} --train plain.tsv --out unquoted")[1]


def test_texts_with_commas_that_are_all_quoted_are_doubted():
    """As Excel writes a file with tabs. A few may be quotations, and one without quotes shows that they are."""
    excel = [TextExample(str(n), f'"good, {n}"' if n % 2 else f"bad {n}") for n in range(10)]
    advice = "a file with tabs is read without quoting: save it with commas"
    assert list(quoted(excel)) == [f'all 5 texts with a comma begin and end with a "; {advice}']
    assert not list(quoted(excel[2:]))
    assert not list(quoted([*excel, TextExample("", "so, so")]))
