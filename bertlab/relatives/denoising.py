"""A denoising autoencoder: BERT's encoder and masks, but every token is to be rebuilt (Vincent et al. 2008).

Devlin et al. 2019, section 3.1, set BERT apart from it: "we only predict the masked words rather than reconstructing
the entire input".
"""

import torch

from bertlab.config import IGNORED
from bertlab.tokenizer import Tokenizer
from bertlab.training.engine.micro_batches import Batch


def rebuild_all(batch: Batch, tokenizer: Tokenizer) -> Batch:
    """Return a masked batch with labels (B, S) for all tokens but special ones: what stood there before masking."""
    original = torch.where(batch["labels"] != IGNORED, batch["labels"], batch["input_ids"])  # (B, S)
    return batch | {"labels": original.masked_fill(tokenizer.special_mask(original), IGNORED)}
