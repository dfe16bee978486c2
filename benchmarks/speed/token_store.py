"""How fast text becomes a token store, with one process and with two, beside `datasets.map` with the same tokenizer.

    python benchmarks/speed/token_store.py --copies 10

Tokenizes 5,000 documents of the storyworld, some 280 tokens each, so many times over, given as sentences in memory, to
files on disk. The figure is thousands of tokens in a second of the whole call, the median of the rounds. The call
includes the store's checksums and the start of processes: with few copies a second process gains little. The engine's
own threads are off, so that a process is one core's work; it remembers no words, so that copies take as long as new
text. Where cores are busy with something else, figures tell little. Prints a Markdown table.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # before the engine starts

from bertlab import Tokenizer
from bertlab.corpora import storyworld
from bertlab.inputs.store_writing import write_store

MODEL = "storyworld-tiny"
Documents = list[tuple[str, ...]]


def by_store(folder: Path, documents: Documents, tokenizer: Tokenizer, processes: int) -> None:
    write_store(folder, documents, tokenizer, processes=processes, progress=False)


def by_map(folder: Path, documents: Documents, tokenizer: Tokenizer, processes: int) -> None:
    """The same documents as rows of sentences, to rows of lists of ids, 1000 documents at a time."""
    import datasets  # not above: the store's processes would import it too

    def ids(rows: dict[str, list]) -> dict[str, list]:
        found = iter(tokenizer.encode_batch([sentence for document in rows["sentences"] for sentence in document]))
        return {"ids": [[next(found) for _ in document] for document in rows["sentences"]]}

    datasets.disable_progress_bars()
    rows = datasets.Dataset.from_dict({"sentences": documents})
    workers = processes if processes > 1 else None  # 1 would start a process beside this one
    folder.mkdir()
    cache = str(folder / "ids.arrow")
    rows.map(ids, batched=True, num_proc=workers, remove_columns="sentences", cache_file_name=cache)


def seconds(way: Callable, documents: Documents, tokenizer: Tokenizer, processes: int) -> float:
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        way(Path(place) / "result", documents, tokenizer, processes)
        return time.perf_counter() - start


def measure(documents: Documents, tokenizer: Tokenizer, rounds: int) -> dict[tuple[Callable, int], float]:
    """(way, processes) -> median seconds; the ways take turns in each round."""
    times = {(way, processes): [] for way in (by_store, by_map) for processes in (1, 2)}
    for _ in range(rounds):
        for (way, processes), taken in times.items():
            taken.append(seconds(way, documents, tokenizer, processes))
    return {key: statistics.median(taken) for key, taken in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    documents = [document.sentences for document in storyworld.documents(0, options.documents)]
    tokenizer = Tokenizer.from_pretrained(MODEL)
    tokens = options.copies * sum(len(ids) for document in documents for ids in tokenizer.encode_batch(document))
    times = measure(options.copies * documents, tokenizer, options.rounds)
    print(f"| {tokens / 1e6:,.1f} million tokens, 1,000 tokens/s | 1 process | 2 processes | ratio |")
    print("|---|---|---|---|")
    for way, name in ((by_store, "token store"), (by_map, "`datasets.map`")):
        one, two = times[way, 1], times[way, 2]
        print(f"| {name} | {tokens / one / 1000:,.0f} | {tokens / two / 1000:,.0f} | {one / two:.2f} |")
    print(f"\nOf the store's two processes {seconds(by_store, documents[:2], tokenizer, 2):.1f} s are their start.")


if __name__ == "__main__":
    main()
