"""The BERT in JavaScript computes what bertlab computes: with the SIMD kernel and without."""

import base64
import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from bertlab import BertForMaskedLM, Tokenizer
from bertlab.explain.words.lens import layer_log_probabilities
from bertlab.io.locate import bundled_models
from web.build import MODELS
from web.int8 import quantized
from web.weights import opened, published

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.browser
OURS = [name for name in MODELS if name in bundled_models()]
# The kernel with the best model, plain JavaScript, which takes several times as long, with the quickest; so 8 bits.
ENGINES = pytest.mark.parametrize(
    ("kernel", "name", "bits"),
    [("product.wasm", OURS[0], 16), ("product.wasm", OURS[-1], 8), (None, OURS[-1], 16)],
    ids=["simd", "8 bits", "plain"],
)

# On window: `model`, opened with the kernel or (null) in plain JavaScript.
OPEN = """async ([name, kernel, bits]) => {
  const { Model, engines } = await import("/live/js/model.js");
  const read = async (file) => (await fetch(`/live/models/${name}-${bits}/${file}`)).arrayBuffer();
  const text = async (file) => new TextDecoder().decode(await read(file));
  const config = JSON.parse(await text("config.json"));
  const code = kernel ? await (await fetch("/live/js/" + kernel)).arrayBuffer() : new ArrayBuffer(0);
  window.model = new Model({
    config, vocabulary: await text("vocab.txt"), options: JSON.parse(await text("tokenizer_config.json")),
    weights: await read("model.safetensors"),
  }, await engines(config, code));
  const { plain } = await import("/live/js/product.js");
  return model.bert.product === plain.product;
}"""
# Of each text: its ids, the first five guesses at each [MASK] and all attentions, float32 in base64.
ANSWER = """async (texts) => {
  const { likeliest } = await import("/live/js/bert.js");
  return texts.map((text) => {
    const { ids } = model.tokenizer.encode(text, 128), { states, attentions } = model.bert.forward(ids);
    const masked = ids.flatMap((id, position) => id === model.tokenizer.mask ? [position] : []);
    const best = model.bert.guesses(states.at(-1), masked).map((p) => likeliest(p, 5).map(({ id }) => id));
    const bytes = attentions.flatMap((head) => Array.from(new Uint8Array(head.buffer)));
    return { ids, best, attentions: btoa(bytes.map((byte) => String.fromCharCode(byte)).join("")) };
  });
}"""
ODD = [
    "Café déjà-vu: naïve [MASK]!",
    "I've got 3.14 [MASK], haven't I?",
    "一二\U0002b820\U0002b821 [MASK] x",
    "the [MASK] sat on the [MASK]",
    "\u00a0Soft\u00adhyphen zero\u200bwidth [MASK] \u2014 dash\u2026 to\vge\fth\x85er un\u0378known",
    "😀 emoji [MASK] İstanbul ǅ ﬁ ß",
    "supercalifragilisticexpialidocious [MASK] <b>&amp; $5 a^b ~`",
    "[SEP] typed [CLS] as they [UNK] stand [MASK][MASK]",
    "x" * 101 + " [MASK]",
    "[MASK]",
]

FEW = slice(20, 40)  # of the texts: five gaps, all odd ones, five opinions


def texts() -> list[str]:
    """60 texts with [MASK]: gaps and opinions of people, and odd ones."""
    rows = list(csv.DictReader((ROOT / "data" / "english" / "gaps.csv").open(encoding="utf-8")))
    found = [row["text"] for row in rows] + ODD
    for number, row in enumerate(csv.DictReader((ROOT / "data" / "english" / "opinions.csv").open(encoding="utf-8"))):
        words = row["text"].split()[: 6 + number % 10]
        words[number % len(words)] = "[MASK]"
        found.append(" ".join(words))
    return found[:60]


@cache
def reference(name, bits) -> tuple[BertForMaskedLM, Tokenizer]:
    """The same model in bertlab: as it is bundled, or with weights that were rounded to 8 bits."""
    model = opened(name, quantized(published(name))) if bits == 8 else BertForMaskedLM.from_pretrained(name).eval()
    return model, Tokenizer.from_pretrained(name)


def expected(some, name, bits):
    """Of each of some texts: ids (S,), probabilities (M, V) at its masked positions, attentions (L, A, S, S)."""
    model, tok = reference(name, bits)
    for text in some:
        batch = tok([text])
        with torch.inference_mode():
            out = model(**batch, output_attentions=True)
        masked = batch["input_ids"][0] == tok.mask_token_id
        probabilities = out.logits[0, masked].softmax(-1)
        yield batch["input_ids"][0].tolist(), probabilities, torch.cat(out.attentions).numpy()


