"""Search: units of a corpus, vectors that are kept, rankings, and the command."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.finetuning.search import QUESTIONS, Question, answer_ranks, read_questions
from bertlab import BertForSentenceEmbedding, InputError, Tokenizer
from bertlab.cli.main import main
from bertlab.explain.vectors import text_vectors
from bertlab.model.sentences import own_pooling
from bertlab.search import engine, ranking, units
from bertlab.search.cache import cache_folder, cached
from bertlab.search.engine import Search
from bertlab.search.ranking import by_both, by_meaning, ranks
from bertlab.search.units import Unit, read_units
from bertlab.search.vectors import TextEncoder, kept_vectors

TEXT = """A red dog ran to the house.
It was hungry.

# a heading

The man walked to the park with a hat.

one two
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def text(tmp_path) -> Path:
    path = tmp_path / "notes" / "dogs.txt"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


@pytest.fixture
def model(config, tok, tmp_path) -> Path:
    made = BertForSentenceEmbedding(config.changed(vocab_size=tok.vocab_size, max_position_embeddings=32))
    made.save_pretrained(tmp_path / "model", tok)
    return tmp_path / "model"


def run(*arguments) -> int:
    try:
        main(["search", *map(str, arguments)])
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


# Units


def test_paragraphs_are_named_by_file_and_line(text):
    for corpus in (text, text.parent):
        found = read_units([corpus])
        assert [unit.name for unit in found] == [f"{text}:1", f"{text}:4", f"{text}:6"]
        assert found[0].sentence == "A red dog ran to the house."
        assert found[0].text == "A red dog ran to the house. It was hungry."


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    (tmp_path / "a.txt").write_text(
        "A red dog\x0cran to\u2028the house.\n\nIt was hungry, as dogs are in the evening.\n"
    )
    assert [unit.name.rpartition(":")[2] for unit in read_units([tmp_path / "a.txt"])] == ["1", "3"]


def test_functions_are_read_once_until_a_file_changes(tmp_path, monkeypatch):
    library = tmp_path / "library"
    library.mkdir()
    file = library / "mod.py"
    file.write_text('def read(path):\n    """Read a file into a table."""\n')
    monkeypatch.setattr(units, "installed", lambda: [library])
    read, count = units.read_functions, []
    monkeypatch.setattr(units, "read_functions", lambda **options: count.append(1) or read([library]))
    monkeypatch.chdir(tmp_path)
    once, again = read_units(["pydoc"]), read_units(["pydoc"])
    assert once == again and len(count) == 1
    sentence = "Read a file into a table."
    assert once[0] == Unit("mod.read", "(path)", sentence, f"mod read. {sentence}")
    file.write_text('def write(path):\n    """Write a table into a file now."""\n')
    assert read_units(["pydoc"])[0].name == "mod.write" and len(count) == 2


def test_bad_corpora_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "short.txt").write_text("two words\n")
    (tmp_path / "data.csv").write_text("a,b\n")
    for corpus, message in {
        "nowhere": "nowhere",
        "empty": "empty: the folder holds no .txt or .md file",
        "short.txt": "short.txt: holds no paragraph",
        "data.csv": "data.csv: no text",
    }.items():
        with pytest.raises(InputError, match=message):
            read_units([corpus])
    with pytest.raises(InputError, match="name a corpus"):
        read_units([])


# What is kept


def test_damaged_and_stale_results_are_made_again():
    made = []

    def use(key: str) -> bytes:
        return cached("thing", key, lambda: made.append(key) or key.encode() * 50, bytes)

    assert use("a") == use("a") == b"a" * 50 and made == ["a"]
    path = cache_folder() / "thing"
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:-1] + b"x", b"\xff\n" + whole):
        path.write_bytes(damaged)
        assert use("a") == b"a" * 50
    assert use("b") == b"b" * 50 and made == ["a"] * 5 + ["b"]
    assert [file.name for file in cache_folder().iterdir()] == ["thing"]


