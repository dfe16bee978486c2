"""Probabilities and shares in percent, everywhere in the same form."""


def in_percent(p: float) -> float:
    """Return a probability in percent: whole from 10 on, with one decimal below; 100 only if it is certain."""
    if 0.995 <= p < 1:
        return 99.0
    return round(100 * p, 0 if p >= 0.0995 else 1)


def percent(p: float) -> str:
    """Return a probability as "18%" or "1.3%"; one that is nearly 0 or 1 does not look like 0 or 1."""
    if 0 < p < 0.0005:
        return "< 0.1%"
    shown = in_percent(p)
    return f"{'> ' if 0.995 <= p < 1 else ''}{shown:.{0 if shown >= 10 or p == 0 else 1}f}%"
