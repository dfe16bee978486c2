"""Words of Chinese text, in which each character is a token and no space shows where a word ends (Cui et al. 2021)."""

import re
from functools import lru_cache
from itertools import accumulate

import torch
from torch import Tensor

from bertlab.tokenizer import Tokenizer


def continues_chinese_word(input_ids: Tensor, tokenizer: Tokenizer) -> Tensor:
    """Return where a Chinese character continues the word before it, as jieba segments the row: bool (B, S)."""
    import rjieba

    characters = _characters(tokenizer)
    continues = torch.zeros(input_ids.shape, dtype=torch.bool)
    for row, ids in enumerate(input_ids.tolist()):
        text = "".join(characters[index] for index in ids)  # as many characters as tokens
        continues[row] = torch.tensor([character != " " for character in text])
        first = accumulate(map(len, rjieba.cut(text)[:-1]), initial=0)
        continues[row, list(first)] = False
    return continues.to(input_ids.device)


CHINESE = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
CHARACTER = re.compile(f"[{CHINESE}]")
WORD = re.compile(rf"[{CHINESE}]|[^\W_{CHINESE}]+")


@lru_cache(maxsize=4)
def _characters(tokenizer: Tokenizer) -> list[str]:
    """Return for each token its Chinese character, or a space for what is none."""
    tokens = tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))
    return [token if CHARACTER.fullmatch(token) else " " for token in tokens]


def mixed_words(text: str) -> list[str]:
    """Return Chinese characters one by one and what is between them as words, without punctuation; of that the program
    of Cui et al. (2019) keeps a few signs."""
    return WORD.findall(text.lower())
