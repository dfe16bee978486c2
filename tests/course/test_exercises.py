"""Every exercise passes its reference, names each slip by its own sentence, and refuses general mutations."""

import re
from time import process_time

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from bertlab.course import Mistake, own_or_solution, stopped
from bertlab.course.chapters import EXERCISES
from bertlab.course.difference import first_difference
from bertlab.course.exercise import Exercise
from bertlab.course.observe import value
from tests.course.mutants import OutOfTime, effective, mutants, time_limit

each_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)


@each_exercise
def test_the_reference_passes_and_leaves_the_generator_alone(exercise, capsys):
    state = torch.get_rng_state()
    exercise(*exercise.references, *exercise.sample())
    assert capsys.readouterr().out.startswith("Right")
    assert torch.equal(torch.get_rng_state(), state)
    stopped = [observed for observed in exercise.outcome(exercise.references, exercise.sample()) if "stops" in observed]
    assert stopped == [], "a case that stops the reference would be right for whoever stops there as well"


@each_exercise
def test_each_slip_is_refused_with_its_own_sentence(exercise):
    told = {}
    for sentence, observed in exercise.known:
        with pytest.raises(Mistake) as found:
            exercise.judge(observed, exercise.sample())
        told[sentence] = str(found.value)
    assert told == {sentence: sentence for sentence in told}


@each_exercise
def test_general_mutations_are_refused_or_the_record_says_why_not(exercise):
    survivors, begun = [], process_time()
    exercise.outcome(exercise.references, exercise.sample())
    longest = 0.2 + 20 * (process_time() - begun)
    for name, program in mutants(exercise):
        effective.clear()
        try:
            with time_limit(longest):
                refused = first_difference(exercise.observed(program, exercise.sample()), exercise.expected)
        except (Exception, OutOfTime):  # a Mistake, or what the mutant itself raises
            continue
        if not refused and (effective or name.startswith("off by one")):
            survivors.append(name)
    unexplained = [name for name in survivors if not any(part in name for part in exercise.spared)]
    assert unexplained == []
    assert [part for part in exercise.spared if not any(part in name for name in survivors)] == []


@each_exercise
def test_an_exercise_not_begun_is_called_so(exercise):
    def empty(*given, **named):
        raise NotImplementedError

    with pytest.raises(Mistake, match=re.escape("write your code in place of `raise NotImplementedError`.")):
        exercise(*[empty] * len(exercise.references), *exercise.sample())


def asserts(*given):
    assert len(given) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda *given: None, "your function gives None where a result is asked for: is a `return` missing?"),
        (lambda *given: [], "your result is not of the kind that is asked for: float() argument must be"),
        (lambda *given: unknown, "your code uses `unknown`, which is not defined."),  # noqa: F821
        (lambda *given: 1 / 0, "your code stopped: division by zero"),
        (lambda *given: next(iter(())), "your code stopped: StopIteration"),
        (lambda *given: {}[len(given)], "your code stopped: KeyError"),
        (lambda *given: F.embedding(given[1], given[0][:1]), "your code stopped: a table (nn.Embedding) has no row"),
        (lambda: "", "your code stopped: <lambda>() takes 0 positional arguments but 3 were given"),
        (asserts, "your code stopped: AssertionError"),
    ],
)
def test_what_stops_a_check_is_said_in_a_sentence(answer, said):
    with pytest.raises(Mistake, match="^" + re.escape(said)):
        EXERCISES["check_share_passed"](answer)


def test_the_line_at_which_the_code_stopped_is_shown():
    def crashes(query, key, value):
        return query @ key @ value  # shapes

    with pytest.raises(Mistake, match=r"It stopped at `return query @ key @ value  # shapes`\."):
        EXERCISES["check_attend"](crashes)


def endless(first, second, budget):
    while len(first) + len(second) > budget:
        first = first[1:]
    return first, second


def test_a_loop_that_never_ends_is_stopped_and_said(monkeypatch):
    monkeypatch.setattr(stopped, "LONGEST", 0.5)
    with pytest.raises(Mistake, match=re.escape("your code has not ended after 0.5 seconds")):
        EXERCISES["check_cut_pair"](endless)


def test_the_stop_button_stops_a_check():
    def interrupted(*given):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        EXERCISES["check_share_passed"](interrupted)


@pytest.mark.parametrize(
    ("shared", "write"),
    [
        (["a", "b"], lambda items: items.append("c")),
        (torch.ones(2), lambda items: items.zero_()),
        (np.ones(2), lambda items: items.fill(0)),
    ],
    ids=["list", "tensor", "array"],
)
def test_what_a_program_writes_into_an_argument_changes_no_later_case(shared, write):
    def count(alone, inside):
        return len(alone) + len(inside["pair"][0])

    def writes(alone, inside):
        counted = count(alone, inside)
        write(alone)
        write(inside["pair"][0])
        return counted

    before = [*map(str, shared)]
    observe = lambda program, *given: value(lambda alone: program(alone, given[1]), given[0])  # noqa: E731
    exercise = Exercise(count, lambda: [(shared, {"pair": (shared, 1)})], "Right.", observe=observe)
    with pytest.raises(Mistake, match="changed what it was given"):
        exercise(writes)
    assert [*map(str, shared)] == before
    exercise(count)


