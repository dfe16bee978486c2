"""The token store: what goes in comes out, whatever happens on the way; and damage is named."""

import json
import random
import subprocess
import sys
import tracemalloc
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab import InputError, Tokenizer
from bertlab.corpora import storyworld
from bertlab.corpora.sentences import split_text
from bertlab.inputs import store, store_writing, tokenizing
from bertlab.inputs.pairs import sentence_pairs
from bertlab.inputs.store import TokenStore
from bertlab.inputs.store_writing import write_store
from bertlab.tokenizer import SPECIAL_TOKENS
from bertlab.training.batches import batches
from bertlab.training.recipes import PretrainRecipe
from tests.conftest import tries

TEXTS = [document.sentences for document in storyworld.documents(0, 40)]
TOK = Tokenizer.train([sentence for document in TEXTS for sentence in document], 300)
FILES = [store.TOKENS, store.SENTENCES, store.DOCUMENTS]
lines = st.text("abA. \n\u200b日", max_size=9)
texts = st.lists(st.lists(lines, max_size=5) | lines, max_size=9)


def write(folder, documents, tok=TOK, **options) -> TokenStore:
    return write_store(folder, documents, tok, progress=False, **options)


def ids(document) -> list[list[int]]:
    sentences = split_text(document) if isinstance(document, str) else document
    return [sentence for sentence in TOK.encode_batch(sentences) if sentence]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def small_chunks(monkeypatch):
    """Every few sentences are tokenized and saved at once."""
    monkeypatch.setattr(tokenizing, "CHUNK_BYTES", 300)
    monkeypatch.setattr(store_writing, "SAVE_SECONDS", 0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("stores") / "whole", TEXTS).folder


@pytest.fixture
def copy(whole, tmp_path) -> Path:
    """A store to damage."""
    folder = tmp_path / "copy"
    folder.mkdir()
    for name, data in content(whole).items():
        (folder / name).write_bytes(data)
    return folder


# What goes in comes out


@tries(60)
@given(texts, st.integers(1, 40))
def test_every_document_comes_back(documents, chunk):
    wanted = [found for document in documents if (found := ids(document))]
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizing, "CHUNK_BYTES", chunk)
        folder = Path(place) / "store"
        if not wanted:
            with pytest.raises(InputError, match="no document holds a token"):
                write(folder, documents)
            assert list(Path(place).iterdir()) == []
            return
        made = write(folder, iter(documents))
        made.header.verify(made.folder)
        assert list(made) == wanted and len(made) == len(wanted)
        header = json.loads((folder / "store.json").read_text())
        assert header["documents"] + header["empty_documents"] == len(documents)
        assert header["sentences"] == sum(map(len, wanted))
        assert header["tokens"] == sum(len(sentence) for document in wanted for sentence in document)
        assert list(Path(place).iterdir()) == [folder]


def test_several_processes_write_the_same(whole, tmp_path, small_chunks):
    assert content(write(tmp_path / "store", TEXTS, processes=2).folder) == content(whole)


def test_a_store_stands_alone(whole):
    alone = TokenStore.open(whole)
    assert alone.tokenizer.vocab == TOK.vocab
    assert list(alone) == [ids(document) for document in TEXTS]


def test_numbers_beyond_16_bits(tmp_path):
    words = [f"w{number}" for number in range(70_000)]
    made = write(tmp_path / "store", [["w0 w69999"]], Tokenizer.from_vocab([*SPECIAL_TOKENS, *words]))
    assert made.header.dtype == "uint32" and made[0] == [[5, 70_004]]


def test_parts_and_places(whole):
    everything, made = [ids(document) for document in TEXTS], TokenStore.open(whole)
    assert made[-1] == everything[-1] and list(made[3:30:4][1:]) == everything[7:30:4]
    assert list(made.part([5, 2])) == [everything[5], everything[2]] and made.part([5, 2])[-1:][0] == everything[2]
    assert list(made.sample(7)) == everything[::6] and len(made.sample(99)) == 40
    with pytest.raises(IndexError):
        made[40]


