"""What can be wrong with the tensors given to a model, told before an index error deep in an embedding does."""

from torch import Tensor

from bertlab.config import BertConfig
from bertlab.errors import InputError


def check_inputs(
    config: BertConfig,
    input_ids: Tensor,
    attention_mask: Tensor | None,
    token_type_ids: Tensor,
    head_mask: Tensor | None,
) -> None:
    """Say in one line what does not fit."""
    if input_ids.dim() != 2 or input_ids.size(1) == 0:
        raise InputError(f"input_ids must be (batch, tokens) with at least one token, not {tuple(input_ids.shape)}")
    if input_ids.is_floating_point():
        raise InputError(f"input_ids must be whole numbers, not {input_ids.dtype}")
    tokens, most = input_ids.size(1), config.max_position_embeddings
    if tokens > most:
        raise InputError(
            f"the input has {tokens} tokens, this model takes {most} at most: "
            "shorten the text or tokenize with max_length"
        )
    for name, tensor in {"attention_mask": attention_mask, "token_type_ids": token_type_ids}.items():
        if tensor is not None and tensor.shape != input_ids.shape:
            raise InputError(f"{name} is {tuple(tensor.shape)}, input_ids {tuple(input_ids.shape)}")
    wanted = (config.num_hidden_layers, config.num_attention_heads)
    if head_mask is not None and head_mask.shape != wanted:
        raise InputError(f"head_mask must be (layers, heads) = {wanted}, not {tuple(head_mask.shape)}")
    check_range("input_ids", input_ids, config.vocab_size, "vocab_size; are they another tokenizer's?")
    only = "; leave token_type_ids out" if config.type_vocab_size == 1 else ""
    check_range("token_type_ids", token_type_ids, config.type_vocab_size, f"type_vocab_size{only}")


def check_range(name: str, ids: Tensor, limit: int, reason: str) -> None:
    """On the CPU, ids must lie in 0..limit-1."""
    if ids.device.type != "cpu" or ids.numel() == 0:
        return
    low, high = (int(bound) for bound in ids.aminmax())
    if low < 0 or high >= limit:
        wrong = low if low < 0 else high
        raise InputError(f"{name} holds {wrong}, outside 0..{limit - 1} ({reason})")
