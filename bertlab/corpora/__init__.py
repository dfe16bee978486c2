"""Where text and labelled examples come from."""

from bertlab.corpora.examples import Document, QAExample

__all__ = ["Document", "QAExample"]
