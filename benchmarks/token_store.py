"""How fast text becomes a token store, with one process and with two, beside `datasets.map` with the same tokenizer.

    python benchmarks/token_store.py --documents 100000

Tokenizes documents of the storyworld, given as sentences in memory, to files on disk. Every way takes one turn in
each round; the figure is the median over the rounds, of thousands of tokens in a second of the whole call. That
includes the start of processes, some seconds (so take enough documents), and the store's checksums. The engine's own
threads are off, so that a process is one core's work. Where cores are busy with something else, figures tell little.
Prints a Markdown table.
"""

import argparse
import os
import statistics
import tempfile
import time
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


def measure(count: int, rounds: int) -> dict[tuple[str, int], float]:
    """(way, processes) -> median tokens in a second."""
    documents = [document.sentences for document in storyworld.documents(0, count)]
    tokenizer = Tokenizer.from_pretrained(MODEL)
    tokens = sum(len(ids) for document in documents for ids in tokenizer.encode_batch(document))
    times = {(way, processes): [] for way in (by_store, by_map) for processes in (1, 2)}
    for _ in range(rounds):
        for (way, processes), taken in times.items():
            with tempfile.TemporaryDirectory() as place:
                start = time.perf_counter()
                way(Path(place) / "result", documents, tokenizer, processes)
                taken.append(time.perf_counter() - start)
    return {(way.__name__, processes): tokens / statistics.median(taken) for (way, processes), taken in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000, help="of the storyworld, some 280 tokens each")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    speed = measure(options.documents, options.rounds)
    print(f"| {options.documents:,} documents, 1,000 tokens/s | 1 process | 2 processes | ratio |")
    print("|---|---|---|---|")
    for way, name in (("by_store", "token store"), ("by_map", "`datasets.map`")):
        one, two = speed[way, 1], speed[way, 2]
        print(f"| {name} | {one / 1000:,.0f} | {two / 1000:,.0f} | {two / one:.2f} |")


if __name__ == "__main__":
    main()
