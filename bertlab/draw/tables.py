"""Facts of a model as tables for the terminal."""

from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bertlab.errors import printable
from bertlab.model.summary import ModelFacts, ModuleFacts, TokenizerFacts

SIZES = {
    "num_hidden_layers": "layers",
    "hidden_size": "hidden size",
    "num_attention_heads": "attention heads",
    "intermediate_size": "feed-forward size",
    "hidden_act": "activation",
    "max_position_embeddings": "longest input, in tokens",
    "type_vocab_size": "segments",
    "vocab_size": "vocabulary",
}


def print_facts(facts: ModelFacts | TokenizerFacts, console: Console | None = None) -> None:
    """Sizes, shapes, parameters and memory, tokenizer: one table each; of a tokenizer alone its own."""
    console = console or Console()
    if isinstance(facts, TokenizerFacts):
        return console.print(tokenizer_table(facts))
    labels = facts.config["id2label"].values() if "Classification" in facts.architecture else ()
    sizes = [(label, facts.config[field]) for field, label in SIZES.items()]
    sizes += [("labels", ", ".join(map(printable, labels)))] if labels else []
    console.print(table(f"{facts.name}: {facts.architecture}", ["", ""], sizes))
    shapes = [shape_row(module) for module in facts.modules]
    console.print(table("Shapes (* = every layer)", ["module", "times", "weight", "bias"], shapes))
    console.print(parameter_table(facts))
    console.print(tokenizer_table(facts.tokenizer))


def table(title: str, columns: list[str], rows: Iterable[tuple]) -> Table:
    """The first column reads left to right, the others stand right, as numbers do."""
    drawn = Table(title=escape(title), title_justify="left", show_header=any(columns))
    for number, column in enumerate(columns):
        drawn.add_column(column, justify="right" if number else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(f"{cell:,}" if type(cell) is int else escape(str(cell)) for cell in row))
    return drawn


def shape_row(module: ModuleFacts) -> tuple:
    weight, bias = (" x ".join(map(str, module.shapes.get(leaf, ()))) for leaf in ("weight", "bias"))
    return module.name, module.times, weight + " (tied)" * module.tied, bias


def parameter_table(facts: ModelFacts) -> Table:
    rows = [(part, count, f"{count / facts.total:.1%}") for part, count in facts.parameters.items()]
    drawn = table("Parameters", ["part", "parameters", "share"], rows)
    drawn.add_section()
    drawn.add_row("total", f"{facts.total:,}", "100.0%")
    for precision, size in facts.memory.items():
        drawn.add_row(f"memory in {precision}", f"{size / 1e6:,.1f} MB", "")
    return drawn


def tokenizer_table(facts: TokenizerFacts | None) -> Table:
    if facts is None:
        return table("Tokenizer", ["", ""], [("none in this folder", "")])
    special = ", ".join(f"{token} {number}" for token, number in facts.special_tokens.items())
    rows = [
        ("vocabulary", facts.vocab_size),
        ("letters", "lower case" if facts.lowercase else "as written (cased)"),
        ("special tokens", special),
    ]
    return table("Tokenizer", ["", ""], rows)
