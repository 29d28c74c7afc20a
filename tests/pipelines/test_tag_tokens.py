"""Tags: as transformers joins them, from the right window, across every border of windows, in every scheme."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers (Python 3.11 or later)")

from numba_nlp.errors import RowError  # noqa: E402
from numba_nlp.pipelines import pipeline  # noqa: E402
from numba_nlp.pipelines.tag_tokens import TagTokens  # noqa: E402
from tests.pipelines.spelled_models import LABELS, LettersModel, spelled_checkpoint  # noqa: E402
from tests.pipelines.transformers_spans import join_tags  # noqa: E402
from tools.record_pipelines.span_models import ARCHITECTURES, passage, write_checkpoint  # noqa: E402

FAMILIES = tuple(family for family in ARCHITECTURES if family != "bart")
WORDPIECE = ("bert", "distilbert", "electra")
LONGEST = 40
#: What transformers says of every vocabulary but WordPiece.
pytestmark = pytest.mark.filterwarnings("ignore:Tokenizer does not support real words:UserWarning")
PLAIN = ["the lords and hamlets", "my lorded lords shalles not", "hamletly good lords of hamleth", "hamletes"]
UNUSUAL = [
    "The king,\r\nof Denmark\t(dead) \u2014 e\u0301lsinore\u00a0\u65e5\u672c \U0001f468\u200d\U0001f469 \ufb01n.",
    "  two  spaces ... \u0301\u0301 a\u200bb \u2581x ",
    "\U0001f451",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Our pipeline and that of transformers, by family, each made once."""
    kept: dict[str, Any] = {}

    def of(family: str) -> tuple[TagTokens, Any]:
        if family not in kept:
            folder = tmp_path_factory.mktemp(family)
            architecture = write_checkpoint(family, "token_classification", folder, model_max_length=LONGEST)
            model = getattr(transformers, architecture).from_pretrained(folder).eval()
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            kept[family] = (
                pipeline("ner", model=folder),
                transformers.TokenClassificationPipeline(model=model, tokenizer=tokenizer),
            )
        return kept[family]  # type: ignore[no-any-return]

    return of


def assert_same(ours: list[Any], theirs: list[Any], *, words: bool = True) -> None:
    for one, other in zip(ours, theirs, strict=True):
        exact = {"entity", "entity_group", "index", "start", "end", *(["word"] if words else [])} & other.keys()
        assert {name: one[name] for name in exact} == {name: other[name] for name in exact}
        assert one["score"] == pytest.approx(float(other["score"]), rel=1e-4)
        assert set(one) == set(other)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("strategy", ["none", "simple", "first", "average", "max"])
def test_short_texts_are_tagged_as_by_transformers(family: str, strategy: str, made: Any) -> None:
    """By its own words too: those of WordPiece, and of other vocabularies where no token is a space alone."""
    ours, theirs = made(family)
    texts = [passage(900 * place, length) for place, length in enumerate((4, 9, 1, 7))]
    if family not in WORDPIECE and strategy not in ("none", "simple"):
        texts = PLAIN
    found = ours(texts, aggregation_strategy=strategy)
    assert sum(map(len, found)) > 5
    for text, tags in zip(texts, found, strict=True):
        # words that are joined once are decoded twice there, which only tokens of WordPiece bear
        words = strategy in ("none", "simple") or family in WORDPIECE
        assert_same(tags, theirs(text, aggregation_strategy=strategy), words=words)


@pytest.mark.parametrize("family", FAMILIES)
def test_long_texts_are_tagged_from_the_best_windows(family: str, made: Any) -> None:
    ours, theirs = made(family)
    for place, (strategy, stride) in enumerate(
        [("none", 7), ("simple", 12), ("first", 0), ("average", 5), ("max", 18), ("simple", 1)]
    ):
        text = passage(2000 * place, 110)
        expected, windows = join_tags(theirs, text, strategy, LONGEST, stride)
        assert windows >= 4
        found = ours(text, aggregation_strategy=strategy, stride=stride)
        before = 0 if family == "xlnet" else 1
        if strategy == "none":
            expected = [{**each, "index": each["index"] + before} for each in expected]
        assert_same(found, expected, words=strategy in ("none", "simple") or family in WORDPIECE)


