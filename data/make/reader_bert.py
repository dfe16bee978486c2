"""Make data/reader_bert: the BERT of a reader who took every solution, trained by chapter 08's own loop.

    python data/make/reader_bert.py FOLDER

FOLDER is where the training keeps its state; called again, it goes on. Ten minutes of two cores.
"""

import os
import shutil
import sys
from pathlib import Path

import torch

from bertlab import BertForPreTraining, Tokenizer
from bertlab.course import keep, own_bert
from bertlab.io.locate import locate

OUT = Path(__file__).parents[1] / own_bert.SAVED


def main() -> None:
    os.environ[keep.FOLDER] = str(Path(sys.argv[1]).absolute())
    if not own_bert.is_done():
        own_bert.train()
    model = BertForPreTraining.from_pretrained(keep.model_folder())
    tokenizer = Tokenizer.from_pretrained(locate(own_bert.MODEL))
    model.save_pretrained(OUT, tokenizer, dtype=torch.float16)
    shutil.copy(own_bert.folder() / "rows.csv", OUT)
    print(f"{OUT}: {own_bert.rows()[-1]}")


if __name__ == "__main__":
    main()
