"""What the paper printed, to be seen beside what a small comparison found: Devlin et al. 2019, tables 5 to 8."""

from collections.abc import Mapping
from dataclasses import dataclass

DEVLIN = "Devlin et al. 2019"


@dataclass(frozen=True)
class Published:
    """A table of a paper: a figure for each measure and row, in percent. Rows are named as the systems of the table
    that follows it, where there is such a system."""

    source: str
    measures: tuple[str, ...]
    rows: Mapping[str, tuple[float, ...]]

    def mean(self, row: str) -> float:
        return sum(self.rows[row]) / len(self.rows[row])


PUBLISHED = {
    "objectives": Published(
        f"{DEVLIN}, table 5",
        ("MNLI-m", "QNLI", "MRPC", "SST-2", "SQuAD F1"),
        {
            "BERT": (84.4, 88.4, 86.7, 92.7, 88.5),
            "masked words only": (83.9, 84.9, 86.5, 92.6, 87.9),
            "left to right": (82.1, 84.3, 77.5, 92.1, 77.8),
            "left to right, and a BiLSTM": (82.1, 84.1, 75.7, 91.6, 84.9),
        },
    ),
    "size": Published(
        f"{DEVLIN}, table 6",
        ("MNLI-m", "MRPC", "SST-2"),
        {
            "3 layers of 768": (77.9, 79.8, 88.4),
            "6 layers of 768, 3 heads": (80.6, 82.2, 90.7),
            "6 layers of 768": (81.9, 84.8, 91.3),
            "12 layers of 768": (84.4, 86.7, 92.9),
            "12 layers of 1024": (85.7, 86.9, 93.3),
            "24 layers of 1024": (86.6, 87.8, 93.7),
        },
    ),
    "features": Published(
        f"{DEVLIN}, table 7",
        ("CoNLL-2003 dev F1",),
        {
            "fine-tuned": (96.4,),
            "embeddings": (91.0,),
            "second-to-last layer": (95.6,),
            "last layer": (94.9,),
            "sum of the last four": (95.9,),  # weighted in the paper
            "the last four side by side": (96.1,),
            "weighted sum of all": (95.5,),
        },
    ),
    "masking": Published(
        f"{DEVLIN}, table 8",
        ("MNLI", "NER", "NER, features"),
        {
            "80% [MASK], 10% same, 10% random": (84.2, 95.4, 94.9),
            "100% [MASK], 0% same, 0% random": (84.3, 94.9, 94.0),
            "80% [MASK], 0% same, 20% random": (84.1, 95.2, 94.6),
            "80% [MASK], 20% same, 0% random": (84.4, 95.2, 94.7),
            "0% [MASK], 20% same, 80% random": (83.7, 94.8, 94.6),
            "0% [MASK], 0% same, 100% random": (83.6, 94.9, 94.6),
        },
    ),
}