def test_without_a_folder_to_write_in_nothing_is_kept(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cached("thing", "a", lambda: b"1", bytes) == b"1"


def test_vectors_are_kept_until_model_or_texts_change(model, tok, config, monkeypatch):
    count = []
    encode = TextEncoder.encode
    monkeypatch.setattr(TextEncoder, "encode", lambda *a, **k: count.append(1) or encode(*a, **k))
    texts = ["the red dog", "a man with a hat walked", "the house"]
    encoder = TextEncoder.open(model)
    first, again = (kept_vectors(encoder, model, texts) for _ in range(2))
    assert torch.equal(first, again) and len(count) == 1
    assert torch.allclose(first, encoder.encode(texts), atol=1e-3)
    kept_vectors(encoder, model, [*texts[:2], "a house"])
    assert len(count) == 3  # with that of the line before
    torch.manual_seed(5)
    BertForSentenceEmbedding(encoder.model.config).save_pretrained(model, tok)
    other = kept_vectors(TextEncoder.open(model), model, texts)
    assert len(count) == 4 and not torch.allclose(other, first, atol=1e-2)
    settings = model / "config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"hidden_act": "relu"}))
    kept_vectors(TextEncoder.open(model), model, texts)
    assert len(count) == 5


def test_vectors_do_not_depend_on_their_neighbours(model):
    encoder = TextEncoder.open(model)
    texts = ["the red dog", "a man with a hat walked to the house and the park", "the house"]
    together = encoder.encode(texts)
    assert all(torch.allclose(encoder.encode([t])[0], v, atol=1e-5) for t, v in zip(texts, together, strict=True))
    first = TextEncoder(encoder.model, encoder.tokenizer, pooling="cls").encode(texts)
    assert first.shape == together.shape and not torch.allclose(first, together, atol=1e-2)


@pytest.mark.parametrize("kind", ["cls", "mean"])
def test_a_sentence_encoder_of_others_keeps_its_pooling(model, kind):
    parts = BertForSentenceEmbedding.from_pretrained(model), Tokenizer.from_pretrained(model)
    expected = TextEncoder(*parts, pooling=kind)
    described = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(described | {"architectures": ["BertModel"]}))
    names = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens"}
    (model / "1_Pooling" / "config.json").write_text(json.dumps({name: key == kind for key, name in names.items()}))
    encoder = TextEncoder.open(model)
    assert encoder.pooling == kind
    torch.testing.assert_close(encoder.encode(["the red dog", "a man"]), expected.encode(["the red dog", "a man"]))


def test_a_sentence_encoder_reads_a_text_as_its_files_say(model, tok):
    """Small letters first, and so many tokens."""
    cased = Tokenizer.from_vocab(tok.convert_ids_to_tokens(range(tok.vocab_size)), lowercase=False)
    cased.save_pretrained(model)
    plain = TextEncoder(BertForSentenceEmbedding.from_pretrained(model), cased, max_length=5)
    described = json.loads((model / "sentence_bert_config.json").read_text())
    changed = described | {"do_lower_case": True, "max_seq_length": 5}
    (model / "sentence_bert_config.json").write_text(json.dumps(changed))
    encoder = TextEncoder.open(model)
    assert (encoder.max_length, encoder.lower) == (5, True)
    vectors = encoder.encode(["The Red DOG walked to the house"])
    torch.testing.assert_close(vectors, plain.encode(["the red dog walked to the house"]))
    assert not torch.allclose(vectors, plain.encode(["The Red DOG walked to the house"]), atol=1e-2)
    own = own_pooling(model)
    layers = text_vectors(encoder.model, cased, ["The Red DOG walked to the house"], own)
    torch.testing.assert_close(torch.from_numpy(layers[-1]), vectors)


# Rankings


def test_ranks_begin_at_one():
    assert ranks(np.array([0.5, 2.0, 1.0, 2.0])).tolist() == [4, 1, 3, 2]


def test_both_is_the_share_of_the_best_by_words_plus_three_cosines(model):
    encoder = TextEncoder.open(model)
    texts = ["the red dog", "a man", "the house"]
    both = by_both(lambda question: np.array([2.0, 0.0, 1.0]), encoder, texts)
    assert both("the dog") == pytest.approx(np.array([1, 0, 0.5]) + 3 * encoder.cosines("the dog", texts), abs=1e-6)
    silent = by_both(lambda question: np.zeros(3), encoder, texts)
    assert silent("the dog") == pytest.approx(3 * encoder.cosines("the dog", texts), abs=1e-6)


def test_of_many_texts_the_model_reads_those_that_fit_best_by_words(model, monkeypatch):
    monkeypatch.setattr(ranking, "SHORTLIST", 2)
    encoder, read = TextEncoder.open(model), []
    monkeypatch.setattr(encoder, "cosines", lambda question, texts: read.append(texts) or np.ones(len(texts)))
    fits = np.array([1.0, 0.0, 4.0, 2.0])
    assert by_both(lambda question: fits, encoder, list("abcd"))("?").tolist() == [-2.75, -np.inf, 4.0, 3.5]
    fits = np.array([0.0, 0.0, 4.0, 0.0])
    assert by_both(lambda question: fits, encoder, list("abcd"))("?").tolist() == [-np.inf, -np.inf, 4.0, -np.inf]
    fits = np.zeros(4)
    assert np.isinf(by_both(lambda question: fits, encoder, list("abcd"))("?")).all()
    assert read == [["c", "d"], ["c"]]


