"""Training of SentencePiece models: Unigram, and the simple types ``word`` and ``char``.

Unigram training is that of Kudo, "Subword regularization" (ACL 2018), as sentencepiece does it: many seed pieces, then
rounds of expectation and maximisation, after each of which the pieces go without which least is lost.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from numba_nlp.errors import SourceFormatError
from vocab_tools.compiler.sentencepiece_samples import with_self_test
from vocab_tools.formats.description import KIND_BYTE, KIND_CONTROL, KIND_NORMAL
from vocab_tools.formats.sentencepiece_model import SentencePieceModel, parse
from vocab_tools.formats.sentencepiece_writer import serialize
from vocab_tools.training.counts import Errors, WordCounts, split_counted
from vocab_tools.training.unigram_corpus import count_corpus
from vocab_tools.training.unigram_options import MetaPiece, TrainingOptions, meta_pieces, normalizer_of
from vocab_tools.training.unigram_seeding import Alphabet, Corpus, Pieces, alphabet_of, number_words, seed_pieces
from vocab_tools.training.unigram_steps import UnigramSteps

__all__ = ["train_unigram"]

_log = logging.getLogger(__name__)
#: Pruning stops at this many times the pieces that are wanted; the best of them are taken.
_SURPLUS = 1.1
#: Steps between the scores of required characters that the training did not keep.
_REQUIRED_STEP = 0.0001

#: A piece and its score.
_Scored = tuple[str, float]


def train_unigram(
    source: Any,
    *,
    name: str = "unigram",
    errors: Errors = "strict",
    progress: bool = False,
    self_test: Sequence[str] = (),
    **options: Any,
) -> SentencePieceModel:
    """Train a SentencePiece model.

    Parameters
    ----------
    source : path, paths, iterable of str, Arrow column, WordCounts, mapping of words to counts, or such pairs
        As of :func:`vocab_tools.training.counts.count_words`, one sentence a line or item; only counts of words are
        kept. Words that are counted already are taken as they are: with their U+2581, normalised.
    name : str
        Name of the vocabulary.
    errors : {"strict", "replace"}
        What is done with bytes that are not UTF-8.
    progress : bool
        Show bars.
    self_test : sequence of str
        Texts that the model file carries with their pieces, see
        :func:`vocab_tools.compiler.sentencepiece_samples.with_self_test`.
    **options
        As of ``spm_train``, with its defaults: `vocab_size` (8000), `model_type` ("unigram", "word" or "char"),
        `character_coverage` (0.9995), `seed_sentencepiece_size` (1,000,000), `shrinking_factor` (0.75),
        `num_sub_iterations` (2), `max_sentencepiece_length` (16), `max_sentence_length` (4192 bytes; longer sentences
        are left out), `num_threads` (all), `split_by_whitespace` (True), `split_by_unicode_script` (True),
        `split_by_number` (True), `split_digits` (False), `treat_whitespace_as_suffix` (False),
        `allow_whitespace_only_pieces` (False), `byte_fallback` (False), `hard_vocab_limit` (True), `use_all_vocab`
        (False), `required_chars`, `control_symbols`, `user_defined_symbols`, `unk_id` (0), `bos_id` (1), `eos_id`
        (2), `pad_id` (-1: none), `unk_piece`, `bos_piece`, `eos_piece`, `pad_piece`, `unk_surface`,
        `normalization_rule_name` ("nmt_nfkc"), `normalization_rule_tsv`, `add_dummy_prefix` (True),
        `remove_extra_whitespaces` (True), `input_sentence_size` (0: all sentences; else that many, drawn at random by
        `seed` (0), or the first ones without `shuffle_input_sentence` (True); these are kept in memory).

    Returns
    -------
    SentencePieceModel
        Compiles as one that was read; :func:`vocab_tools.formats.sentencepiece_writer.write_model` writes it.
        The same for every number of threads.

    Raises
    ------
    TypeError, ValueError
        An option that does not exist or is out of its range; a `vocab_size` too small for
        the characters that must be in it or, with `hard_vocab_limit`, larger than what the corpus gives.
    SourceFormatError
        A corpus without a word.
    InvalidTextError
        Text that is not valid.

    Examples
    --------
    >>> model = train_unigram(["to be or not to be"] * 9, vocab_size=14, hard_vocab_limit=False)
    >>> model.model_type
    'unigram'
    """
    unknown = sorted(set(options) - set(TrainingOptions.names()))
    if unknown:
        raise TypeError(f"no option `{unknown[0]}`; options are {', '.join(TrainingOptions.names())}")
    checked = TrainingOptions(**options)
    fixed = meta_pieces(checked)
    spec = normalizer_of(checked)
    words, source = split_counted(source)
    if words is None:
        words, n_skipped = count_corpus(source, checked, spec, errors=errors, progress=progress)
        if n_skipped:
            _log.warning(
                "left out %d sentences of more than %d bytes (max_sentence_length)",
                n_skipped,
                checked.max_sentence_length,
            )
    if not len(words):
        raise SourceFormatError("`source` has no words: it is empty, or all of its sentences are left out")
    alphabet = alphabet_of(words, checked)
    if checked.model_type == "word":
        learned = _words(words, alphabet, checked, len(fixed))
    elif checked.model_type == "char":
        learned = _characters(alphabet, checked, len(fixed))
    else:
        learned = _learn(words, alphabet, checked, len(fixed), progress)
    return _model(name, checked, fixed, spec, learned, self_test)


def _learn(
    words: WordCounts, alphabet: Alphabet, options: TrainingOptions, n_fixed: int, progress: bool
) -> list[_Scored]:
    """Train the pieces of a Unigram model."""
    from tqdm import tqdm

    n_wanted = options.vocab_size - n_fixed
    if len(alphabet.characters) > n_wanted:
        raise ValueError(
            f"`vocab_size` is {options.vocab_size:,}, too small for {len(alphabet.characters):,} characters and "
            f"{n_fixed} unknown, control, user-defined and byte pieces; raise it, or lower `character_coverage` "
            f"({options.character_coverage})"
        )
    corpus = number_words(words, alphabet)
    pieces = seed_pieces(corpus, alphabet, options)
    goal = int(options.vocab_size * _SURPLUS)
    with (
        ThreadPoolExecutor(options.threads()) as pool,
        tqdm(disable=not progress, desc="training", unit=" rounds") as bar,
    ):
        steps = UnigramSteps(corpus, pieces, pool)
        while True:
            for number in range(options.num_sub_iterations):
                step = steps.improve()
                _log.debug("step %d: %d pieces, objective %.6f", number, step.n_pieces, step.objective)
                bar.set_postfix(pieces=step.n_pieces, objective=f"{step.objective:.4f}")
            bar.update()
            n = step.n_pieces
            if n <= goal or steps.prune(max(goal, int(options.shrinking_factor * n))) >= n:
                break
    return _chosen(corpus, pieces, alphabet, n_wanted)


def _chosen(corpus: Corpus, pieces: Pieces, alphabet: Alphabet, n_wanted: int) -> list[_Scored]:
    """The best pieces, and every required character."""
    characters = "\0" + alphabet.characters
    found: dict[str, float] = {}
    codes = corpus.codes
    for place, length, score in zip(
        pieces.places.tolist(), pieces.piece_lengths.tolist(), pieces.scores.tolist(), strict=True
    ):
        if length > 1:
            found["".join(characters[code] for code in codes[place : place + length].tolist())] = score
    least = float(pieces.scores.min())
    made: dict[str, float] = {}
    n_missing = 0
    for number, character in enumerate(alphabet.characters, 1):
        own = int(pieces.character_pieces[number])
        if own >= 0:
            made[character] = float(pieces.scores[own])
        else:
            made[character] = least - n_missing * _REQUIRED_STEP
            n_missing += 1
    for piece, score in _by_score(found.items()):
        if len(made) == n_wanted:
            break
        made[piece] = score
    return _by_score(made.items())


def _by_score(pieces: Iterable[_Scored]) -> list[_Scored]:
    """The best first; of equal ones the first in the order of their bytes."""
    return sorted(pieces, key=lambda item: (-item[1], item[0].encode()))


def _words(words: WordCounts, alphabet: Alphabet, options: TrainingOptions, n_fixed: int) -> list[_Scored]:
    """The most frequent words without rare characters, with the logarithm of their share of all words."""
    n_wanted = len(words) if options.use_all_vocab else options.vocab_size - n_fixed
    known = set(alphabet.characters)
    log_total = math.log(words.total)
    data, bounds = words.data.tobytes(), words.offsets.tolist()
    made: list[_Scored] = []
    for number in np.argsort(-words.counts, kind="stable").tolist():
        if len(made) == n_wanted:
            break
        word = data[bounds[number] : bounds[number + 1]].decode()
        if known.issuperset(word):
            made.append((word, math.log(int(words.counts[number])) - log_total))
    return made


def _characters(alphabet: Alphabet, options: TrainingOptions, n_fixed: int) -> list[_Scored]:
    """The most frequent characters, with the logarithm of their share."""
    counts = np.maximum(alphabet.counts, 1)
    log_total = math.log(int(counts.sum()))
    scored = [
        (character, math.log(count) - log_total)
        for character, count in zip(alphabet.characters, counts.tolist(), strict=True)
    ]
    return scored if options.use_all_vocab else scored[: options.vocab_size - n_fixed]


def _model(
    name: str,
    options: TrainingOptions,
    fixed: dict[int, MetaPiece],
    normalizer: Any,
    learned: list[_Scored],
    self_test: Sequence[str],
) -> SentencePieceModel:
    """Lay fixed and learned pieces out by id."""
    taken = {piece for piece, _ in fixed.values()}
    rest = iter([item for item in learned if item[0] not in taken])
    pieces: list[bytes] = []
    scores: list[float] = []
    kinds: list[int] = []
    n_most = len(fixed) + len(learned) if options.use_all_vocab else options.vocab_size
    for number in range(n_most):
        piece, kind = fixed.get(number, ("", KIND_NORMAL))
        score = 0.0
        if not piece:
            piece, score = next(rest, ("", 0.0))
        if not piece:
            if max(fixed) > number:
                continue
            break
        pieces.append(piece.encode())
        scores.append(score)
        kinds.append(kind)
    if options.hard_vocab_limit and options.model_type != "char" and len(pieces) != n_most:
        raise ValueError(
            f"`vocab_size` is {options.vocab_size:,}, more than the {len(pieces):,} pieces that this corpus gives; "
            "lower it, or pass hard_vocab_limit=False to take what there is"
        )
    kind_array = np.array(kinds, np.uint8)

    def id_of(piece: str) -> int:
        found = pieces.index(piece.encode()) if piece.encode() in pieces else -1
        return found if found >= 0 and kind_array[found] == KIND_CONTROL else -1

    made = SentencePieceModel(
        name=name,
        source_digest="",
        model_type=options.model_type,
        pieces=tuple(pieces),
        scores=np.array(scores, np.float32),
        kinds=kind_array,
        byte_fallback=bool((kind_array == KIND_BYTE).any()),
        unk_id=pieces.index(options.unk_piece.encode()),
        bos_id=id_of(options.bos_piece),
        eos_id=id_of(options.eos_piece),
        pad_id=id_of(options.pad_piece),
        unk_piece=options.unk_piece,
        bos_piece=options.bos_piece,
        eos_piece=options.eos_piece,
        pad_piece=options.pad_piece,
        unk_surface=options.unk_surface.encode(),
        normalizer=normalizer,
        denormalizer=None,
        self_test=(),
    )
    # Through the reader: its checks, its digest, float32 as the file has them.
    made = parse(serialize(made), name=name)
    if self_test:
        made = parse(serialize(with_self_test(made, self_test)), name=name)
    return made
