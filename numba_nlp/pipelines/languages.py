"""Which of a model's own language codes is meant by what a caller says: its code, one of ISO 639, an English name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numba_nlp.pipelines.language_names import Language, find_language, languages_by_code
from numba_nlp.tokenizer import Tokenizer

__all__ = ["choose_code", "described_codes", "language_codes", "marian_codes"]

_MARIAN = re.compile(rb">>[^<>\s]+<<")
#: How tokens of languages are written: ``__en__`` of M2M100, ``en_XX`` of mBART, ``eng_Latn`` of NLLB.
_TOKEN = re.compile(r"__(?P<plain>[a-z]{2,3})__|(?P<marked>[a-z]{2,3}_(?:[A-Z]{2}|[A-Z][a-z]{3}))", re.ASCII)
#: Scripts that NLLB tells apart, by their codes of ISO 15924.
_SCRIPTS = {
    "hans": "simplified", "hant": "traditional", "arab": "arabic script", "latn": "latin script",
    "deva": "devanagari", "cyrl": "cyrillic", "tfng": "tifinagh", "beng": "bengali script",
}  # fmt: skip
_MOST_SHOWN = 60


def marian_codes(tokenizer: Tokenizer) -> dict[str, int]:
    """Codes such as ``fra`` that a vocabulary of Marian has as ``>>fra<<``, with their ids."""
    arrays = tokenizer.vocabulary.arrays
    if not tokenizer.vocabulary.metadata.get("language_codes", False):
        return {}
    found = _renumbered(arrays, _MARIAN)
    found |= {token: number for token, number in tokenizer.special_tokens.items() if _MARIAN.fullmatch(token.encode())}
    return {token[2:-2]: number for token, number in sorted(found.items())}


def language_codes(tokenizer: Tokenizer) -> dict[str, int]:
    """Codes of the languages that a vocabulary of mBART, M2M100 or NLLB has, as they are written there, with their ids.

    Those of M2M100 are without the marks around them: ``en`` for ``__en__``.
    """
    tokens = dict(tokenizer.special_tokens)
    if "token_offsets" in tokenizer.vocabulary.arrays:
        tokens |= _renumbered(tokenizer.vocabulary.arrays, re.compile(rb"__[a-z]{2,3}__"))
    found = {}
    for token, number in tokens.items():
        match = _TOKEN.fullmatch(token)
        if match:
            found[match["plain"] or token] = number
    return dict(sorted(found.items()))


def _renumbered(arrays: Mapping[str, Any], pattern: re.Pattern[bytes]) -> dict[str, int]:
    """Tokens of such a form, of a vocabulary whose ids another file than its model gives."""
    content, offsets = arrays["token_bytes"].tobytes(), arrays["token_offsets"].tolist()
    places = {start: number for number, start in reversed(list(enumerate(offsets[:-1])))}
    found = {}
    for match in pattern.finditer(content):
        number = places.get(match.start())
        # tokens without text stand at the same place, so the last one that begins there
        while number is not None and offsets[number + 1] == match.start():
            number += 1
        if number is not None and offsets[number + 1] == match.end():
            found[match[0].decode()] = number
    return found


def choose_code(name: str, given: str, codes: Iterable[str], where: str) -> str:
    """The code that is meant.

    Parameters
    ----------
    name : str
        Of the option, for messages.
    given : str
        A code as the model has it, a code of ISO 639-1 or 639-3, or an English name.
    codes : iterable of str
        Those that there are.
    where : str
        What has them, for messages.

    Raises
    ------
    ValueError
        None of them is meant, or several may be.
    """
    codes = list(codes)
    wanted = given.strip().removeprefix(">>").removesuffix("<<").strip("_")
    exact = [code for code in codes if code.casefold() == wanted.casefold()]
    if exact:
        return exact[0] if wanted not in exact else wanted
    meant, script = _meant(wanted)
    fitting = [code for code in codes if meant is not None and _language_of(code) == meant]
    if script is not None:
        fitting = [code for code in fitting if code.casefold().endswith(f"_{script}")]
    plain = [code for code in fitting if "_" not in code]
    if len(plain) == 1:
        return plain[0]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ValueError(
            f"`{name}` {given!r} is ambiguous: {where} has {', '.join(map(repr, fitting))}; say which of them"
        )
    known = "" if meant is None else f" ({meant.name})"
    raise ValueError(f"`{name}` {given!r}{known} is no language of {where}; it has {described_codes(codes)}")


def _meant(wanted: str) -> tuple[Language | None, str | None]:
    """The language of what a caller says, and the code of its script if that is said too."""
    language = find_language(wanted)
    if language is not None:
        return language, None
    folded = wanted.casefold()
    for code, words in _SCRIPTS.items():
        # "Simplified Chinese", "zh_Hant"
        for said in (words, code):
            for rest in (
                folded.removeprefix(f"{said} "),
                folded.removesuffix(f"_{said}"),
                folded.removesuffix(f"-{said}"),
            ):
                if rest != folded:
                    return find_language(rest), code
    # a region, which is no part of any of these languages: "pt_BR", "en-us"
    base = re.split(r"[_-]", folded)[0]
    return (find_language(base), None) if re.fullmatch(r"[a-z]{2,3}[_-][a-z]{2}", folded) else (None, None)


def _language_of(code: str) -> Language | None:
    """The language of a model's own code."""
    return languages_by_code().get(re.split(r"[_-]", code)[0].casefold())


def described_codes(codes: Sequence[str]) -> str:
    """Codes with the names of their languages, for a message."""
    shown = []
    for code in codes[:_MOST_SHOWN]:
        language = _language_of(code)
        shown.append(code if language is None else f"{code} ({language.name})")
    rest = len(codes) - len(shown)
    return ", ".join(shown) + (f", and {rest} more" if rest else "") or "none"
