"""Vectors of a file's texts: in its order, whatever their length."""

import json

import numpy as np
import pytest
import torch
from pyarrow.parquet import read_table

from bertlab import BertModel, InputError, Tokenizer
from bertlab.cli.main import main
from bertlab.deploy import embed
from bertlab.model import BertForSentenceEmbedding

TEXTS = [
    "Ruth cut the leeks and washed the rice before the guests came.",
    "Rain.",
    "Mark met Rose.",
    "Ruth is tired now.",
]
MODEL = "storyworld-tiny"


def states(text: str) -> torch.Tensor:
    with torch.inference_mode():
        return BertModel.from_pretrained(MODEL)(**Tokenizer.from_pretrained(MODEL)(text)).last_hidden_state[0]  # (S, H)


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n")
    return path


POOLED = {"mean": lambda x: x.mean(0), "cls": lambda x: x[0], "max": lambda x: x.amax(0)}


@pytest.mark.parametrize("pooling", POOLED)
def test_a_vector_a_line(pooling, lines, tmp_path, monkeypatch):
    monkeypatch.setattr(embed, "CHUNK", 3)  # written in two parts
    out = tmp_path / "v.npy"
    main(["embed", str(lines), "--out", str(out), "--model", MODEL, "--pooling", pooling])
    expected = np.stack([POOLED[pooling](states(text)) for text in TEXTS])
    found = np.load(out)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_column_of_a_table_as_parquet(tmp_path, capsys):
    table, out = tmp_path / "t.csv", tmp_path / "v.parquet"
    table.write_text("id,review\n" + "".join(f'{n},"{text}"\n' for n, text in enumerate(TEXTS)))
    main(["embed", str(table), "--out", str(out), "--model", MODEL, "--text-column", "review", "--normalise"])
    assert f"wrote 4 vectors of 128 numbers to {out}" in capsys.readouterr().err
    found = read_table(out).to_pydict()
    assert found["text"] == TEXTS
    expected = np.stack([states(text).mean(0) for text in TEXTS])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found["vector"], expected, atol=1e-5)


def test_a_sentence_encoder_pools_as_its_files_say(lines, tmp_path):
    model = BertForSentenceEmbedding.from_pretrained(MODEL)
    model.save_pretrained(tmp_path / "encoder")
    Tokenizer.from_pretrained(MODEL).save_pretrained(tmp_path / "encoder")
    pooling = tmp_path / "encoder" / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    main(["embed", str(lines), "--out", str(tmp_path / "v.npy"), "--model", str(tmp_path / "encoder")])
    expected = np.stack([states(text)[0] for text in TEXTS])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), expected, atol=1e-5)


def test_the_column_of_a_published_set_is_found(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("idx,premise,hypothesis\n" + "".join(f'{n},"{text}",x\n' for n, text in enumerate(TEXTS)))
    main(["embed", str(table), "--out", str(tmp_path / "v.npy"), "--model", MODEL])
    np.testing.assert_allclose(np.load(tmp_path / "v.npy")[1], states(TEXTS[1]).mean(0), atol=1e-5)


BAD = {
    "an empty line": ("a\n\nb\n", "v.npy", "line 2: is empty"),
    "no text": ("\n", "v.npy", "holds no text"),
    "another ending": ("a\n", "v.txt", ".npy or .parquet"),
}


@pytest.mark.parametrize("name", ["lines", "lines.text", "lines.TXT"])
def test_no_vector_moves_up_whatever_the_file_is_called(name, tmp_path):
    (tmp_path / name).write_text("Ruth ran.\n\nMark slept.\n")
    with pytest.raises(InputError, match=f"{name}, line 2: is empty"):
        list(embed.read_texts(tmp_path / name, None, "utf-8"))
    (tmp_path / name).write_text("Ruth ran.\nMark slept.\n\n")
    assert list(embed.read_texts(tmp_path / name, None, "utf-8")) == ["Ruth ran.", "Mark slept."]


def test_a_number_before_a_text_belongs_to_it(tmp_path):
    lines = ["1 dog ran.", "1 dog slept.", "2 dogs ran.", "2 dogs slept."]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    assert list(embed.read_texts(tmp_path / "a.txt", None, "utf-8")) == lines


def test_a_first_line_that_is_a_usual_name_is_a_text_of_a_text_file(tmp_path):
    lines = ["question", "review", "text"]
    for name, texts in {"a.txt": lines, "a.csv": lines[1:], "a.TXT": lines}.items():
        (tmp_path / name).write_text("\n".join(lines))
        assert list(embed.read_texts(tmp_path / name, None, "utf-8")) == texts
    assert list(embed.read_texts(tmp_path / "a.txt", "question", "utf-8")) == lines[1:]


@pytest.mark.parametrize("name", BAD)
def test_bad_input_leaves_no_file(name, tmp_path, capsys):
    content, out, part = BAD[name]
    (tmp_path / "in.txt").write_text(content)
    with pytest.raises(SystemExit) as stopped:
        main(["embed", str(tmp_path / "in.txt"), "--out", str(tmp_path / out), "--model", MODEL])
    assert stopped.value.code == 2 and part in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_texts_that_are_cut_are_counted(lines, tmp_path, capsys):
    with open(lines, "a") as file:
        file.write("Ruth cut the leeks. " * 100 + "\n")
    main(["embed", str(lines), "--out", str(tmp_path / "v.npy"), "--model", MODEL])
    assert "1 of 5 inputs are cut at 128 tokens" in capsys.readouterr().err
    main(["embed", str(lines), "--out", str(tmp_path / "v.npy"), "--model", MODEL, "--max-length", "8"])
    assert "2 of 5 inputs are cut at 8 tokens" in capsys.readouterr().err