def test_cosines_do_not_depend_on_the_length_of_vectors(model):
    encoder = TextEncoder.open(model)
    expected = encoder.cosines("the dog", ["the dog", "a man"])
    encoder.normalise = False
    assert encoder.cosines("the dog", ["the dog", "a man"]) == pytest.approx(expected, abs=1e-5)
    assert expected[0] == pytest.approx(1, abs=1e-5) and expected[1] < 0.999


def test_by_meaning_is_the_cosine(model):
    encoder = TextEncoder.open(model)
    made = encoder.encode(["the dog", "a man"])
    assert by_meaning(encoder, made)("the dog")[0] == pytest.approx(1.0, abs=1e-5)
    encoder.normalise = False  # as in a model without a Normalize module
    longer = encoder.encode(["the dog", "a man"]) * torch.tensor([[1.0], [9.0]])
    cosines = by_meaning(encoder, longer)("the dog")
    assert cosines == pytest.approx(encoder.cosines("the dog", ["the dog", "a man"]), abs=1e-5)


def test_search_returns_units_in_order(model, text, monkeypatch):
    search = Search.open([text], model, "words")
    hits = search.search("the man with a hat", top=2)
    assert hits[0].rank == 1 and hits[0].unit.name == f"{text}:6"
    for way in ("both", "meaning"):  # weights are random
        hits = Search.open([text], model, way).search("dog", top=9)
        assert {hit.unit for hit in hits} == set(search.units)
        assert all(-1.001 <= hit.similarity <= 1.001 for hit in hits)
    with pytest.raises(InputError, match="the question is empty"):
        search.search(" ")
    (model / "config_sentence_transformers.json").write_text('{"similarity_fn_name": "manhattan"}')
    with pytest.raises(InputError, match="similarity_fn_name is 'manhattan'.*choose another model"):
        Search.open([text], model)


# The questions


def test_the_rank_of_the_first_answer():
    some = [Unit(name, "", "", name) for name in ("a.x", "a.y", "a.z")]
    asked = [Question("q", frozenset({"a.z", "a.y"})), Question("r", frozenset({"b"}))]
    assert answer_ranks(asked, some, lambda q: np.array([3.0, 1.0, 2.0])) == [2, 4]


def test_questions_for_settings_and_for_the_measure_are_others():
    tests, dev, more = (read_questions(QUESTIONS.with_name(f"{kind}questions.toml")) for kind in ("", "dev_", "more_"))
    assert all(question.answers for question in [*tests, *dev, *more])
    assert not {question.text for question in tests} & {question.text for question in [*dev, *more]}
    assert not {name for question in tests for name in question.answers if any(name in other.answers for other in more)}


# The command


def test_the_command_prints_rank_similarity_place_and_sentence(model, text, capsys):
    assert run("the red dog", "--corpus", text, "--model", model, "--top", 2) == 0
    first = capsys.readouterr().out.splitlines()
    assert len(first) == 4 and first[0].split()[0] == "1" and f"{text}:1" in first[0]
    assert first[1].strip() == "A red dog ran to the house."
    assert run("the red dog", "--corpus", text, "--model", model, "--top", 1, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["rank"] == 1 and row["name"] == f"{text}:1" and row["sentence"] == "A red dog ran to the house."


def test_words_alone_open_no_model(text, monkeypatch, capsys):
    monkeypatch.setattr(engine.TextEncoder, "open", None)
    assert run("dog", "--corpus", text, "--by", "words") == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 2 and f"{text}:1" in out
    assert run("zebra", "--corpus", text, "--by", "words") == 0
    assert capsys.readouterr().out.strip() == "(nothing has one of these words)"


def test_where_nothing_has_one_of_the_words_it_says_what_needs_none(text, model, monkeypatch, capsys):
    monkeypatch.setattr(ranking, "SHORTLIST", 1)
    assert run("zebra", "--corpus", text, "--model", model) == 0
    assert capsys.readouterr().out.strip() == "(nothing has one of these words; --by meaning needs none)"
    assert run("zebra", "--corpus", text, "--model", model, "--by", "meaning") == 0
    assert f"{text}:1" in capsys.readouterr().out


def test_the_bundled_model_is_the_default(text, model, monkeypatch):
    asked, opened = [], TextEncoder.open(model)
    monkeypatch.setattr(TextEncoder, "open", lambda name: asked.append(name) or opened)
    assert Search.open([text]).encoder is opened and asked == [engine.MODEL]
