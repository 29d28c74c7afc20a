"""Parts of pages that programs write, between two marks."""

from __future__ import annotations

__all__ = ["BEGIN", "END", "with_section"]

BEGIN = "<!-- from here to the next mark: written by `python -m {program}` -->"
END = "<!-- end of what is written by a program -->"


def with_section(page: str, program: str, section: str) -> str:
    """The page with what stands between the marks of a program replaced.

    Raises
    ------
    ValueError
        The page does not have the mark once.
    """
    begin = BEGIN.format(program=program)
    if page.count(begin) != 1:
        raise ValueError(f"the page has the mark {begin!r} {page.count(begin)} times, not once")
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{section.rstrip()}\n\n{END}{rest.split(END, 1)[1]}"