@pytest.mark.parametrize("family", FAMILIES)
def test_unusual_texts_are_tagged_as_by_transformers(family: str, made: Any) -> None:
    ours, theirs = made(family)
    for text in UNUSUAL:
        for strategy in ("none", "simple"):
            expected, _ = join_tags(theirs, text, strategy, LONGEST, 5)
            found = ours(text, aggregation_strategy=strategy, stride=5)
            for tag in expected:
                tag.pop("index", None)
            assert_same([{k: v for k, v in tag.items() if k != "index"} for tag in found], expected)


def test_an_entity_across_each_border_is_found_once(tmp_path: Path) -> None:
    """At each place of a text of many windows, and as transformers finds it where no window cuts it."""
    tokenizer = spelled_checkpoint(tmp_path, "token_classification", ("king", "lord"), model_max_length=20)
    ours = pipeline("tag_tokens", model=tmp_path, tokenizer=tokenizer, aggregation_strategy="simple", stride=6)
    theirs = transformers.TokenClassificationPipeline(
        model=transformers.BertForTokenClassification.from_pretrained(tmp_path).eval(),
        tokenizer=transformers.AutoTokenizer.from_pretrained(tmp_path),
        aggregation_strategy="simple",
        stride=6,
    )
    entity = ["king", "lord", "lord"]
    texts = [" ".join(["the"] * place + entity + ["the"] * (55 - place)) for place in range(56)]
    for place, (text, tags) in enumerate(zip(texts, ours(texts), strict=True)):
        (tag,) = tags
        assert (tag["start"], tag["end"]) == (4 * place, 4 * place + 14)
        assert tag["entity_group"] == "PER"
        assert tag["word"] == "king lord lord"
        if place % 5 == 0:
            assert_same(tags, theirs(text))
    # transformers loses this one: longer than what windows share
    long = " ".join(["the"] * 9 + ["king"] + ["lord"] * 30 + ["the"] * 9)
    (tag,) = ours(long)
    assert long[tag["start"] : tag["end"]] == "king" + " lord" * 30
    assert [long[each["start"] : each["end"]] for each in theirs(long)] != ["king" + " lord" * 30]


@pytest.mark.parametrize("family", ["roberta", "xlnet"])
def test_an_entity_across_each_border_in_other_families(family: str, made: Any) -> None:
    """Byte-level pieces, and padding at the left; the model is a function of ids."""
    tokenizer = made(family)[0].tokenizer
    _, lord, hamlet = tokenizer.encode("the lord hamlet").tolist()
    pipe = TagTokens(LettersModel({lord: 1, hamlet: 2}, LABELS, 20), tokenizer, aggregation_strategy="first", stride=4)
    texts = [" ".join(["the"] * (place + 1) + ["lord", "hamlet"] + ["the"] * (45 - place)) for place in range(46)]
    found = pipe(texts, batch_size=7)
    for place, tags in enumerate(found):
        (tag,) = tags
        assert (tag["start"], tag["end"]) == (4 * place + 4, 4 * place + 15)


