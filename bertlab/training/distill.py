"""Distillation: a student learns what a trained BERT, its teacher, thinks of the masked words (Sanh et al. 2019,
"DistilBERT", after Hinton et al. 2015).

The loss of a step is a weighted sum of three:
- soft: the Kullback-Leibler divergence of the student's probabilities from the teacher's, both at a temperature T,
  times T**2, so that its gradient is as large at every T (Hinton et al., section 2);
- masked: that of the masked words;
- states: 1 - cosine of the last hidden states of both, the mean over tokens.

Sanh et al. compare the probabilities at all tokens; here they are compared at the masked positions, which takes a
fraction of the time.

Shapes: B texts, S tokens, H hidden size, V vocabulary, M masked positions.
"""

import re
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.config import IGNORED, BertConfig
from bertlab.errors import InputError
from bertlab.model import BertForPreTraining
from bertlab.tokenizer import Tokenizer
from bertlab.training.batches import Documents
from bertlab.training.engine.micro_batches import WHOLE, Batch, Shares
from bertlab.training.engine.throughput import pretraining_operations
from bertlab.training.initial_weights import new_model
from bertlab.training.objective import Objective
from bertlab.training.recipes import Distillation, PretrainRecipe

FORWARD = 1 / 3  # of the operations of a step: the teacher takes no gradient


def distillation(recipe: PretrainRecipe, tokenizer: Tokenizer) -> Objective:
    """Return what a student of `recipe.teacher` learns.

    InputError: the teacher has another vocabulary, reads left to right, has no head for masked words, or another width
    than the student, whose states are to be like its own.
    """
    advice = "a teacher is a pretrained model"
    if BertConfig.from_pretrained(recipe.teacher).is_decoder:
        raise InputError(f"teacher {recipe.teacher} predicts the next word, not the hidden one: {advice} of both sides")
    teacher = BertForPreTraining.trained(recipe.teacher, optional=("pooler", "nsp"), advice=advice)
    if Tokenizer.from_pretrained(recipe.teacher).vocab != tokenizer.vocab:
        raise InputError(
            f"teacher {recipe.teacher} has another vocabulary than the text: give --vocab {recipe.teacher}"
        )
    width = teacher.config.hidden_size
    if recipe.distillation.states and recipe.hidden_size != width:
        raise InputError(f"hidden_size={recipe.hidden_size}: the teacher has {width}; or set distillation.states=0")
    teacher.requires_grad_(False)
    return Objective(
        partial(new_student, teacher=teacher),
        partial(distillation_loss, teacher=teacher, how=recipe.distillation),
        partial(distillation_operations, teacher=teacher.config),
        with_tokens,
        saved=True,
    )


def new_student(
    recipe: PretrainRecipe, tokenizer: Tokenizer, documents: Documents, teacher: BertForPreTraining
) -> BertForPreTraining:
    """Return the student. If it differs from its teacher in depth alone, it begins with every second (third, ...) of
    its layers and with the rest of its weights (Sanh et al. 2019, section 2); else with random weights."""
    student = new_model(recipe, tokenizer)
    layers, those = student.config.num_hidden_layers, teacher.config.num_hidden_layers
    if layers > those or shape(student.config) != shape(teacher.config):
        return student
    weights = teacher.state_dict()
    taken = {name: weights[layer_below(name, those // layers)] for name in student.state_dict()}
    student.load_state_dict(taken)
    return student


def shape(config: BertConfig) -> dict[str, object]:
    """Return what two models must have alike so that one can take the layers of the other."""
    names = ["vocab_size", "hidden_size", "num_attention_heads", "intermediate_size", "max_position_embeddings"]
    names += ["type_vocab_size", "hidden_act", "layer_norm_eps"]
    return {name: getattr(config, name) for name in names} | {"variants": config.variants}


def layer_below(name: str, step: int) -> str:
    """Return the teacher's name of a student's parameter: layer 0, 1, ... is layer 0, step, 2 step, ..."""
    return re.sub(r"(?<=layers\.)\d+", lambda number: str(step * int(number[0])), name)


def with_tokens(batch: Batch, tokenizer: Tokenizer) -> Batch:
    """Add `tokens` (B, S): -100 at padding, so that a micro-batch knows its share of them."""
    return batch | {"tokens": batch["attention_mask"].masked_fill(batch["attention_mask"] == 0, IGNORED)}


def distillation_loss(
    model: nn.Module,
    batch: Batch,
    shares: Shares = WHOLE,
    *,
    teacher: BertForPreTraining,
    how: Distillation,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the weighted sum of the losses, and each of them; with pairs the loss of the second task is added."""
    asked = {name: tensor for name, tensor in batch.items() if name != "tokens"}
    options = {"masked_only": True, "output_hidden_states": True}
    with torch.no_grad():
        right = teacher.to(batch["input_ids"].device)(**asked, **options)
    out = model(**asked, **options)
    masked, tokens = shares["labels"], shares["tokens"]
    soft = masked * soft_loss(out.prediction_logits, right.prediction_logits, how.temperature)
    watched = {"soft_loss": soft, "mlm_loss": masked * out.mlm_loss}
    loss = how.soft * soft + how.masked * watched["mlm_loss"]
    if how.states:
        real = batch["attention_mask"].bool()
        watched["states_loss"] = tokens * states_loss(out.hidden_states[-1][real], right.hidden_states[-1][real])
        loss = loss + how.states * watched["states_loss"]
    if out.nsp_loss is not None:
        watched["nsp_loss"] = shares["next_sentence_label"] * out.nsp_loss
        loss = loss + watched["nsp_loss"]
    return loss, watched


def soft_loss(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """Return the divergence of both predictions, logits (M, V), the mean over M, times temperature**2."""
    log_p, log_q = ((logits / temperature).log_softmax(-1) for logits in (student, teacher))
    total = F.kl_div(log_p, log_q, reduction="sum", log_target=True)
    return total / max(1, len(student)) * temperature**2


def states_loss(student: Tensor, teacher: Tensor) -> Tensor:
    """Return 1 - cosine of states (N, H), the mean over N."""
    return 1 - F.cosine_similarity(student, teacher, dim=-1).mean()


def distillation_operations(model: nn.Module, batch: Batch, *, teacher: BertConfig) -> float:
    """Count the student's operations, forward and backward, and the teacher's, forward."""
    config: BertConfig = model.config  # type: ignore[assignment]  # a BertForPreTraining
    return pretraining_operations(config, batch) + FORWARD * pretraining_operations(teacher, batch)
