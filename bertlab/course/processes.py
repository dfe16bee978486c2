"""Run a function of a chapter in several processes that exchange tensors (chapter 17)."""

import importlib
import inspect
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.course import keep


def on_processes(count: int, work: Callable, model: nn.Module, batch: Mapping[str, Tensor]) -> list[Any]:
    """Return what `work(rank, count, model, batch)` gives in each of `count` new processes, by rank.

    A new process knows nothing of the notebook. It gets the source of `work`, which may use torch, F and
    torch.distributed as dist, a copy of the model, a BertForPreTraining of my_bert.py, and the batch.
    """
    with tempfile.TemporaryDirectory() as folder:
        given = {"config": dict(vars(model.config)), "weights": model.state_dict(), "batch": dict(batch)}
        torch.save(given, f"{folder}/given.pt")
        sent = count, work.__name__, inspect.getsource(work), folder, str(keep.file().resolve().parent)
        torch.multiprocessing.spawn(_process, sent, nprocs=count)
        return [torch.load(f"{folder}/{rank}.pt") for rank in range(count)]


def _process(rank: int, count: int, name: str, source: str, folder: str, my_bert_folder: str) -> None:
    """Do the work of one process and save what it gives; the processes meet through a file and talk by gloo."""
    sys.path.insert(0, my_bert_folder)
    my_bert = importlib.import_module("my_bert")
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/meeting", count)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=count)
    given = torch.load(f"{folder}/given.pt")
    model = my_bert.BertForPreTraining(my_bert.Config(**given["config"]))
    model.load_state_dict(given["weights"])
    known: dict[str, Any] = {"torch": torch, "dist": dist, "F": F}
    exec(source, known)
    torch.save(known[name](rank, count, model, given["batch"]), f"{folder}/{rank}.pt")
    dist.destroy_process_group()
