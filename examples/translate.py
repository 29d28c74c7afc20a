"""Numbers and dates into English words and back: ``python -m examples.translate``.

With the small encoder-decoder that comes with the package; a Marian, T5, mBART or M2M100 folder is used the same way.
"""

from __future__ import annotations

import numba_nlp as nlp
from examples.checking import check
from numba_nlp.models import own_model

PAIRS = {
    ">>words<< 1,000,205": "one million two hundred five",
    ">>words<< 1776-07-04": "July fourth, seventeen seventy-six",
    ">>year<< 1905": "nineteen oh five",
    ">>digits<< twenty twenty-six": "2026",
    ">>digits<< one thousand one hundredth": "1,100th",
}


def main() -> None:
    """Translate a list, with beams too, and say where the time went."""
    translate = nlp.pipeline("translate", model=own_model("numbers"), dtype="float32")
    found, seconds = translate(list(PAIRS), timings=True)
    for source, result in zip(PAIRS, found, strict=True):
        print(f"{source:40} {result}")
    print(", ".join(f"{stage} {1e3 * value:.0f} ms" for stage, value in seconds.items()))
    check("translations", sum(a == b for a, b in zip(found, PAIRS.values(), strict=True)), len(PAIRS))
    check("with four beams", int(translate(">>year<< 1905", num_beams=4) == "nineteen oh five"), 1)


if __name__ == "__main__":
    main()