@pytest.fixture
def engine(tab, site):
    def start(kernel, name, bits=16):
        tab.goto(f"{site}/live/site.json")  # an empty page of the site
        assert tab.evaluate(OPEN, [name, kernel, bits]) is (kernel is None)
        return tab

    return start


@ENGINES
def test_texts_get_the_answers_of_bertlab(engine, kernel, name, bits):
    assert len(texts()) == 60
    asked = texts() if kernel and bits == 16 else texts()[FEW]
    assert_answers(engine(kernel, name, bits), asked, name, bits)


def assert_answers(window, some, name, bits):
    answers = window.evaluate(ANSWER, some)
    for text, answer, (ids, probabilities, attentions) in zip(some, answers, expected(some, name, bits), strict=True):
        assert answer["ids"] == ids, text
        for best, row in zip(answer["best"], probabilities, strict=True):
            # the same five; two that are likely alike to 1e-6 may change places
            assert torch.allclose(row[best], row.topk(5).values, rtol=0, atol=1e-6), text
        heads = np.frombuffer(base64.b64decode(answer["attentions"]), dtype=np.float32)
        assert np.abs(heads - attentions.ravel()).max() < 1e-4, text


@ENGINES
def test_heads_switched_off_and_guesses_after_each_layer(engine, kernel, name, bits):
    model, tok = reference(name, bits)
    text = "She poured a cup of [MASK] and sat down."
    batch = tok([text])
    position = batch["input_ids"][0].tolist().index(tok.mask_token_id)
    shape = model.config.num_hidden_layers, model.config.num_attention_heads
    mask = torch.ones(shape)
    mask[1, 2] = mask[3, 0] = 0
    with torch.inference_mode():
        without = model(**batch, head_mask=mask).logits[0, position].softmax(-1)
    layers = layer_log_probabilities(model, tok, batch, position).exp()  # (L+1, V)
    ask = "(run) => model.answer(run).fills[0]"
    page = engine(kernel, name, bits)
    for token, p in page.evaluate(ask, {"text": text, "off": ["1-2", "3-0"]})["known"][:50]:
        assert abs(p - without[tok.vocab[token]]) < 1e-5
    for row, guesses in zip(layers, page.evaluate(ask, {"text": text, "layers": True})["layers"], strict=True):
        assert [p for _, p in guesses] == pytest.approx(row.topk(3).values.tolist(), abs=1e-5)


def test_the_control_has_random_weights_and_is_the_same_each_time(engine):
    page = engine("product.wasm", "storyworld-tiny")
    ask = "(random) => model.answer({ text: 'the dog is [MASK].', random }).fills[0].known.slice(0, 5)"
    control, trained = page.evaluate(ask, True), page.evaluate(ask, False)
    assert control == page.evaluate(ask, True) and control != trained
    assert control[0][1] < 0.01 < trained[0][1]
    deviation = page.evaluate(
        """() => {
          const x = model.random.weights["bert.embeddings.word_embeddings.weight"];
          return Math.sqrt(x.reduce((sum, value) => sum + value * value / x.length, 0));
        }"""
    )
    assert deviation == pytest.approx(page.evaluate("model.config.initializer_range"), rel=0.02)


def test_the_kernel_is_the_one_whose_source_stands_beside_it():
    wasmtime = pytest.importorskip("wasmtime", reason="the extra site is not installed")
    folder = ROOT / "web" / "live" / "js"
    compiled = wasmtime.wat2wasm((folder / "product.wat").read_text(encoding="utf-8"))
    assert (folder / "product.wasm").read_bytes() == bytes(compiled), "compile product.wat again: see CONTRIBUTING.md"


@pytest.mark.parametrize("sizes", [(1, 8, 5), (2, 4, 4), (5, 12, 30), (3, 16, 2)])
def test_the_kernel_takes_any_number_of_rows_and_outputs(tab, site, sizes):
    """30,522 words are no multiple of four, which the kernel computes at a time."""
    tab.goto(f"{site}/live/site.json")
    difference = tab.evaluate(
        """async ([S, K, N]) => {
          const { simd, plain } = await import("/live/js/product.js");
          const engine = simd(await WebAssembly.compileStreaming(fetch("/live/js/product.wasm")));
          const some = (n, step) => Float32Array.from({ length: n }, (_, i) => Math.sin(1 + i * step));
          const place = engine.room([[N, K], [N]]), w = place([N, K]), b = place([N]), x = some(S * K, 0.7);
          w.set(some(N * K, 1.3)); b.set(some(N, 2.1));
          const ours = engine.product(x, S, K, w, b, N), theirs = plain.product(x, S, K, w, b, N);
          return Math.max(...ours.map((value, i) => Math.abs(value - theirs[i])), ours.length === S * N ? 0 : 1);
        }""",
        list(sizes),
    )
    assert difference < 1e-5
