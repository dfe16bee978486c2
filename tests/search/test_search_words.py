"""A search by words: what counts as one word, how much a word counts where, and what comes first among equals."""

import numpy as np
import pytest

from bertlab.corpora.functions import Function
from bertlab.search.ranking import by_words, priors
from bertlab.search.stems import stem, stems
from bertlab.search.units import Unit, function_unit
from bertlab.search.usage import count_users, used_names, users_of
from bertlab.search.words import SYNONYMS, WordCounts, kept_words, synonyms


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_name_counts_most_then_the_first_sentence_then_the_rest_of_the_name():
    unit = Unit("pkg.read_csv", "()", "Parse it.", "pkg read csv. Parse it. Now.", "read csv", "pkg", depth=1)
    words = WordCounts.of([unit.counted])
    assert [words.times(stem(word))[0] for word in ("csv", "parse", "pkg", "now")] == [5, 4, 2, 1]


def test_what_many_packages_import_and_what_lies_less_deep_comes_first():
    def ranked(*units: Unit) -> list[str]:
        scores = by_words(WordCounts.of(["a csv"] * len(units)), priors(units))("csv")
        return [units[number].name for number in np.argsort(-scores)]

    assert ranked(Unit("rare", "", "", "", known=1), Unit("known", "", "", "", known=9)) == ["known", "rare"]
    assert ranked(Unit("rare", "", "", "", used=1), Unit("often", "", "", "", used=9)) == ["often", "rare"]
    assert ranked(Unit("deep", "", "", "", depth=4), Unit("flat", "", "", "", depth=1)) == ["flat", "deep"]


def test_packages_are_known_by_how_many_import_them_and_builtins_best(tmp_path):
    for name, text in {
        "a": b"import lib\nimport lib.more\n",
        "b": b"try:\n    from lib import x\nexcept OSError:\n    import os\n",
        "json.x": b"import lib",
        "json.y": b"import lib",
    }.items():
        (tmp_path / f"{name}.py").write_bytes(text)
    users = count_users([(name, tmp_path / f"{name}.py") for name in ("a", "b", "json.x", "json.y", "gone")])
    assert users == {"lib": 3, "os": 1, "lib.more": 1, "lib.x": 1, "OSError": 1}  # Python itself counts once
    units = [function_unit(Function(name, "()", "Do it."), users) for name in ("lib.x", "os.g", "str.strip", "z.h")]
    assert [(unit.known, unit.used) for unit in units] == [(3, 1), (1, 0), (3, 0), (0, 0)]


def test_what_a_file_uses_has_its_whole_name():
    source = """
import numpy as np
import os.path
from os import (path as p,
    makedirs)
from . import near
def f(x): return near.g(len(np.linalg.norm(x.strip())), p.join, os.sep)
"""
    names = {"numpy.linalg.norm", "os.path.join", "os.makedirs", "os.path", "os.sep", "len", ".strip", "numpy", "os"}
    assert names <= used_names(source)
    assert not {"near.g", "x.strip", "np.linalg.norm", "p.join", "sep"} & used_names(source)


def test_a_method_is_used_no_more_than_its_class():
    users = {"lib.Table": 3, ".head": 7, ".tail": 2, "lib.load": 5, "str": 9}
    names = ("lib.Table.head", "lib.Table.tail", "lib.load", "lib.head", "str.head", "lib.Chair.head")
    assert [users_of(name, users) for name in names] == [3, 2, 5, 0, 7, 0]


@pytest.mark.parametrize(
    "alike",
    [
        ["directory", "directories"],
        ["sort", "sorts", "sorted", "sorting"],
        ["remove", "removes", "removed", "removing"],
        ["run", "running"],
        ["normalise", "normalize", "normalised"],
        ["colours", "color"],
        ["class"],
        ["axis"],
        ["thing"],
        ["string", "strings"],
    ],
)
def test_a_stem_is_that_of_all_its_forms_and_of_no_other_word(alike):
    assert len({stem(word) for word in alike}) == 1
    assert stem(alike[0]) not in {stem(word) for word in ("clas", "axe", "th", "str", "director", "sorry")}


def test_words_are_whole_and_question_words_do_not_count():
    assert by_words(WordCounts.of(["threads", "read it"]))("read").tolist()[0] == 0
    assert stems("How do I find the first of them?") == ["find", "first"]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("москва", "Москва является столицей России."),
        ("北京", "他住在北京市中心。"),
        ("京", "他住在北京市中心。"),
        ("カメラ", "新しいカメラを買った。"),
        ("ประเทศ", "กรุงเทพเป็นเมืองหลวงของประเทศไทย"),
        ("서울", "서울은 한국의 수도이다."),
        ("חיפה", "נמל חיפה הוא גדול."),
        ("मौसम", "आज मौसम अच्छा है।"),
        ("BÄR", "Der Ba\u0308r schläft."),
        ("straße", "Die STRASSE ist lang."),
        ("میخواهم", "من می\u200cخواهم بروم"),
    ],
)
def test_words_of_any_script_are_found(question, text):
    others = ["br and r are two letters", "это другой текст", "天気がいいですね。", "हम घर पर थे", "저는 학생입니다"]
    scores = by_words(WordCounts.of([*others, text]))(question)
    assert scores.argmax() == len(others) and scores[-1] > 0


def test_a_synonym_counts_less_than_the_word_itself_and_no_more_than_once():
    texts = ["delete a folder", "delete a directory", "delete a frog", "a directory dir"]
    plain, ranker = by_words(WordCounts.of(texts)), by_words(WordCounts.of(texts), synonyms=synonyms())
    assert plain("folder")[1] == 0
    folder, directory, frog, twice = ranker("folder")
    assert folder > directory > frog == 0 and twice < folder
    assert ranker("remove a folder").argmax() == 0


def test_synonyms_go_both_ways_and_each_line_has_some():
    found = synonyms()
    assert all(word in found[other] for word, others in found.items() for other in others)
    lines = [line.split() for line in SYNONYMS.read_text().splitlines() if not line.startswith("#")]
    assert all(len({stem(word) for word in line}) == len(line) > 1 for line in lines)


def test_texts_without_words_have_no_counts():
    words = kept_words(["the", "of"])
    assert not by_words(words)("the frog").any() and not by_words(kept_words(["the", "of"]))("frog").any()


def test_counts_are_kept_until_the_texts_change(monkeypatch):
    made, of = [], WordCounts.of
    monkeypatch.setattr(WordCounts, "of", lambda *given: made.append(1) or of(*given))
    once, again = (kept_words(["a red dog", "dogs and a man"]) for _ in range(2))
    assert len(made) == 1 and once.vocabulary == again.vocabulary
    assert (once.counts != again.counts).nnz == 0 and again.times("dog").tolist() == [1, 1]
    assert kept_words(["a red dog", "frogs"]).times("dog").tolist() == [1, 0] and len(made) == 2
