"""Numbers as text, everywhere in the same form: probabilities and shares in percent, differences with their sign."""


def percent(p: float) -> str:
    """Return a probability as "18%" or "1.3%": whole from 10% on, with one decimal below.

    One that is nearly 0 or 1 does not look like 0 or 1: "< 0.1%", "> 99%".
    """
    if 0 < p < 0.0005:
        return "< 0.1%"
    if 0.995 <= p < 1:
        return "> 99%"
    return f"{100 * p:.{0 if p >= 0.0995 or p == 0 else 1}f}%"


def signed(number: float, form: str = "+.2f") -> str:
    """Return a number in a format, with a true minus sign; what is written as zero has no sign."""
    shown = format(number, form)
    return shown.lstrip("+-") if float(shown.strip("%")) == 0 else shown.replace("-", "−")


def probability(p: float) -> str:
    """Return a probability on one line, as "p = 18%" or "p > 99%"."""
    shown = percent(p)
    return f"p {shown if shown[0] in '<>' else f'= {shown}'}".replace(" ", "\u00a0")