@pytest.mark.parametrize(
    ("labels", "tagged", "groups"),
    [
        (
            ("O", "B-X", "I-X", "E-X", "S-X"),
            "SS O BIE O BE IE EE BB S I",
            "S S BIE BE IE E E B B S I",
        ),
        (("O", "B-X", "I-X", "L-X", "U-X"), "UU O BIL O LI", "U U BIL L I"),
        (("O", "B-X", "I-X", "C", "D"), "BB O II BI O CC D", "B B II BI CC D"),
    ],
)
def test_schemes(labels: tuple[str, ...], tagged: str, groups: str, made: Any) -> None:
    """Words stand for labels: a text is written in letters, and so are its entities."""
    tokenizer = made("bert")[0].tokenizer
    letters = [label[0] for label in labels]
    words = dict(zip(letters, ("the", "king", "lord", "queen", "and"), strict=True))
    chosen = {tokenizer.token_to_id(word): place for place, word in enumerate(words.values())}
    text = " ".join(words[letter] for letter in tagged if letter != " ")
    pipe = TagTokens(LettersModel(chosen, labels, 30), tokenizer, aggregation_strategy="simple")
    back = {word: letter for letter, word in words.items()}
    found = pipe(text)
    assert ["".join(back[word] for word in tag["word"].split()) for tag in found] == groups.split()
    assert {tag["entity_group"] for tag in found} <= {"X", "C", "D"}


def test_labels_to_ignore(made: Any) -> None:
    pipe, theirs = made("bert")
    text = passage(900, 9)
    for options in (
        {"ignore_labels": []},
        {"ignore_labels": ["O", "B-PER"]},
        {"ignore_labels": ["PER"], "aggregation_strategy": "simple"},
        {"ignore_labels": ("LOC", "O"), "aggregation_strategy": "max"},
    ):
        assert_same(pipe(text, **options), theirs(text, **options))


def test_arrays_are_ragged(made: Any) -> None:
    pipe, _ = made("roberta")
    texts = [passage(900, 40), "", passage(0, 9)]
    arrays = pipe.arrays(texts, aggregation_strategy="average")
    assert len(arrays) == 3
    assert arrays.to_list() == pipe(texts, aggregation_strategy="average")
    assert arrays.offsets[1] == arrays.offsets[2] > 0
    assert set(np.unique(arrays.labels)) <= set(range(len(arrays.names)))
    for row, text in enumerate(texts):
        bounds = slice(arrays.offsets[row], arrays.offsets[row + 1])
        assert (np.diff(arrays.starts[bounds]) > 0).all()
        assert (arrays.ends[bounds] <= len(text)).all()
    assert pipe([]) == []
    assert pipe("", aggregation_strategy="max") == []


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"aggregation_strategy": "last"}, ValueError, "`aggregation_strategy`"),
        ({"ignore_labels": "O"}, TypeError, "`ignore_labels`"),
        ({"stride": -1}, ValueError, "`stride`"),
        ({"stride": 38}, ValueError, "`stride` must be less than the tokens of text that a window has room for, 38"),
        ({"max_length": 2}, ValueError, "has no room for text beside 2 special tokens"),
        ({"max_length": 500}, ValueError, "the model has 70 positions"),
        ({"grouped_entities": True}, TypeError, "no option 'grouped_entities'"),
    ],
)
def test_options_that_cannot_be(options: Any, error: type[Exception], message: str, made: Any) -> None:
    with pytest.raises(error, match=message):
        made("bert")[0]("the king", **options)


def test_windows_are_no_longer_than_the_limit(made: Any) -> None:
    """Of the tokenizer's files, of a call, and of nobody: 512."""
    tokenizer = made("bert")[0].tokenizer
    model = LettersModel({}, LABELS)
    TagTokens(model, tokenizer)(passage(0, 100))
    assert max(model.widths) == LONGEST
    model.widths.clear()
    TagTokens(model, tokenizer)(passage(0, 100), max_length=30)
    assert max(model.widths) == 30


def test_numbers_that_are_none_are_refused(made: Any) -> None:
    class Broken(LettersModel):
        def __call__(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
            out = super().__call__(input_ids, attention_mask)
            out.logits[0, 0] = float("nan")
            return out

    pipe = TagTokens(Broken({}, LABELS), made("bert")[0].tokenizer)
    with pytest.raises(RowError, match="row 0: the model gives values that are no numbers"):
        pipe("the king")
