"""How fast a fine-tuned model predicts, beside transformers' pipelines and ONNX Runtime with the same weights.

    python benchmarks/speed/predict.py                                # sentences of the storyworld
    python benchmarks/speed/predict.py --data FOLDER --sizes mini     # FOLDER/sentence_polarity: MR, Pang and Lee 2005
    python benchmarks/speed/predict.py --task token                   # a label for each word

The weights are random, their vocabulary that of english-scratch; all contestants open the same folder and compute in
float32. "bertlab" is `task.predict`. "pipeline" is the transformers pipeline with batch_size=32 on the texts as they
come, "pipeline, sorted" on the texts by number of words. ONNX Runtime runs transformers' model as torch.onnx exports
it, on bertlab's tokens in batches of 32 by length; it takes part if onnx and onnxruntime are installed, for texts only.

Every figure comes from a process of its own; the contestants take turns in each round. Timed is everything from the
texts to the labels, tokenizing included, after 64 texts to warm up. The ratio to "pipeline" is the median over the
rounds, in brackets the least and the greatest. MB is the peak memory of the process, with program and weights (on
Linux only). A base model gets a tenth of the texts. The benchmark stops if any contestant gives another label than
bertlab to more than one text in a thousand (nearly equal logits may round differently). Prints a Markdown table.
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import torch

from benchmarks.speed.memory import memory
from benchmarks.tables import head, line
from bertlab import BertConfig, BertForSequenceClassification, BertForTokenClassification, Tokenizer
from bertlab.corpora import storyworld
from bertlab.corpora.examples import TextExample, TokenExample
from bertlab.corpora.reading import open_text
from bertlab.tasks.registry import open_task
from bertlab.tasks.token import words_of

HEADS = {"text": BertForSequenceClassification, "token": BertForTokenClassification}
NAMES = {0: "O", 1: "B-a", 2: "I-a", 3: "B-b"}
ROWS, WARM, FEWER = 32, 64, {"base": 10}
HEAD = ("task", "size", "", "texts/s", "times as fast as the pipeline", "MB")
Predictor = Callable[[list[str]], list]  # labels of texts, in their order


def bertlab(folder: str, task: str) -> Predictor:
    model, reader = open_task(folder)
    if task == "text":
        return lambda texts: [found.label for found in reader.predict(model, (TextExample("", text) for text in texts))]
    return lambda texts: [
        list(found.labels) for found in reader.predict(model, (TokenExample("", tuple(text.split())) for text in texts))
    ]


def pipeline(folder: str, task: str) -> Predictor:
    import transformers

    transformers.utils.logging.set_verbosity_error()
    if task == "text":
        pipe = transformers.pipeline("text-classification", folder, device="cpu", dtype=torch.float32)
        return lambda texts: [found["label"] for found in pipe(texts, batch_size=ROWS, truncation=True)]
    pipe = transformers.pipeline("token-classification", folder, device="cpu", dtype=torch.float32, ignore_labels=[])
    return lambda texts: [
        [piece["entity"] for piece in found if not piece["word"].startswith("##")]
        for found in pipe(texts, batch_size=ROWS)
    ]


def sorted_pipeline(folder: str, task: str) -> Predictor:
    pipe = pipeline(folder, task)

    def predict(texts: list[str]) -> list:
        order = sorted(range(len(texts)), key=lambda number: len(texts[number].split()))
        return in_order(order, pipe([texts[number] for number in order]))

    return predict


def onnx(folder: str, _: str) -> Predictor:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_pretrained(folder)

    def predict(texts: list[str]) -> list[str]:
        rows = [tokenizer.fitted([encoding], None)[0] for encoding in tokenizer.encodings(texts, offsets=False)]
        order = sorted(range(len(rows)), key=lambda number: len(rows[number].ids))
        labels = []
        for first in range(0, len(order), ROWS):
            batch = tokenizer.batch([rows[number] for number in order[first : first + ROWS]])
            (logits,) = session.run(None, {name: tensor.numpy() for name, tensor in batch.items()})
            labels += [NAMES[number] for number in logits.argmax(-1).tolist()]
        return in_order(order, labels)

    return predict


def in_order(order: Sequence[int], found: Sequence) -> list:
    """Put `found[i]` at position `order[i]`."""
    return [label for _, label in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])]


CONTESTANTS = {"pipeline": pipeline, "pipeline, sorted": sorted_pipeline, "ONNX Runtime": onnx, "bertlab": bertlab}


def export(folder: str) -> None:
    """Write model.onnx beside the weights; any number of rows of any length may be given to it."""
    import transformers

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = transformers.BertForSequenceClassification.from_pretrained(folder)

        def forward(self, input_ids, token_type_ids, attention_mask):
            return self.model(input_ids, attention_mask, token_type_ids).logits

    batch = Tokenizer.from_pretrained(folder)(["a dog", "a dog and a cat"])
    axes = torch.export.Dim.DYNAMIC
    shapes = {name: {0: axes, 1: axes} for name in batch}
    names = {"input_names": [*batch], "output_names": ["logits"], "dynamic_shapes": shapes}
    torch.onnx.export(
        Logits().eval(), tuple(batch.values()), f"{folder}/model.onnx", dynamo=True, verbose=False, **names
    )


def one(name: str, folder: str, task: str) -> dict:
    """What a process of its own measures: seconds, peak MB, labels."""
    texts = json.loads(Path(folder, "texts.json").read_text())
    predict = CONTESTANTS[name](folder, task)
    predict(texts[:WARM])
    start = time.perf_counter()
    labels = predict(texts)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "MB": memory("VmHWM"), "labels": labels}


def in_a_process(*arguments: str) -> str:
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def prepare(folder: str, size: str, task: str, texts: Sequence[str]) -> None:
    """The folder that all open: weights, vocabulary, texts split at their words."""
    torch.manual_seed(0)
    tokenizer = Tokenizer.from_pretrained("english-scratch")
    config = BertConfig.from_size(size, vocab_size=tokenizer.vocab_size, id2label=NAMES)
    model = HEADS[task](config).eval()
    with torch.inference_mode():  # no label is likelier than the others, or all texts might get the same one
        logits = model(**tokenizer(list(texts[:WARM]))).logits
        model.classifier.bias -= logits.flatten(0, -2).mean(0)  # (N,)
    model.save_pretrained(folder, tokenizer)
    split = [" ".join(text[start:end] for start, end in words_of(text, tokenizer)) for text in texts]
    Path(folder, "texts.json").write_text(json.dumps(split))


def read_texts(data: Path | None, count: int) -> list[str]:
    """Sentences of MR, or one to eight sentences each of the storyworld; in random order, again from the first when
    there are too few."""
    if data is None:
        stories = storyworld.documents(0, min(count, 2000))
        texts = [" ".join(story.sentences[: 1 + number % 8]) for number, story in enumerate(stories)]
    else:
        texts = []
        for label in ("neg", "pos"):
            with open_text(data / "sentence_polarity" / f"rt-polarity.{label}") as file:
                texts += [text.strip() for text in file]
    random.Random(0).shuffle(texts)
    return [texts[number % len(texts)] for number in range(count)]


def compare(size: str, task: str, texts: Sequence[str], rounds: int) -> list[str]:
    """Lines of the table."""
    names = [name for name in CONTESTANTS if name != "ONNX Runtime" or (task == "text" and has_onnx())]
    runs: dict[str, list[dict]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder, size, task, texts)
        if "ONNX Runtime" in names:
            in_a_process("--export", folder)
        for _ in range(rounds):
            for name in names:
                runs[name].append(json.loads(in_a_process("--one", name, folder, task).splitlines()[-1]))
    for name in names:
        check_alike(name, runs[name][0]["labels"], runs["bertlab"][0]["labels"])
    return [row(task, size, name, found, runs["pipeline"], len(texts)) for name, found in runs.items()]


def has_onnx() -> bool:
    return all(find_spec(package) for package in ("onnx", "onnxruntime", "onnxscript"))


def check_alike(name: str, labels: Sequence, ours: Sequence) -> None:
    differ = sum(a != b for a, b in zip(labels, ours, strict=True))
    if differ > len(ours) / 1000 or len({str(label) for label in ours}) == 1:
        raise SystemExit(f"{name} gives {differ} of {len(ours)} texts another label than bertlab")


def row(task: str, size: str, name: str, found: Sequence[dict], others: Sequence[dict], count: int) -> str:
    speed = count / statistics.median(run["seconds"] for run in found)
    ratios = [other["seconds"] / own["seconds"] for other, own in zip(others, found, strict=True)]
    spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    peak = statistics.median(run["MB"] for run in found)
    shown = "-" if math.isnan(peak) else f"{peak:,.0f}"
    return line([task, size, name, f"{speed:,.0f}", "" if found is others else spread, shown])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--task", choices=HEADS, default="text")
    parser.add_argument("--sizes", nargs="+", default=["mini", "base"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=3, metavar=("NAME", "FOLDER", "TASK"), help=argparse.SUPPRESS)
    parser.add_argument("--export", metavar="FOLDER", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    os.environ["HF_HUB_OFFLINE"] = "1"
    if options.export:
        export(options.export)
    elif options.one:
        print(json.dumps(one(*options.one)))
    else:
        print(head(HEAD))
        for size in options.sizes:
            texts = read_texts(options.data, options.texts // FEWER.get(size, 1))
            print(*compare(size, options.task, texts, options.rounds), sep="\n", flush=True)
        print(f"\n{torch.get_num_threads()} threads, torch {torch.__version__}")


if __name__ == "__main__":
    main()
