"""From the public corpora (here in little) to a model, its card and its measures by genre."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bertlab.cli.main import main
from bertlab.cli.pretrain import Pretrain
from bertlab.cli.shared.material import read_material
from bertlab.config import BertConfig
from bertlab.corpora import storyworld
from bertlab.corpora.english import GENRES, SOURCES, read_english
from bertlab.evaluation import grammar
from bertlab.evaluation.held_out import measure_genres, measure_pretraining
from bertlab.evaluation.wording import with_interval
from bertlab.training.initial_weights import new_model
from tests.alike import assert_alike


@pytest.fixture(scope="module", autouse=True)
def few_grammar_pairs():
    """To be quick."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grammar, "PAIRS", 4)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Corpora of four genres with the text of the storyworld."""
    folder = tmp_path_factory.mktemp("corpora")
    documents = list(storyworld.documents(3, 60))
    texts = [document.text for document in documents]
    for name in ("litbank_novels", "wikitext2", "masc/spoken", "masc/written"):
        (folder / name).mkdir(parents=True)
    for name, part in {"105_persuasion": texts[:4], "1_other": texts[4:20]}.items():
        chapters = "\n\n".join(f"Chapter {number}\n\n{text}" for number, text in enumerate(part, start=1))
        (folder / "litbank_novels" / f"{name}.txt").write_text(chapters)
    articles = (f" = Article {number} = \n {text} \n" for number, text in enumerate(texts[20:24]))
    (folder / "wikitext2" / "test.txt").write_text("".join(articles))
    files = {f"{kind}/{i}.txt": documents[24 + i] for kind in ("spoken", "written") for i in range(30)}
    for name, document in files.items():
        lines = (f"{sentence}_X".replace(" ", "_X ") for sentence in document.sentences)
        (folder / "masc" / name).write_text("\n".join(lines))
    kinds = [f"{name} {'telephone' if name.startswith('s') else 'essays'}" for name in files]
    (folder / "masc" / "categories.txt").write_text("\n".join(kinds))
    return folder


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    options = ["--steps", "2", "--batch-size", "4", "--device", "cpu"]
    main(["pretrain", "own-text", "--data", str(folder), "--out", str(out), *options])
    return out


def test_the_bundled_model_is_what_its_recipe_makes():
    recipe = Pretrain(data=Path("anywhere"))._recipe()
    assert recipe.name == "english-scratch"
    assert recipe.config(8000) == BertConfig.from_pretrained("english-scratch")


def test_the_card_names_the_data_its_licences_and_every_genre(run, folder):
    card = (run / "README.md").read_text()
    for source in SOURCES:
        assert source.name in card and source.licence in card and source.address in card
    measures = json.loads((run / "measures.json").read_text())
    for genre in GENRES:
        figure = with_interval(measures, f"masked_top1:{genre}")
        assert f"| {genre}: masked word, first guess right | {figure} |" in card
        learned, held_out = (
            sum(len(d.text.split()) for d in read_english(folder, split) if d.genre == genre)
            for split in ("train", "test")
        )
        assert f"| {genre} | {learned:,} | {held_out:,} |" in card
    assert f"| grammar pairs, right | {measures['grammar']:.3f} |" in card
    assert "bertlab pretrain own-text --data" in card
    assert str(folder) not in card


def test_training_never_sees_the_held_out_documents(folder):
    material = read_material((), folder)
    assert list(material.new) == ["novel", "wikipedia", "spoken", "written"]
    assert [d.sentences for d in read_english(folder)] == material.known
    for genre, texts in material.new.items():
        assert texts == [d.sentences for d in read_english(folder, "test") if d.genre == genre]


def test_any_recipe_learns_from_the_corpora(folder, tmp_path):
    options = ["--out", str(tmp_path / "run"), "--steps", "2", "--batch-size", "4", "--device", "cpu"]
    main(["pretrain", "storyworld-live", "--data", str(folder), *options])
    card = (tmp_path / "run" / "README.md").read_text()
    assert SOURCES[0].name in card and "bertlab pretrain storyworld-live --data FOLDER --steps 2" in card


def test_evaluate_by_genre(run, folder, capsys):
    main(["evaluate", str(run), "--data", str(folder), "--json"])
    measures = json.loads(capsys.readouterr().out)
    assert_alike(measures, json.loads((run / "measures.json").read_text()))  # the same seed, the same figures
    main(["evaluate", str(run), "--data", str(folder)])
    shown = capsys.readouterr().out
    assert all(f"{genre}: masked word, first guess right" in shown for genre in GENRES)


def test_a_genre_is_measured_as_text_of_its_own(tok, recipe, texts):
    model = new_model(replace(recipe, seed=3), tok)
    known, one, other = texts[:10], texts[10:20], texts[20:]
    measures = measure_genres(model, tok, known, {"one": one, "other": other})
    alone = {name: measure_pretraining(model, tok, known, part) for name, part in (("one", one), ("other", other))}
    for name, genre in (("bigram_top1", "one"), ("masked_loss", "other"), ("unigram_top1", "other")):
        assert measures[f"{name}:{genre}"] == pytest.approx(alone[genre][name])
    assert measures["bigram_top1"] == pytest.approx((alone["one"]["bigram_top1"] + alone["other"]["bigram_top1"]) / 2)
    assert list(measures)[:2] == ["masked_top1", "masked_loss"], "the mean comes first, in the order of the measures"
    assert alone["one"]["bigram_top1"] != alone["other"]["bigram_top1"]
