"""Settings of XLNet, read from config.json."""

from __future__ import annotations

from dataclasses import dataclass

from numba_nlp.models.settings import ConfigReader

__all__ = ["XlnetSettings", "read_settings"]


@dataclass(frozen=True)
class XlnetSettings:
    """Settings of XLNet.

    Attributes
    ----------
    vocabulary : int
        Number of tokens.
    width, inner_width : int
        Of the hidden states, and within a feed-forward layer.
    layers, heads, head_width : int
        Numbers of layers, and of heads in each; width of a head.
    activation : str
        Of the feed-forward layers.
    norm_epsilon : float
        Of the normalisations.
    causal : bool
        Whether tokens see only what precedes (``attn_type`` "uni").
    same_length : bool
        With `causal`: all tokens see equally many.
    longest_distance : int or None
        Larger distances count as this one.
    memory : int or None
        So many hidden states are remembered; None: all.
    remember_first : int or None
        Only the first so many tokens of a call go into the memory; None: all.
    summary : str
        Which token stands for a row in sequence classification: "last", "first", or "mean" of all.
    summary_linear : bool
        Whether a linear map follows.
    summary_activation : str or None
        What follows then.
    span_beam : tuple of int or None
        Question answering by the best starts and for each the best ends: numbers of both.
    tied : bool
        Whether the output layer has the matrix of the embeddings.
    labels : int
        Of classifiers.
    """

    vocabulary: int
    width: int
    inner_width: int
    layers: int
    heads: int
    head_width: int
    activation: str
    norm_epsilon: float
    causal: bool
    same_length: bool
    longest_distance: int | None
    memory: int | None
    remember_first: int | None
    summary: str
    summary_linear: bool
    summary_activation: str | None
    span_beam: tuple[int, int] | None
    tied: bool
    labels: int


def read_settings(config: ConfigReader) -> XlnetSettings:
    """Settings under the names of XLNet's config.json."""
    config.also(hidden_size="d_model", num_attention_heads="n_head", num_hidden_layers="n_layer")
    config.also(n_token="vocab_size")  # noqa: S106  no password
    width, heads = config.whole("d_model", 1024), config.whole("n_head", 16)
    head_width = config.share("d_model", width, "n_head", heads)
    if width % 2:
        config.malformed.append(f"`d_model` must be even, half of it sines and half cosines of distances, got {width}")
    if config.optional_whole("d_head", least=1) not in (None, head_width):
        config.malformed.append(f"`d_head` {config.config['d_head']} is not `d_model` / `n_head` {head_width}")
    # Half of a batch would be read backwards: what a row gives would depend on its place in the batch.
    config.only("bi_data", False)
    # The map after the summary has as many inputs as the model is wide.
    config.only("summary_proj_to_labels", False, None)
    summary_linear = config.flag("summary_use_proj", True)
    longest = config.whole("clamp_len", -1, least=-(2**31))
    architectures = config.config.get("architectures")
    by_beam = architectures == ["XLNetForQuestionAnswering"]
    return XlnetSettings(
        vocabulary=config.whole("vocab_size", 32000),
        width=width,
        inner_width=config.whole("d_inner", 4096),
        layers=config.layers("n_layer", 24),
        heads=heads,
        head_width=head_width,
        activation=config.activation("ff_activation", "gelu"),
        norm_epsilon=config.number("layer_norm_eps", 1e-12),
        causal=config.choice("attn_type", "bi", ("bi", "uni")) == "uni",
        same_length=config.flag("same_length", False),
        longest_distance=longest if longest > 0 else None,
        memory=config.optional_whole("mem_len", 512) or None,
        remember_first=config.optional_whole("reuse_len") or None,
        summary=config.choice("summary_type", "last", ("last", "first", "mean", "cls_index")),
        summary_linear=summary_linear,
        summary_activation=_optional_activation(config, "summary_activation"),
        span_beam=(config.whole("start_n_top", 5), config.whole("end_n_top", 5)) if by_beam else None,
        tied=config.flag("tie_word_embeddings", True),
        labels=config.labels()[0],
    )


def _optional_activation(config: ConfigReader, name: str) -> str | None:
    """An activation, where null and the empty string mean none; absent, XLNet has tanh."""
    return config.activation(name, "tanh") if config.config.get(name, "tanh") else None