def test_memory_does_not_grow_with_the_text(tmp_path, monkeypatch):
    monkeypatch.setattr(tokenizing, "CHUNK_BYTES", 5_000)
    peaks = []
    for count in (100, 800):
        tracemalloc.start()
        write(tmp_path / str(count), (["a b c d e f g h " * 10] for _ in range(count)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


# Training takes it in place of a list


def test_pairs_and_batches_are_those_of_the_list(whole):
    made, everything = TokenStore.open(whole), [ids(document) for document in TEXTS]
    one, other = (list(sentence_pairs(documents, 40, random.Random(3))) for documents in (made, everything))
    assert one == other
    recipe = PretrainRecipe(batch_size=8, max_tokens=40)
    for one, other in islice(zip(batches(made, TOK, recipe), batches(everything, TOK, recipe), strict=True), 30):
        assert all((one[name] == other[name]).all() for name in one)


def test_a_large_store_is_read_in_parts(whole, monkeypatch):
    made = TokenStore.open(whole)
    assert [list(part) for part in made.windows(random.Random(0))] == [list(made)]
    monkeypatch.setattr(store, "WINDOW_TOKENS", made.header.tokens // 4)
    monkeypatch.setattr(store, "WINDOW_DOCUMENTS", 5)
    first, second = ([part.numbers.tolist() for part in made.windows(random.Random(seed))] for seed in (0, 1))
    assert [len(part) for part in first] == [10] * 4 and first != second
    assert sorted(sum(first, [])) == list(range(40))
    recipe = PretrainRecipe(batch_size=8, max_tokens=40)
    assert len(list(islice(batches(made[2:], TOK, recipe), 50))) == 50


# A build that is cut off goes on


class Cut(Exception):
    pass


def cut_after(documents, count):
    yield from documents[:count]
    raise Cut


@tries(40)
@given(texts, st.lists(st.integers(0, 9), max_size=3), st.integers(1, 20), st.booleans())
def test_cut_off_anywhere_it_ends_in_the_same_bytes(documents, cuts, chunk, saves):
    documents = [*documents, ["a b"]]
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        place = Path(place)
        wanted = content(write(place / "at once", documents).folder)
        patch.setattr(tokenizing, "CHUNK_BYTES", chunk)
        patch.setattr(store_writing, "SAVE_SECONDS", 0 if saves else 3600)
        for cut in cuts:
            with pytest.raises(Cut):
                write(place / "store", cut_after(documents, cut))
            assert not (place / "store").exists()
        assert content(write(place / "store", documents).folder) == wanted
        assert sorted(path.name for path in place.iterdir()) == ["at once", "store"]


SLOW = """
import sys, time
from bertlab.inputs import store_writing, tokenizing
from tests.inputs.test_store import TEXTS, TOK

def slowly():
    for number, document in enumerate(TEXTS):
        if number == 30:
            print("waiting", flush=True)
            time.sleep(600)
        yield document

if __name__ == "__main__":
    tokenizing.CHUNK_BYTES, store_writing.SAVE_SECONDS = 300, 0
    store_writing.write_store(sys.argv[1], slowly(), TOK, processes=int(sys.argv[2]), progress=False)
"""


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_killed_it_goes_on(processes, whole, tmp_path):
    command = [sys.executable, "-c", SLOW, tmp_path / "store", str(processes)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "waiting\n"
        process.kill()
        assert process.stdout.read() == ""  # comes when no worker, too, holds the pipe any more
    unfinished = tmp_path / ".store.part" / "store"
    assert [path.name for path in tmp_path.iterdir()] == [".store.part"]
    done = json.loads((unfinished / "store.json").read_text())["documents"]
    assert 0 < done <= 30
    with (unfinished / store.TOKENS).open("ab") as file:
        file.write(b"half of a chunk")
    (unfinished / ".store.json.1a2b.part").write_text("half of a header")
    assert content(write(tmp_path / "store", TEXTS).folder) == content(whole)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_it_does_not_go_on_with_something_else(tmp_path, small_chunks):
    with pytest.raises(Cut):
        write(tmp_path / "store", cut_after(TEXTS, 20))
    for other in (TEXTS[1:], TEXTS[:3], [" ".join(document) for document in TEXTS]):
        with pytest.raises(InputError, match="of another text"):
            write(tmp_path / "store", other)
    with pytest.raises(InputError, match="of another vocabulary"):
        write(tmp_path / "store", TEXTS, Tokenizer.from_vocab([*SPECIAL_TOKENS, "a"]))
    (tmp_path / ".store.part" / "store" / store.SENTENCES).write_bytes(b"")
    with pytest.raises(InputError, match=r"sentences.bin: shorter"):
        write(tmp_path / "store", TEXTS)


def test_two_cannot_write_the_same(tmp_path, small_chunks):
    def documents():
        yield from TEXTS[:20]
        with pytest.raises(InputError, match="another process"):
            write(tmp_path / "store", TEXTS)
        yield from TEXTS[20:]

    assert len(write(tmp_path / "store", documents())) == 40
    with pytest.raises(InputError, match="exists already"):
        write(tmp_path / "store", TEXTS)


def test_what_the_disk_lost_is_noticed_at_the_end(tmp_path, small_chunks):
    def documents():
        yield from TEXTS[:20]
        with (tmp_path / ".store.part" / "store" / store.TOKENS).open("r+b") as file:
            file.write(b"\xff\xff")
        yield from TEXTS[20:]

    with pytest.raises(InputError, match=r"\.store\.part.*damaged"):
        write(tmp_path / "store", documents())
    assert not (tmp_path / "store").exists()


# Mistakes and damage


@pytest.mark.parametrize("wrong", [[["a", 5]], [None], [["half \ud800"]], ["half \ud800"]])
@pytest.mark.parametrize("processes", [1, 2])
def test_a_document_that_is_no_text_is_named(wrong, processes, tmp_path):
    with pytest.raises(InputError, match="document 3 is no text"):
        write(tmp_path / "store", [["a"], ["b"], *wrong], processes=processes)
    assert list(tmp_path.iterdir()) == []


def test_no_processes(tmp_path):
    with pytest.raises(InputError, match="processes=0"):
        write(tmp_path / "store", TEXTS, processes=0)


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path / "file" / "store", TEXTS)


@pytest.mark.parametrize("other", [Tokenizer.from_vocab([*SPECIAL_TOKENS, "a"]), None])
def test_another_vocabulary(whole, other):
    other = other or Tokenizer.from_vocab(TOK.convert_ids_to_tokens(range(TOK.vocab_size)), lowercase=False)
    with pytest.raises(InputError, match="another vocabulary"):
        TokenStore.open(whole, other)


@pytest.mark.parametrize("name", [*FILES, "store.json"])
def test_missing_files(copy, name):
    (copy / name).unlink()
    with pytest.raises(InputError, match=name):
        TokenStore.open(copy)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: b""])
def test_files_of_the_wrong_size(copy, name, change):
    (copy / name).write_bytes(change((copy / name).read_bytes()))
    with pytest.raises(InputError, match=f"{name}: has .* bytes, not"):
        TokenStore.open(copy)


def flip(path: Path, place: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 1 << bit
    path.write_bytes(data)


@pytest.mark.parametrize("name", FILES)
def test_flipped_bits_are_found(copy, name):
    rng = random.Random(name)
    intact = (copy / name).read_bytes()
    for _ in range(20):
        (copy / name).write_bytes(intact)
        flip(copy / name, rng.randrange(10**9), rng.randrange(8))
        with pytest.raises(InputError, match=f"{name}: damaged"):
            TokenStore.open(copy).header.verify(copy)


def test_a_damaged_header_is_an_input_error_or_harmless(copy):
    intact = (copy / "store.json").read_bytes()
    for place, bit in ((place, place % 8) for place in range(len(intact))):
        flip(copy / "store.json", place, bit)
        try:
            damaged = TokenStore.open(copy, TOK)
            damaged.header.verify(damaged.folder)
        except InputError as error:
            assert "\n" not in str(error)
        else:  # what was left out, the checksum of the text
            assert list(damaged) == [ids(document) for document in TEXTS]
        (copy / "store.json").write_bytes(intact)


@pytest.mark.parametrize("header", ["", "[]", "{}", "null", '{"version": 1}', '{"version": 2}'])
def test_folders_that_are_no_store(copy, header):
    (copy / "store.json").write_text(header)
    with pytest.raises(InputError, match="store.json"):
        TokenStore.open(copy)


def test_offsets_rise(whole):
    made = TokenStore.open(whole)
    assert all(a < b for offsets in (made._sentences, made._documents) for a, b in pairwise(offsets.tolist()))
