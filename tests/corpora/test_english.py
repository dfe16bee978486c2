import shutil
from pathlib import Path

import pytest

from bertlab.corpora.english import GENRES, read_english
from bertlab.corpora.sentences import detokenize
from bertlab.errors import InputError

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="real texts are not beside the clone (../shared/data)")


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("a guest @-@ starring role , 1 @,@ 200 kg ( 2 @.@ 5 lb ) .", "a guest-starring role, 1,200 kg (2.5 lb)."),
        ("I do n't know ; you 're right , are n't you ?", "I don't know; you're right, aren't you?"),
        (
            'Boulter \'s role as " Craig " , in " Teddy \'s Story " .',
            'Boulter\'s role as "Craig", in "Teddy\'s Story".',
        ),
        ('He said , " Is it ? " and left .', 'He said, "Is it?" and left.'),
        ("the players ' union called it ' a farce ' .", "the players' union called it 'a farce'."),
        ("it wasn ’ t “ worth ” lying", "it wasn’t “worth” lying"),
        ("It cost $ 5 , 10 % of 50 . . .", "It cost $5, 10% of 50..."),
        ("from 23 – 38 cm at 21 : 00 – or so", "from 23–38 cm at 21:00 – or so"),
        ("wan na , gon na , can not , ca n't , wo n't", "wanna, gonna, cannot, can't, won't"),
        ("and / or", "and/or"),
        ('Me too .\nAnd you ! "', 'Me too.\nAnd you!"'),
        ("the U.S. in No. 5 ...", "the U.S. in No. 5..."),
        ("'T is well - known -- I said .", "'T is well - known -- I said."),
    ],
)
def test_tokens_become_text(tokens, text):
    assert detokenize(tokens) == text


@pytest.fixture
def folder(tmp_path) -> Path:
    """The three corpora in little."""
    novels, wiki, masc = (tmp_path / name for name in ("litbank_novels", "wikitext2", "masc"))
    for path in (novels, wiki, masc / "written", masc / "spoken"):
        path.mkdir(parents=True)
    (novels / "SOURCE.txt").write_text("No book.")
    (novels / "105_persuasion.txt").write_text("Chapter 1\n\nSir Walter read.")
    (novels / "1_other.txt").write_text("Another book. It ends.")
    (wiki / "test.txt").write_text(
        " \n = Fire = \n \n It burns . A <unk> burns . \n \n = = Uses = = \n \n Heat . \n = Ice = \n \n It melts .\n"
    )
    names = [f"written/{i}.txt jokes" for i in range(20)] + ["spoken/talk.txt telephone", "written/mail.txt email"]
    (masc / "categories.txt").write_text("\n".join(names) + "\n\n")
    for name in names:
        path = masc / name.split()[0]
        path.write_text(f"I_PRP do_VB n't_RB ._. \nbare {path.stem}_CD third_JJ -_- hand_NN\n\n`_`` Yes_UH '_'' ._. \n")
    return tmp_path


def test_every_genre_with_its_own_document_bounds(folder):
    test = list(read_english(folder, "test"))
    assert {d.title: d.sentences for d in test if d.genre == "wikipedia"} == {
        "Wikipedia: Fire": ("It burns.", "Heat."),
        "Wikipedia: Ice": ("It melts.",),
    }
    assert [(d.title, d.sentences) for d in test if d.genre == "novel"] == [
        ("105_persuasion: Chapter 1", ("Sir Walter read.",))
    ]
    (talk,) = (d for d in test if d.genre == "spoken")
    assert talk.title == "telephone: talk"
    assert talk.sentences == ("I don't.", "bare talk third-hand", "` Yes'.")


def test_nothing_is_in_both_splits_and_nothing_is_lost(folder):
    train, test = ([d.title for d in read_english(folder, split)] for split in ("train", "test"))
    assert not set(train) & set(test)
    assert "1_other" in train and "SOURCE" not in train + test
    jokes = sorted(title for title in train + test if title.startswith("jokes"))
    assert jokes == sorted(f"jokes: {i}" for i in range(20))
    assert sum(title.startswith("jokes") for title in test) == 2
    assert not any("mail" in title for title in train + test)


def test_the_split_does_not_depend_on_the_order_of_the_list(folder):
    before = {d.title for d in read_english(folder, "test")}
    path = folder / "masc" / "categories.txt"
    path.write_text("\n".join(reversed(path.read_text().split("\n"))))
    assert {d.title for d in read_english(folder, "test")} == before


def test_the_raw_file_comes_first_and_train_is_optional(folder):
    (folder / "wikitext2" / "test.raw.txt").write_text(" = Fire = \n It burns . A taper burns . \n")
    (folder / "wikitext2" / "valid.txt").write_text(" = Air = \n It blows . \n")
    (folder / "wikitext2" / "train.txt").write_text(" = Water = \n It runs . \n")
    texts = [d.text for d in read_english(folder, "test") if d.genre == "wikipedia"]
    assert texts == ["It burns. A taper burns."]
    assert [d.title for d in read_english(folder) if d.genre == "wikipedia"] == ["Wikipedia: Water", "Wikipedia: Air"]


@pytest.mark.parametrize("missing", ["litbank_novels", "wikitext2", "masc"])
def test_a_missing_corpus_is_named_at_once(folder, missing):
    shutil.rmtree(folder / missing)
    with pytest.raises(InputError, match=f"{missing}: no such folder.*https://"):
        list(read_english(folder))


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("masc/categories.txt", "one two three", "categories.txt, line 1"),
        ("masc/categories.txt", "written/none.txt jokes", "none.txt: No such file"),
        ("litbank_novels/105_persuasion.txt", None, "litbank_novels: holds no held-out book"),
        ("wikitext2/test.txt", None, "test.txt: no such file"),
    ],
)
def test_a_broken_corpus_is_named(folder, path, content, message):
    (folder / path).unlink() if content is None else (folder / path).write_text(content)
    with pytest.raises(InputError, match=message):
        list(read_english(folder, "test"))


def test_an_unknown_split(folder):
    with pytest.raises(InputError, match="split='dev'"):
        list(read_english(folder, "dev"))


@needs_shared
@pytest.mark.nightly
def test_the_real_corpora():
    train, test = list(read_english(SHARED)), list(read_english(SHARED, "test"))
    words = {genre: sum(len(d.text.split()) for d in test if d.genre == genre) for genre in GENRES}
    assert all(count > 20_000 for count in words.values()), words
    assert sum(len(d.text.split()) for d in train) > 3_900_000
    wiki = " ".join(d.text for d in test if d.genre == "wikipedia")
    assert not any(mark in wiki for mark in (" @", "<unk>", " ,", " 's ", "( ", " )"))
    assert not {d.text for d in train} & {d.text for d in test}
