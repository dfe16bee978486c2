"""How good a model is, on text that it has not seen, beside what simpler guesses reach."""

import math
import random
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.corpora.examples import QAExample
from bertlab.corpora.storyworld import Probe
from bertlab.inputs.features import answer_from_logits, qa_features
from bertlab.inputs.masking import IGNORED, Masking
from bertlab.inputs.pairs import SecondTask, sentence_pairs
from bertlab.model import BertForPreTraining, BertForQuestionAnswering
from bertlab.tokenizer import Tokenizer
from bertlab.training.baselines import NeighbourBaselines
from bertlab.training.pretrain import Documents, masked_batch, next_token_batch

BATCH = 50
SECOND = {  # measures of the second task
    "next": ("nsp_accuracy", "nsp_accuracy_masked"),
    "order": ("order_accuracy", "order_accuracy_masked"),
    "none": (),
}


@torch.inference_mode()
def evaluate_pretraining(
    model: BertForPreTraining,
    tokenizer: Tokenizer,
    documents: Documents,
    baselines: NeighbourBaselines | None = None,
    *,
    max_tokens: int = 128,
    pairs: int = 2000,
    seed: int = 0,
    second_task: SecondTask = "next",
) -> dict[str, float]:
    """Masked-word loss and top-1 (15%, 80/10/10, as in the paper) and next-sentence accuracy on `documents`.

    Next sentences are judged twice: on the text as it is (nsp_accuracy) and with those words hidden, as in training
    (nsp_accuracy_masked). A model that learned another `second_task` is measured on that: order_accuracy, or nothing.
    With `baselines`, masked words also by word frequency and by the two neighbours.
    """
    chosen = sentence_pairs(documents, max_tokens, random.Random(seed), second_task)[:pairs]
    generator = torch.Generator().manual_seed(seed)
    sums: dict[str, float] = {}
    judged: dict[str, float] = dict.fromkeys(SECOND[second_task], 0.0)
    tokens = 0
    for first in range(0, len(chosen), BATCH):
        batch = masked_batch(chosen[first : first + BATCH], tokenizer, generator, Masking())
        out = model.eval()(**batch, masked_only=True, packed=True)
        _add(sums, "masked", out.prediction_logits.float().log_softmax(-1), out.masked_labels)
        intact = torch.where(batch["labels"] == IGNORED, batch["input_ids"], batch["labels"])
        plain = model(**(batch | {"input_ids": intact}), masked_only=True, packed=True)
        for name, given in zip(judged, (plain, out), strict=bool(judged)):
            judged[name] += float((given.seq_relationship_logits.argmax(-1) == batch["next_sentence_label"]).sum())
        tokens += len(out.masked_labels)
        for name, guess in _guesses(baselines, batch).items():
            _add(sums, name, guess, out.masked_labels)
    figures = {name: value / tokens for name, value in sums.items()}
    figures |= {name: value / len(chosen) for name, value in judged.items()}
    return figures | {"masked_tokens": tokens, "pairs": len(chosen)}


@torch.inference_mode()
def evaluate_left_to_right(
    model: BertForPreTraining,
    tokenizer: Tokenizer,
    documents: Documents,
    baselines: NeighbourBaselines | None = None,
    *,
    max_tokens: int = 128,
    texts: int = 2000,
    seed: int = 0,
) -> dict[str, float]:
    """Loss, perplexity and top-1 of every token that follows others, in texts as long as fit; special tokens do not
    count. With `baselines` also by word frequency and by the token before."""
    chosen = sentence_pairs(documents, max_tokens, random.Random(seed), "none")[:texts]
    sums: dict[str, float] = {}
    tokens = 0
    for first in range(0, len(chosen), BATCH):
        batch = next_token_batch(chosen[first : first + BATCH], tokenizer)
        batch["labels"].masked_fill_(tokenizer.special_mask(batch["labels"]), IGNORED)
        out = model.eval()(**batch, masked_only=True, packed=True)
        _add(sums, "next_token", out.prediction_logits.float().log_softmax(-1), out.masked_labels)
        tokens += len(out.masked_labels)
        if baselines is not None:
            before = batch["input_ids"][batch["labels"] != IGNORED]  # (M,)
            nothing = torch.full_like(before, tokenizer.pad_token_id)
            _add(sums, "unigram", baselines.unigram_log_probabilities(len(before)), out.masked_labels)
            _add(sums, "previous", baselines.bigram_log_probabilities(before, nothing), out.masked_labels)
    figures = {name: value / tokens for name, value in sums.items()}
    perplexity = math.exp(figures["next_token_loss"])
    return figures | {"perplexity": perplexity, "next_tokens": tokens, "texts": len(chosen)}


