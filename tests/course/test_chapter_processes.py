"""A function of a chapter runs in several processes, which exchange tensors."""

import torch
import torch.distributed as dist

from bertlab import BertConfig
from bertlab.course import keep
from bertlab.course.processes import on_processes


def sums(rank, processes, model, batch):
    """A sum over all processes, and what each of them was given."""
    number = torch.tensor([10.0**rank])
    dist.all_reduce(number)
    return number.item(), rank, processes, next(model.parameters()).sum().item(), batch["input_ids"].tolist()


def test_each_process_has_the_model_and_the_sum_of_all(tmp_path, monkeypatch):
    monkeypatch.setenv(keep.FOLDER, str(tmp_path))
    module, _ = keep.load("BertForPreTraining", "Config")
    small = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    model = module.BertForPreTraining(module.Config(**{name: getattr(small, name) for name in vars(module.Config())}))
    found = on_processes(2, sums, model, {"input_ids": torch.arange(3)})
    first = next(model.parameters()).sum().item()
    assert found == [(11.0, rank, 2, first, [0, 1, 2]) for rank in range(2)]
