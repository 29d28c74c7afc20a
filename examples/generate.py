"""Text in the manner of Shakespeare's plays: ``python -m examples.generate``.

With the small language model that comes with the package, which ``generate`` takes where no other is named.
"""

from __future__ import annotations

import numba_nlp as nlp
from examples.checking import check


def main() -> None:
    """Continue two prompts; the same seed gives the same text."""
    generate = nlp.pipeline("generate", dtype="float32")
    prompts = ["HAMLET.\nTo be, or", "ROMEO.\nBut soft, what"]
    texts = generate(prompts, seed=1, max_new_tokens=40)
    for text in texts:
        print(text, end="\n\n")
    check("texts that begin with their prompts", sum(map(str.startswith, texts, prompts)), 2)
    again = generate(prompts, seed=1, max_new_tokens=40)
    check("texts of the same seed", sum(a == b for a, b in zip(texts, again, strict=True)), 2)
    greedy = generate(prompts[0], do_sample=False, max_new_tokens=12, return_full_text=False)
    print(f"the likeliest: {greedy!r}")


if __name__ == "__main__":
    main()
