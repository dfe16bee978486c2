"""How far our numbers are from those of another library, as a share of the largest number of a tensor."""

import torch

LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5}
LEAST = 1e-3  # what counts as the largest number at least: gradients that cancel are nothing but rounding


def assert_close(pairs, dtype=torch.float64):
    """Compare name -> (ours, theirs); the worst difference is printed and must be within the limit of the precision."""
    found = {name: difference(*pair) for name, pair in pairs.items()}
    worst = max(found, key=lambda name: (found[name] != found[name], found[name]))  # nan is worse than any number
    message = f"{worst}: a relative difference of {found[worst]:.1e}; at most {LIMITS[dtype]:.0e} in {dtype}"
    print(message)
    assert found[worst] <= LIMITS[dtype], message


def difference(ours, theirs):
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, f"{ours.dtype} {ours.shape}, not {theirs.shape}"
    return float((ours - theirs).detach().abs().max() / max(float(theirs.detach().abs().max()), LEAST))
