"""Candidates for pieces in plain Python: look at every string of every word."""

from __future__ import annotations

__all__ = ["candidates", "is_piece"]


def candidates(words, limit, ends_vary=False):
    """Strings that several continuations follow in words, and how often each occurs.

    The end of a word is one continuation, whatever the word; where ends vary, each is another one.
    """
    counts: dict[str, int] = {}
    continuations: dict[str, set] = {}
    for word, count in words:
        for start in range(len(word)):
            for stop in range(start + 1, min(len(word), start + limit) + 1):
                string = word[start:stop]
                counts[string] = counts.get(string, 0) + count
                following = [word[stop]] if stop < len(word) else ["the end"]
                if stop == len(word) and ends_vary:
                    following = [(word, start, occurrence) for occurrence in range(count)]
                continuations.setdefault(string, set()).update(following)
    return {string: count for string, count in counts.items() if len(continuations[string]) > 1}


def is_piece(
    string,
    script_of,
    *,
    split_by_whitespace=True,
    treat_whitespace_as_suffix=False,
    allow_whitespace_only_pieces=False,
    split_digits=False,
    split_by_unicode_script=True,
):
    """Whether a string may be a piece; ``script_of`` gives a script, None for any, or "Inherited"."""
    only_spaces = set(string) == {"\u2581"}
    if not (only_spaces and allow_whitespace_only_pieces):
        # seen from the end at which white space may stand
        seen = string[::-1] if treat_whitespace_as_suffix else string
        inside = seen[1:] if split_by_whitespace else seen[-1:] if len(seen) > 1 else ""
        if "\u2581" in inside:
            return False
    if split_digits and len(string) > 1 and any(character in "0123456789" for character in string):
        return False
    scripts = []
    for character in string:
        if character != "\u2581":
            script = script_of(character)
            scripts.append((scripts[-1] if scripts else None) if script == "Inherited" else script)
    together = all(left is None or right is None or left == right for left, right in zip(scripts, scripts[1:]))  # noqa: B905, RUF007
    return together or not split_by_unicode_script