def _guesses(baselines: NeighbourBaselines | None, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    if baselines is None:
        return {}
    row, place = (batch["labels"] != IGNORED).nonzero(as_tuple=True)  # (M,) each; never [CLS] or the last [SEP]
    before, after = batch["input_ids"][row, place - 1], batch["input_ids"][row, place + 1]
    return {
        "unigram": baselines.unigram_log_probabilities(len(row)),
        "bigram": baselines.bigram_log_probabilities(before, after),
    }


def _add(sums: dict[str, float], name: str, log_probabilities: Tensor, labels: Tensor) -> None:
    """Add loss and hits of (M, V) log-probabilities to the sums."""
    hits = float((log_probabilities.argmax(-1) == labels).sum())
    loss = float(F.nll_loss(log_probabilities, labels, reduction="sum"))
    sums[f"{name}_top1"] = sums.get(f"{name}_top1", 0.0) + hits
    sums[f"{name}_loss"] = sums.get(f"{name}_loss", 0.0) + loss


@torch.inference_mode()
def evaluate_probes(model: BertForPreTraining, tokenizer: Tokenizer, probes: Sequence[Probe]) -> dict[str, float]:
    """Share of probes whose answer is the model's first guess of all words, in all and by family; and, as
    `..._pair`, whose answer gets more than its foil."""
    batch = tokenizer([probe.text for probe in probes])
    logits = torch.cat([model.eval()(**part).prediction_logits for part in _parts(batch)])  # (N, S, V)
    gap = logits[batch["input_ids"] == tokenizer.mask_token_id]  # (N, V): one mask each
    first = gap.argmax(-1)
    hits: dict[str, list[bool]] = {}
    for row, probe in enumerate(probes):
        answer, foil = tokenizer.convert_tokens_to_ids([probe.answer, probe.foil])
        for name in ("probes", f"probes_{probe.family}"):
            hits.setdefault(name, []).append(bool(first[row] == answer))
            hits.setdefault(f"{name}_pair", []).append(bool(gap[row, answer] > gap[row, foil]))
    return {name: sum(values) / len(values) for name, values in hits.items()}


def _parts(batch: dict[str, Tensor]):
    rows = len(batch["input_ids"])
    return ({key: value[i : i + BATCH] for key, value in batch.items()} for i in range(0, rows, BATCH))


@torch.inference_mode()
def predict_answers(
    model: BertForQuestionAnswering,
    tokenizer: Tokenizer,
    examples: Sequence[QAExample],
    *,
    max_length: int = 192,
    threshold: float = 0.0,
) -> dict[str, str]:
    """The answer of every example by its id, "" for none; "none" wins where it beats the best span by `threshold`."""
    answers = {}
    for first in range(0, len(examples), BATCH):
        part = examples[first : first + BATCH]
        features = qa_features(part, tokenizer, max_length)
        out = model.eval()(features["input_ids"], features["attention_mask"], features["token_type_ids"])
        rows = zip(
            out.start_logits,
            out.end_logits,
            features["passage_mask"],
            features["offset_mapping"],
            strict=True,
        )
        for example, row in zip(part, rows, strict=True):
            answers[example.id] = answer_from_logits(*row, example.context, threshold).text
    return answers


def score_answers(examples: Sequence[QAExample], answers: dict[str, str]) -> dict[str, float]:
    """Exact match and F1 as SQuAD 2.0 defines them, and accuracy on the questions without an answer; all 0..1."""
    from torchmetrics.functional.text import squad

    said = [{"prediction_text": answers[e.id], "id": e.id} for e in examples]
    gold = [{"answers": {"answer_start": [e.answer_start], "text": [e.answer]}, "id": e.id} for e in examples]
    scores = squad(said, gold)
    figures = {"exact": float(scores["exact_match"]) / 100, "f1": float(scores["f1"]) / 100}
    unanswerable = [answers[e.id] == "" for e in examples if e.is_impossible]
    if unanswerable:
        figures["no_answer"] = sum(unanswerable) / len(unanswerable)
    return figures | {"questions": len(examples)}
