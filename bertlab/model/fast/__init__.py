"""What is only speed: bertlab.model.encoder by quicker ways, with the same parameters and the same results."""

from bertlab.model.fast.cpu import Dropout, keep_memory
from bertlab.model.fast.encoder import BertModel, EncoderOptions
from bertlab.model.fast.loss import lean_cross_entropy
from bertlab.model.fast.packing import Packing

__all__ = ["BertModel", "Dropout", "EncoderOptions", "Packing", "keep_memory", "lean_cross_entropy"]
