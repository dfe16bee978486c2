"""Which optimizer and learning rate suit a trained model, by what its config.json says of it.

Two kinds of narrow BERT need different ones. A published one has read billions of words, and AdamW adapts it at a rate
among those that Turc et al. 2019 tried for compact models. One from a recipe of ours has read millions: its weights
still have to change a lot, which Muon does in a few hundred steps. Measured in docs/finetuning.md, "Which settings?".
"""

from bertlab.config import BertConfig
from bertlab.training.engine.optim import Optimization

WIDE = 512  # from this hidden size on the paper's settings suit
# Three top learning rates of fine-tuning, the default in the middle.
PAPER_RATES = (5e-5, 3e-5, 2e-5)  # Devlin et al. 2019, appendix A.3
COMPACT_RATES = (5e-4, 3e-4, 1e-4)  # narrower published models; 1e-3 learns less (docs/finetuning.md)
OWN_RATES = (4e-3, 2e-3, 1e-3)  # for Muon
OWN = Optimization("muon", learning_rate=OWN_RATES[1], warmup=0.1)
LORA_RATES = (2e-3, 1e-3, 5e-4)  # for AdamW on low-rank changes (docs/finetuning.md)


def has_read_little(config: BertConfig) -> bool:
    """Return whether this is a narrow model from a recipe of ours.

    Published BERTs of every size were drawn with an initializer_range of at most 0.02; our recipes for narrow layers
    draw with 0.05. The field says where weights come from: whatever trains them further keeps it, while dropout may
    change in each fine-tuning. It misjudges a short pretraining of one's own with 0.02, which AdamW then fine-tunes too
    slowly, and a published model drawn with more. For these give --learning-rate and --set optim.optimizer=.
    """
    return config.hidden_size < WIDE and config.initializer_range > BertConfig.initializer_range


def suited_rates(config: BertConfig, lora: int = 0) -> tuple[float, float, float]:
    """Return three top learning rates to fine-tune this model with, or low-rank changes of it, the default in the
    middle."""
    if lora:
        return LORA_RATES
    if config.hidden_size >= WIDE:
        return PAPER_RATES
    return OWN_RATES if has_read_little(config) else COMPACT_RATES


def suited_optimization(config: BertConfig, lora: int = 0) -> Optimization:
    """Return what fine-tunes this model well: the paper's AdamW (appendix A.3) at a rate that suits the width, or Muon
    for a model that has read little, unless low-rank changes alone are learned."""
    if has_read_little(config) and not lora:
        return OWN
    return Optimization(
        "adamw", learning_rate=suited_rates(config, lora)[1], warmup=0.1, weight_decay=0.01, beta2=0.999
    )
