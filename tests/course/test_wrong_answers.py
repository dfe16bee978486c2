"""Wrong answers that look right on one size, one seed or one kind of text are refused."""

import numpy as np
import pytest
import torch

from bertlab.course import Mistake
from bertlab.course.chapters import EXERCISES

PADDING = "attention_mask == 0 => input_ids == 0"
BEGINS_ANEW = "return => torch.manual_seed(0); return"

# By exercise: changes of the reference's source, "old => new".
CHANGES = {
    # one size or one kind of input
    "check_share_passed": ["torch.arange(len(logits)) => torch.arange(8)"],
    "check_best_span": ["float(start[pair[0]] + end[pair[1]]) => int(start[pair[0]] + end[pair[1]])"],
    "check_clean": ["c.lower() => (c.lower() if c.isascii() else c)"],
    "check_cut_word": ["range(len(word), start, -1) => range(min(len(word), start + 6), start, -1)"],
    "check_lookup": ["len(table) => 7", "return one_hot @ table => return table[ids] @ torch.eye(table.size(1))"],
    "check_embeddings": ["torch.arange(input_ids.size(1), => torch.arange(7,"],
    "check_whole_words": ['startswith("##") => startswith("#")', "append(position) => append(tokens.index(token))"],
    "check_mask_tokens": ["len(SPECIAL), tokenizer.vocab_size => len(SPECIAL), tokenizer.vocab_size - 1"],
    "check_make_pairs": [
        "len(shuffled) // 2 => (len(shuffled) + 1) // 2",
        "return rng.sample(pairs, len(pairs)) => firsts = [first for _, first, _ in positives]; "
        "return sorted(pairs, key=lambda pair: firsts.index(pair[0]))",
    ],
    "check_layer_shares": ["decay**depth => 0.5**depth", 'if name != "bert" => if name == "classifier"'],
    "check_smooth_loss": ["F.one_hot(labels, classes) => F.one_hot(labels)"],
    "check_finetune": ["clip_grad_norm_(weights, clip) => clip_grad_norm_(weights, 1.0)"],
    "check_classifier": ["std=config.initializer_range => std=0.02"],
    "check_multiple_choice": ["view(input_ids.shape[:2]) => view(-1, 3)"],
    "check_may_follow": ['(f"B-{after[2:]}", after) => [b for b in [before] if b[-4:] == after[-4:]]'],
    "check_normalise": ["for word in letters.split() => for word in dict.fromkeys(letters.split())"],
    "check_question_answering": ['batch["end_positions"]) => batch["end_positions"], reduction="sum") / 3'],
    "check_offsets": ["letters[at + size - 1][1] + 1 => letters[at][1] + size"],
    "check_best_answer": ["-torch.inf => -10.0", "starts[:, None] & => (starts & ends)[:, None] &"],
    "check_gpt": [
        PADDING.replace("attention_mask", 'batch["attention_mask"]').replace("input_ids", 'batch["input_ids"]')
    ],
    "check_beam_search": ["(5 + len(text[0])) / 6 => (4 + len(text[0])) / 6"],
    "check_holm": ["np.minimum(1, => np.zeros(len(set(p_values))) + np.minimum(1,"],
    "check_paired_bootstrap": ["rng.integers(examples, => rng.integers(examples - 1,"],
    "check_order_pairs": ["half = len(drawn) // 2 => half = 20"],
    "check_replaced": ["logits[masked] => logits[masked][:1].expand(int(masked.sum()), -1)"],
    "check_attainable": ["operations / moved => operations // moved"],
    "check_initialise": [
        "    for module in model.modules():\n        if isinstance(module, nn.Linear |  => "
        "    [nn.init.normal_(weight) for weight in model.parameters() if weight.ndim > 1]\n"
        "    for module in model.modules():\n        if isinstance(module, nn.Linear | "
    ],
    "check_ring_all_reduce": ["[send(p, => [(send if phase == 'add' else lambda _, chunk: chunk)(p,"],
    "check_accumulated_step": ["start : start + rows => start : start + 3"],
    "check_shared_runs": ["start + n] => start + 4]"],
    "check_still_falling": ["2 * error => 1.96 * error"],
    # padding told by ids, not by the mask
    "check_bert_model": [PADDING],
    "check_sentence_encoder": ["mean_pool(states, attention_mask) => mean_pool(states, input_ids != 0)"],
    "check_crf_tagger": ["decode(logits, mask) => decode(logits, torch.ones_like(mask))"],
    # random numbers
    "check_batches": [
        "torch.Generator().manual_seed(seed) => torch.Generator()",
        "random.Random(seed) => random.Random(0)",
        "generator, rate) => generator)",
    ],
    "check_interval": ["rng.integers => np.random.default_rng(0).integers"],
    "check_power": ["rng.normal => np.random.default_rng(0).normal"],
    "check_train_step": [BEGINS_ANEW],
    "check_adamw": ["self.steps += 1 => torch.manual_seed(0); self.steps += 1"],
    # what was given, changed
    "check_adamw_step": ["return kept => grad.zero_(); return kept", "m.lerp(grad, => m.lerp_(grad,"],
    "check_crf": ["right =  => labels.clamp_(min=0); right = "],
    "check_probe": ["return model => states.fill(0); return model", "return model => train.fill(True); return model"],
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, several in CHANGES.items() for change in several]
)
def test_a_wrong_answer_is_refused(name, change):
    exercise = EXERCISES[name]
    old, _, new = change.partition(" => ")
    assert old in exercise.source
    wrong = exercise.programs(exercise.source.replace(old, new), np=np, torch=torch)
    with pytest.raises(Mistake):
        exercise(*wrong, *exercise.sample())


def test_who_seeds_the_whole_program_reads_why_not():
    exercise = EXERCISES["check_train_step"]
    old, _, new = BEGINS_ANEW.partition(" => ")
    with pytest.raises(Mistake, match="torch.manual_seed begins the random numbers of the whole program anew"):
        exercise(*exercise.programs(exercise.source.replace(old, new)))
