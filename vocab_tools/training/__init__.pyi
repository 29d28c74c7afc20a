# The public surface: read by type checkers, and by lazy_loader, which imports a name from here on first use.
from .bpe import train_bpe as train_bpe
from .counts import WordCounts as WordCounts
from .counts import count_words as count_words
from .trained import TrainedBpe as TrainedBpe
from .trained import TrainedWordPiece as TrainedWordPiece
from .unigram import train_unigram as train_unigram
from .wordpiece import train_wordpiece as train_wordpiece

__all__ = [
    "TrainedBpe",
    "TrainedWordPiece",
    "WordCounts",
    "count_words",
    "train_bpe",
    "train_unigram",
    "train_wordpiece",
]
