"""A text of made-up words. The same seed gives the same text on every machine."""

import random
from itertools import accumulate

VOCABULARY = 5000
WORDS_A_LINE = 12
_ONSETS = [*"bdfgklmnprstvz", "br", "dr", "fl", "gr", "kl", "pr", "st", "tr"]
_VOWELS = [*"aeiou", "ai", "au", "ei", "ou"]


def make_corpus(length: int, seed: int) -> bytes:
    """About this number of bytes: lines of words, the common ones much more often than the rare."""
    chance = random.Random(seed)
    words = _vocabulary(chance)
    # In natural languages the n-th word is about 1/n times as frequent as the first.
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    lines: list[str] = []
    written = 0
    while written < length:
        line = " ".join(chance.choices(words, cum_weights=weights, k=WORDS_A_LINE))
        lines.append(line)
        written += len(line) + 1
    return ("\n".join(lines) + "\n").encode()


def _vocabulary(chance: random.Random) -> list[str]:
    """Words in the order in which they were invented, each once."""
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        syllables = chance.randint(1, 4)
        word = "".join(chance.choice(_ONSETS) + chance.choice(_VOWELS) for _ in range(syllables))
        words.setdefault(word)
    return list(words)
