"""The CRF against all sequences of labels one by one, and against pytorch-crf."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab import InputError
from bertlab.model.crf import CRF, forbidden_steps
from tests.conftest import tries

BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
BIOES = ["O", "B-PER", "I-PER", "E-PER", "S-PER"]
PLAIN = ["NOUN", "VERB", "DET"]


def random_crf(names, dtype=torch.float64) -> CRF:
    crf = CRF(names).to(dtype)
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_()
    return crf


def mask_of(lengths) -> torch.Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def is_legal(path, names) -> bool:
    """Written anew, as the schemes are told: an entity is B I* (BIO), or S, or B I* E (BIOES)."""
    ends = any(name.startswith("E-") for name in names)
    inside = None  # kind of the entity that is going on
    for name in (names[number] for number in path):
        prefix, _, kind = name.partition("-")
        if prefix in ("I", "E") and inside != kind:
            return False
        if prefix not in ("I", "E") and ends and inside:
            return False
        inside = kind if prefix in ("B", "I") else None
    return not (ends and inside)


def scores_one_by_one(crf, emissions) -> dict[tuple[int, ...], torch.Tensor]:
    """Every legal sequence of labels for the words of emissions (W, N), with its score."""
    named = "B-PER" in crf.names
    found = {}
    for path in itertools.product(range(len(crf.names)), repeat=len(emissions)):
        if named and not is_legal(path, crf.names):
            continue
        steps = sum(crf.transitions[a, b] for a, b in itertools.pairwise(path))
        said = sum(emissions[position, label] for position, label in enumerate(path))
        found[path] = crf.start[path[0]] + said + steps + crf.end[path[-1]]
    return found


@tries(25)
@given(
    names=st.sampled_from([BIO, BIOES, PLAIN, ["yes"]]),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    seed=st.integers(0, 999),
)
def test_likelihood_and_decoding_are_those_of_all_sequences(names, lengths, seed):
    torch.manual_seed(seed)
    crf, mask = random_crf(names), mask_of(lengths)
    emissions = 3 * torch.randn(*mask.shape, len(names), dtype=torch.float64)
    decoded = crf.decode(emissions, mask)
    for row, length in enumerate(lengths):
        scores = scores_one_by_one(crf, emissions[row, :length])
        assert tuple(decoded[row, :length].tolist()) == max(scores, key=scores.get)
        total = torch.stack(list(scores.values())).logsumexp(0)
        for path in list(scores)[:: max(1, len(scores) // 5)]:
            labels = torch.zeros(mask.shape, dtype=torch.long)
            labels[row, :length] = torch.tensor(path)
            ours = crf.log_likelihood(emissions, labels, mask)[row]
            torch.testing.assert_close(ours, scores[path] - total)


@pytest.mark.parametrize("seed", range(4))
def test_likelihood_gradient_and_decoding_are_those_of_pytorch_crf(seed):
    torchcrf = pytest.importorskip("torchcrf")
    torch.manual_seed(seed)
    ours, theirs = random_crf([f"L{n}" for n in range(7)]), torchcrf.CRF(7, batch_first=True).double()
    pairs = [(ours.start, theirs.start_transitions), (ours.end, theirs.end_transitions)]
    pairs.append((ours.transitions, theirs.transitions))
    with torch.no_grad():
        for own, other in pairs:
            other.copy_(own)
    mask = mask_of([11, 1, 4, 8])
    one = torch.randn(4, 11, 7, dtype=torch.float64, requires_grad=True)
    two = one.detach().clone().requires_grad_()
    labels = torch.randint(0, 7, mask.shape) * mask
    found, wanted = ours.log_likelihood(one, labels, mask), theirs(two, labels, mask, reduction="none")
    torch.testing.assert_close(found, wanted)
    found.sum().backward()
    wanted.sum().backward()
    for own, other in [(one, two), *pairs]:
        torch.testing.assert_close(own.grad, other.grad)
    paths = [row[real].tolist() for row, real in zip(ours.decode(one, mask), mask, strict=True)]
    assert paths == theirs.decode(two, mask)


@pytest.mark.parametrize("names", [BIO, BIOES])
def test_the_forbidden_gets_no_probability_whatever_the_emissions_say(names):
    """Emissions that shout for I after O: the decoded labels are legal all the same, and gradients are numbers."""
    crf, mask = random_crf(names, torch.float32), mask_of([6, 3])
    emissions = torch.zeros(2, 6, 5)
    emissions[:, :, 2] = 50.0
    emissions.requires_grad_()
    for row, real in zip(crf.decode(emissions, mask), mask, strict=True):
        assert is_legal(row[real].tolist(), names)
    outside = torch.zeros(2, 6, dtype=torch.long)
    crf.log_likelihood(emissions, outside, mask).sum().backward()
    assert all(x.grad.isfinite().all() for x in (emissions, *crf.parameters()))
    assert not crf.transitions.grad[crf.forbidden[1:, 1:]].any()


def test_rows_without_words():
    crf, mask = random_crf(BIO), torch.tensor([[False, False], [True, False]])
    emissions = torch.randn(2, 2, 5, dtype=torch.float64, requires_grad=True)
    found = crf.log_likelihood(emissions, torch.zeros(2, 2, dtype=torch.long), mask)
    found.sum().backward()
    assert found[0] == 0 and found[1] < 0 and not emissions.grad[0].any() and not emissions.grad[1, 1].any()


@pytest.mark.parametrize(
    ("path", "words"),
    [([2, 0], "row 0: labels go from no word to I-PER"), ([0, 2], "from O to I-PER"), ([1, 4], "from B-PER to I-LOC")],
)
def test_labels_that_their_names_forbid_are_told(path, words):
    crf = random_crf(BIO)
    emissions, mask = torch.zeros(1, 3, 5, dtype=torch.float64), torch.tensor([[True, True, False]])
    with pytest.raises(InputError, match=words):
        crf.log_likelihood(emissions, torch.tensor([[*path, 0]]), mask)


def test_an_entity_that_does_not_end_is_told():
    with pytest.raises(InputError, match="from B-PER to no word"):
        random_crf(BIOES).log_likelihood(
            torch.zeros(1, 2, 5, dtype=torch.float64), torch.tensor([[0, 1]]), mask_of([2])
        )


@pytest.mark.parametrize("names", [PLAIN, ["O", "I-PER", "I-LOC"], ["O", "B-PER", "X-PER"], ["NN", "O"]])
def test_other_names_forbid_nothing(names):
    assert not forbidden_steps(names).any()


def test_single_letters_are_bio_too():
    assert forbidden_steps(["B", "I", "O"]).nonzero().tolist() == [[0, 2], [3, 2]]  # from no word, and from O, to I


def test_autocast_does_not_lower_the_precision():
    torch.manual_seed(0)
    crf, mask = random_crf(BIO, torch.float32), mask_of([40, 25])
    emissions, labels = torch.randn(2, 40, 5), torch.zeros(2, 40, dtype=torch.long)
    exact = crf.log_likelihood(emissions, labels, mask)
    with torch.autocast("cpu", torch.bfloat16):
        cast = crf.log_likelihood(emissions, labels, mask)
        assert crf.log_likelihood(emissions.bfloat16(), labels, mask).dtype == torch.float32
    assert cast.dtype == torch.float32 and cast.equal(exact)
