"""Names of options: those of transformers that change nothing here, and what is meant by those that there are not."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["CALL_KEYWORDS", "PASSED_OVER", "unknown_options"]

#: Keywords of ``generate`` that are no options of a config.
CALL_KEYWORDS = (
    "input_ids",
    "attention_mask",
    "config",
    "seed",
    "equal_before",
    "decoder_input_ids",
    "decoder_attention_mask",
    "streamer",
    "processors",
    "prefix_allowed_tokens_fn",
    "tokenizer",
    "decode",
    "engine",
    "weights",
    "clock",
)

#: Keys of transformers that change how fast it is, or the form of its output, and never the tokens; files have them
#: too.
PASSED_OVER = frozenset(
    {
        "assistant_confidence_threshold",
        "assistant_ensemble_weight",
        "assistant_lookbehind",
        "cache_config",
        "cache_implementation",
        "compile_config",
        "continuous_batching_config",
        "disable_compile",
        "is_assistant",
        "low_memory",
        "max_cache_len",
        "max_matching_ngram_size",
        "num_assistant_tokens",
        "num_assistant_tokens_schedule",
        "output_attentions",
        "output_hidden_states",
        "output_logits",
        "output_scores",
        "prefill_chunk_size",
        "return_dict_in_generate",
        "return_legacy_cache",
        "speculation_type",
        "synced_gpus",
        "target_lookbehind",
        "transformers_version",
        "use_cache",
        "use_model_defaults",
    }
)

#: What stands here for names that transformers, or its pipelines, have.
_HERE = {
    "generation_config": "`config`",
    "generator": "`seed`",
    "inputs": "`input_ids`",
    "logits_processor": "`processors`",
    "logits_warper": "`processors`",
    "device": "`model.to(device)` before the call",
    "device_map": "`model.to(device)` before the call",
    "random_state": "`seed`",
    "stop": "`stop_strings`, or `stop_sequences` of ids",
    "stopping_criteria": "`stop_sequences` of ids, or `stop_strings`",
    "text": "ids as `input_ids`: generate(**tok(texts))",
}


def unknown_options(names: Iterable[str], known: Iterable[str]) -> TypeError:
    """What is raised for options that there are not.

    Parameters
    ----------
    names : iterable of str
        The unknown ones.
    known : iterable of str
        Those that there are.
    """
    names, known = list(names), list(known)
    hints = []
    for name in names:
        near = get_close_matches(name, known, 1)
        if name in _HERE:
            hints.append(f"for {name!r} there is {_HERE[name]}")
        elif near:
            hints.append(f"for {name!r}, is `{near[0]}` meant?")
    return TypeError(
        f"there is no option {', '.join(map(repr, names))} of generation"
        + "".join(f"; {hint}" for hint in hints)
        + f"; there are: {', '.join(known)}"
    )