def test_numbers_that_are_overwritten_are_named():
    def overwrites(x, weight, bias, eps):
        y = (x - x.mean(-1, keepdim=True)).exp()
        y += 1
        return y

    with pytest.raises(Mistake, match="numbers that your code has overwritten"):
        EXERCISES["check_layer_norm"](overwrites)


def test_a_slip_that_only_resembles_is_a_guess_behind_what_differs():
    def sometimes_the_mean(log_p, ids):
        each = log_p[:, :-1].gather(2, ids[:, 1:, None])[:, :, 0]
        return each.mean(1) if len(ids) == 3 else each.sum(1)

    with pytest.raises(Mistake, match=r"^the result at \[0\] should be .* Perhaps: this is the mean"):
        EXERCISES["check_text_score"](sometimes_the_mean)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("check_initialise", "normal_(module.weight, std=std) => uniform_(module.weight)", "for std=0.0200; yours"),
        ("check_masked_weights", "torch.finfo(scores.dtype).min => scores.amin() - 9", "should be 0 for scores=.*e-0"),
        ("check_split", "set(names[::every]) => set(names[::every]) - {names[-3]}", r"^train, from its entry \d+ on, "),
        ("check_tokenizer", "self.vocabulary)] => self.vocabulary)].__iter__()", "return the ids as a list"),
        (
            "check_classifier",
            'batch["labels"], ign => batch.pop("labels"), ign',
            r"changed what it was given \(by loss\)",
        ),
        (
            "check_attend",
            "return weights @ value, weights => return weights @ value",
            r"yours is a tensor \(5, 16\)\.$",
        ),
        (
            "check_bert_model",
            "return hidden, self.pooler(hidden) => return {'hidden': hidden}",
            r"yours is {'hidden': a tensor \(3, 7, 12\)}\.$",
        ),
        (
            "check_collate",
            "label for *_, => float(label) for *_,",
            r"\['next_sentence_label'\] should be whole numbers",
        ),
        ("check_classifier", "hidden_size, num_labels => hidden_size, 2", r"missing in yours: classifier.bias \(3,\)"),
        ("check_split", "names[::every] => names", r"; yours is \[\], 0 entries in place of \d+\.$"),
        (
            "check_question_rows",
            "len(head) - 1, stride) => len(head) - 1, 64)",
            r"rows should have 10 entries; yours has",
        ),
        (
            "check_segment_ids",
            "before == 1 => before == 0",
            r"In full, row 0 should be \[0, .*\]; yours is \[1, .*\]\.",
        ),
        ("check_gelu", "return 0.5 * x => return 0.25 * x", r"Everywhere yours is 0\.5 times that\."),
        ("check_embeddings", "+ self.segment(token_type_ids) => + self.segment(0 * input_ids)", r"Only rows \[0, 1\]"),
        ("check_share_passed", ".float().mean() => .float().mean() * 100", r"Yours is 100 times that\."),
        ("check_heads", ".transpose(1, 2).flatten(2) => .flatten(1, 2)", r"merge_heads should have the shape"),
        (
            "check_entities",
            "return found => return [*map(list, found)]",
            r"^each name is a tuple, \(kind, first, last\)\.$",
        ),
        (
            "check_answer_positions",
            "return first + touched[0], first + touched[-1] => return [first + touched[0], first + touched[-1]]",
            "^return a tuple: the positions of the first and the last token",
        ),
        ("check_neighbours", "return words => words = tuple(words); return words", "^return a list: later cells"),
        (
            "check_sinusoids",
            ".flatten(1) => .flatten(1).double()",
            r"should be floats, not float64 \(use \.float\(\)\)",
        ),
        ("check_best_answer", "return divmod( => return (lambda *pair: [*divmod(*pair)])(", "^return a tuple: "),
        ("check_crf", ".sum() / mask.sum() => .sum() / mask.sum() * 3", r"^loss should be 1\.5798"),
        ("check_pretraining_model", "input_ids => ids", r"unexpected keyword argument 'input_ids'"),
        (
            "check_attainable",
            "return min(peak, operations / moved * bandwidth) => return max(operations / peak, moved / bandwidth)",
            r"; yours is 4\.0+\.$",
        ),
        ("check_round_to_bfloat16", ".view(torch.float32) => .view(torch.float32).tolist()", "^return a tensor"),
        (
            "check_paired_runs",
            "np.stack => (lambda rows: torch.tensor(np.stack(rows)))",
            "^the scores of a setting are an array",
        ),
        ("check_decide", "> threshold => < threshold", r"yours is ''\.$"),
    ],
)
def test_what_differs_is_said_so_that_it_can_be_seen(name, change, said):
    exercise = EXERCISES[name]
    old, _, new = change.partition(" => ")
    assert old in exercise.source
    with pytest.raises(Mistake, match=said):
        exercise(*exercise.programs(exercise.source.replace(old, new), torch=torch))


def test_a_mistake_is_shown_without_a_traceback():
    assert Mistake("one line")._render_traceback_() == ["Not yet: one line"]


def test_what_later_cells_take(capsys):
    def check(function):
        assert function() == 1

    def half_solution():
        return 1

    def half():
        return 1

    def wrong():
        raise NotImplementedError

    taken = [own_or_solution(check, own, half_solution) for own in (half, wrong, half_solution)]
    assert taken == [half, half_solution, half_solution]
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["half: yours is used", *2 * ["half: the solution is used, until yours passes its check"]]
