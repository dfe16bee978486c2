"""The lines with which a notebook cell opens the model that a page shows."""


def opened(kind: str, source: str, random: bool = False) -> str:
    """Lines that make `model` (of class `kind`) and `tok`; `random`: the control with random weights in its place."""
    lines = [
        f"from bertlab import {kind}, Tokenizer",
        *(["from bertlab.explain.ablation import random_control"] if random else []),
        "",
        f"model = {kind}.from_pretrained({source!r})",
        *(["model = random_control(model)"] if random else []),
        f"tok = Tokenizer.from_pretrained({source!r})",
    ]
    return "\n".join(lines)
