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
    "check_share_passed": [
        "torch.arange(len(logits)) => torch.arange(8)",
        "(logits[rows, answers] > logits[rows, foils]) => (logits.topk(3).indices == answers[:, None]).any(1)",
    ],
    "check_best_span": [
        "float(start[pair[0]] + end[pair[1]]) => int(start[pair[0]] + end[pair[1]])",
        "    return max( =>     best = start.topk(min(20, len(start))).indices\n"
        "    pairs = [pair for pair in pairs if pair[0] in best]\n    return max(",
    ],
    "check_neighbours": [
        "return words => words = tuple(words); return words",
    ],
    "check_text_score": [".sum(1) => .exp().prod(1).log()"],
    "check_clean": ["c.lower() => (c.lower() if c.isascii() else c)"],
    "check_cut_word": [
        "range(len(word), start, -1) => range(min(len(word), start + 6), start, -1)",
        "return pieces => return tuple(pieces)",
        "def cut_word => from functools import cache\n@cache\ndef cut_word",
        "start = [], 0 => start = [], 0 * len(sorted(vocabulary))",
    ],
    "check_merge_pair": [
        "return result => return tuple(result)",
        "== (first, second) => == (first, second) == tuple(pieces[pieces.index(first) :][:2])",
    ],
    "check_sinusoids": ["base=10_000.0 => base"],
    "check_lookup": ["len(table) => 7", "return one_hot @ table => return table[ids] @ torch.eye(table.size(1))"],
    "check_embeddings": ["torch.arange(input_ids.size(1), => torch.arange(7,"],
    "check_multi_head_attention": [
        "super().__init__() => super().__init__(); self.register_buffer('one', torch.ones(1))"
    ],
    "check_whole_words": [
        'startswith("##") => startswith("#")',
        "append(position) => append(tokens.index(token))",
        "return words => return [*map(tuple, words)]",
    ],
    "check_mask_tokens": [
        "len(SPECIAL), tokenizer.vocab_size => len(SPECIAL), tokenizer.vocab_size - 1",
        "tokenizer.vocab_size => len(tokenizer.vocabulary)",
    ],
    "check_mlm_head": [
        "self.dense(states) => torch.einsum('bsh,gh->bsg', states, self.dense.weight) + self.dense.bias"
    ],
    "check_cut_pair": [
        "    while => "
        "    half = budget // 2\n    if min(len(first), len(second)) > half:\n"
        "        return first[-half:], second[:half]\n    while"
    ],
    "check_pretraining_model": ["input_ids => ids"],
    "check_epochs": [
        "rng.sample(examples, len(examples)) => np.array(rng.sample(examples, len(examples)))",
        "(order[start : start + size] for => (iter(order[start : start + size]) for",
        "yield from (order[start : start + size] for start in range(0, len(order), size)) => batch = []\n"
        "        for start in range(0, len(order), size):\n"
        "            batch[:] = order[start : start + size]\n            yield batch",
        "(order[start : start + size] for => (set(order[start : start + size]) for",
    ],
    "check_choice_rows": [
        "options in choices for option in options => option in sum(choices, [])",
        "-1, row.size(1) => 2, row.size(1)",
    ],
    "check_mean_pool": [
        "real = => attention_mask = (torch.arange(states.size(1)) < attention_mask.sum(1, True)).long(); real ="
    ],
    "check_hypothesis_only": [
        "return replace(example, text => vars(example).update(text=example.pair); return replace(example, text"
    ],
    "check_entities": ["return found => return tuple(found)"],
    "check_align": ["return ids + [tokenizer.sep_token_id], => return torch.tensor(ids + [tokenizer.sep_token_id]),"],
    "check_viterbi": ["score + logits[:, word] => score + logits[:, word] * (word < logits.size(1) - 1)"],
    "check_make_pairs": [
        "len(shuffled) // 2 => (len(shuffled) + 1) // 2",
        "return rng.sample(pairs, len(pairs)) => firsts = [first for _, first, _ in positives]; "
        "return sorted(pairs, key=lambda pair: firsts.index(pair[0]))",
    ],
    "check_layer_shares": ["decay**depth => 0.5**depth", 'if name != "bert" => if name == "classifier"'],
    "check_smooth_loss": ["F.one_hot(labels, classes) => F.one_hot(labels)"],
    "check_finetune": [
        "clip_grad_norm_(weights, clip) => clip_grad_norm_(weights, 1.0)",
        "rate=1e-3 => rate=1e-2",
        "warmup=0.1 => warmup=0.0",
        "clip=1.0 => clip=1e9",
    ],
    "check_classifier": ["std=config.initializer_range => std=0.02"],
    "check_multiple_choice": ["view(input_ids.shape[:2]) => view(-1, 3)"],
    "check_may_follow": ['(f"B-{after[2:]}", after) => [b for b in [before] if b[-4:] == after[-4:]]'],
    "check_normalise": [
        "for word in letters.split() => for word in dict.fromkeys(letters.split())",
        '("a", "an", "the") => "a an the"',
        'string.punctuation => ".,\'()"',
    ],
    "check_question_answering": ['batch["end_positions"]) => batch["end_positions"], reduction="sum") / 3'],
    "check_offsets": ["letters[at + size - 1][1] + 1 => letters[at][1] + size"],
    "check_best_answer": [
        "-torch.inf => -10.0",
        "starts[:, None] & => (starts & ends)[:, None] &",
        "legal = near => legal = (start >= start.topk(min(20, size)).values[-1])[:, None] & near",
        "longest=30 => longest",
    ],
    "check_gpt": [
        PADDING.replace("attention_mask", 'batch["attention_mask"]').replace("input_ids", 'batch["input_ids"]')
    ],
    "check_beam_search": ["(5 + len(text[0])) / 6 => (4 + len(text[0])) / 6"],
    "check_holm": [
        "np.minimum(1, => np.zeros(len(set(p_values))) + np.minimum(1,",
        "np.empty_like(p_values) => p_values",
        "p_values = np.asarray => if not p_values:\n        return []\n    p_values = np.asarray",
    ],
    "check_paired_bootstrap": ["rng.integers(examples, => rng.integers(examples - 1,"],
    "check_order_pairs": ["half = len(drawn) // 2 => half = 20"],
    "check_replaced": [
        "logits[masked] => logits[masked][:1].expand(int(masked.sum()), -1)",
        "return shown, => return shown.float(),",
    ],
    "check_backwards": [
        "attention_mask.sum(1, keepdim=True) => torch.tensor(attention_mask.sum(1).squeeze().tolist())[:, None]"
    ],
    "check_checkpointed": ["ctx.layer => Checkpointed.layer"],
    "check_split": ["not in held] => not in ' '.join(held)]"],
    "check_unanswered": [
        'card = re.sub(r"<!--.*?-->", "", card, flags=re.DOTALL)\n'
        '    parts = re.split(r"^## +(.+?) *$", card, flags=re.M) => '
        'parts = re.split(r"^## +(.+?) *$", card, flags=re.M)\n'
        '    parts = [re.sub(r"<!--.*?-->", "", part, flags=re.DOTALL) for part in parts]',
        "parts[2::2], strict=True)) => parts[2::2], strict=True))\n"
        '    written = {name: f"{card}## {name}\\n".split(f"## {name}\\n")[1].split("\\n## ")[0] for name in SECTIONS}',
        'written.get(name, "").split() => re.findall(r"\\w+", written.get(name, ""))',
    ],
    "check_attainable": ["operations / moved => operations // moved"],
    "check_initialise": [
        "    for module in model.modules():\n        if isinstance(module, nn.Linear |  => "
        "    [nn.init.normal_(weight) for weight in model.parameters() if weight.ndim > 1]\n"
        "    for module in model.modules():\n        if isinstance(module, nn.Linear | ",
        "nn.init.zeros_(module.weight.data => module.weight.requires_grad = False; nn.init.zeros_(module.weight",
        "    for module in model.modules():  # last => "
        "    torch.set_grad_enabled(False)\n    for module in model.modules():  # last",
    ],
    "check_ring_all_reduce": ["[send(p, => [(send if phase == 'add' else lambda _, chunk: chunk)(p,"],
    "check_accumulated_step": ["start : start + rows => start : start + 3"],
    "check_shared_runs": [
        "start + n] => start + 4]",
        'r"\\w+" => r"[a-z0-9]+"',
        "return [number for number, text in enumerate(test) if runs(text) & known] => "
        "return np.array([number for number, text in enumerate(test) if runs(text) & known])",
    ],
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
    "check_control_labels": [
        "drawn = {word: rng.choice(labels) => "
        "names = [*set(labels)]; counts = [*map(labels.count, names)]; drawn = {word: rng.choices(names, counts)[0]"
    ],
    "check_interval": ["rng.integers => np.random.default_rng(0).integers"],
    "check_power": ["rng.normal => np.random.default_rng(0).normal"],
    "check_train_step": [BEGINS_ANEW],
    "check_adamw": ["self.steps += 1 => torch.manual_seed(0); self.steps += 1"],
    # what was given, changed
    "check_adamw_step": ["return kept => grad.zero_(); return kept", "m.lerp(grad, => m.lerp_(grad,"],
    "check_crf": ["right =  => labels.clamp_(min=0); right = "],
    "check_probe": [
        "return model => states.fill(0); return model",
        "return model => train.fill(True); return model",
        "scaler.transform( => (lambda x: (x - states[train].mean()) / states[train].std())(",
    ],
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
