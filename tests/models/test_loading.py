"""Checkpoint folders: formats of weights, names, tied tensors; and damaged, foreign, hostile ones by their errors."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import numba_nlp as nlp
from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError
from tests.models.tiny import CLOSE, assert_same, draw_ids, make_reference, save, torch

safetensors_torch = pytest.importorskip("safetensors.torch", reason="needs safetensors")

VOCABULARY = 60
SETTINGS = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 20,
}
WORDS = "bert.embeddings.word_embeddings.weight"
DECODER = "cls.predictions.decoder.weight"


@pytest.fixture(scope="module")
def reference() -> Any:
    return make_reference("BertForMaskedLM", **SETTINGS)


@pytest.fixture(scope="module")
def config(reference: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return json.loads((save(reference, tmp_path_factory.mktemp("config")) / "config.json").read_bytes())


@pytest.fixture(scope="module")
def tensors(reference: Any) -> dict[str, Any]:
    """As transformers saves them: without the tied matrix, and with one of the two names of the tied bias."""
    state = {name: value.clone() for name, value in reference.state_dict().items()}
    del state[DECODER], state["cls.predictions.decoder.bias"]
    return state


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, config: dict[str, Any], tensors: dict[str, Any]) -> Write:
    """Write a folder; changed values of its config (None: left out), and of its tensors (the same)."""

    def write(*, settings: dict[str, Any] | None = None, changed: dict[str, Any] | None = None) -> Path:
        whole = {**config, **(settings or {})}
        (tmp_path / "config.json").write_text(json.dumps({k: v for k, v in whole.items() if v is not None}))
        held = {**tensors, **(changed or {})}
        safetensors_torch.save_file({k: v for k, v in held.items() if v is not None}, tmp_path / "model.safetensors")
        return tmp_path

    return write


def assert_is(folder: Path, reference: Any, **options: Any) -> None:
    ids = draw_ids(2, 9, VOCABULARY)
    with torch.no_grad():
        assert_same(nlp.load_model(folder, **options)(ids), reference(ids))


# ------------------------------------------------------------------------------------------------ formats


def test_one_file_of_safetensors(write: Write, reference: Any) -> None:
    assert_is(write(), reference)


def test_many_files_of_safetensors(tmp_path: Path, reference: Any) -> None:
    folder = save(reference, tmp_path, max_shard_size="10KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 2
    assert_is(folder, reference)


@pytest.mark.parametrize("new_format", [True, False])
def test_one_file_of_pytorch(
    tmp_path: Path, write: Write, tensors: dict[str, Any], reference: Any, new_format: bool
) -> None:
    folder = write()
    (folder / "model.safetensors").unlink()
    # such files hold tied tensors twice
    tied = {**tensors, DECODER: tensors[WORDS]}
    torch.save(tied, folder / "pytorch_model.bin", _use_new_zipfile_serialization=new_format)
    assert_is(folder, reference)


def test_many_files_of_pytorch(write: Write, tensors: dict[str, Any], reference: Any) -> None:
    folder = write()
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    files = {name: f"pytorch_model-{i % 2 + 1:05d}-of-00002.bin" for i, name in enumerate(names)}
    for file in set(files.values()):
        torch.save({name: tensors[name] for name in names if files[name] == file}, folder / file)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": files}))
    assert_is(folder, reference)


def test_safetensors_come_first(write: Write, reference: Any) -> None:
    folder = write()
    (folder / "pytorch_model.bin").write_bytes(b"not read")
    assert_is(folder, reference)


def test_a_folder_of_links(tmp_path: Path, write: Write, reference: Any) -> None:
    """The cache of the hub has links that lead out of the folder."""
    folder = tmp_path / "links"
    folder.mkdir()
    for file in write().iterdir():
        if file.is_file():
            (folder / file.name).symlink_to(file)
    assert_is(folder, reference)


def test_from_the_cache_of_the_hub(tmp_path: Path, write: Write, reference: Any) -> None:
    source = write()
    commit = "0123456789abcdef0123456789abcdef01234567"
    snapshot = tmp_path / "hub" / "models--someone--a-bert" / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text(commit)
    for name in ("config.json", "model.safetensors"):
        (snapshot / name).write_bytes((source / name).read_bytes())
    options = {"cache_dir": tmp_path / "hub", "local_files_only": True}
    model = nlp.load_model("someone/a-bert", **options)
    ids = draw_ids(1, 5, VOCABULARY)
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, reference(ids).logits, **CLOSE)
    with pytest.raises(FileNotFoundError, match="someone/other: there is no such file or folder, and no checkpoint"):
        nlp.load_model("someone/other", **options)
    # without safetensors the other format is looked for
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(SourceFormatError, match="there are no weights that can be read; wanted: "):
        nlp.load_model("someone/a-bert", **options)


# -------------------------------------------------------------------------------------------------- names


def test_names_without_and_with_prefix(write: Write, tensors: dict[str, Any], reference: Any) -> None:
    base = {name: value for name, value in tensors.items() if name.startswith("bert.")}
    bare = dict.fromkeys(tensors) | {name.removeprefix("bert."): value for name, value in base.items()}
    ids = draw_ids(2, 9, VOCABULARY)
    with torch.no_grad():
        expected = reference.bert(ids).last_hidden_state
    for changed in ({}, bare):
        model = nlp.load_model(write(changed=changed, settings={"architectures": ["BertModel"]}))
        torch.testing.assert_close(model(ids).last_hidden_state, expected, **CLOSE)


def test_old_names_and_buffers(write: Write, tensors: dict[str, Any], reference: Any) -> None:
    norms = {name for name in tensors if "LayerNorm" in name}
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensors[name]
        for name in norms
    }
    ignored = {
        "bert.embeddings.position_ids": torch.arange(20)[None],
        "cls.seq_relationship.weight": torch.zeros(2, 24),
        "bert.pooler.dense.weight": torch.zeros(24, 24),
    }
    assert_is(write(changed={**dict.fromkeys(norms), **old, **ignored}), reference)


@pytest.mark.parametrize("architectures", [None, [], ["SomethingElse"], "BertModel"])
def test_head_says_what_config_does_not(write: Write, reference: Any, architectures: Any) -> None:
    folder = write(settings={"architectures": architectures})
    with pytest.raises((SourceFormatError, UnsupportedFeatureError), match="head"):
        nlp.load_model(folder)
    assert_is(folder, reference, head="masked_lm")


# --------------------------------------------------------------------------------------------------- tied


def test_tied_matrix_under_the_name_of_the_output(write: Write, tensors: dict[str, Any], reference: Any) -> None:
    assert_is(write(changed={WORDS: None, DECODER: tensors[WORDS]}), reference)


def test_tied_matrix_twice(write: Write, tensors: dict[str, Any], reference: Any) -> None:
    assert_is(write(changed={DECODER: tensors[WORDS].clone()}), reference)


@pytest.mark.parametrize("tied", [True, False])
def test_matrices_that_differ_are_not_tied(write: Write, tensors: dict[str, Any], tied: bool) -> None:
    """What transformers makes of such a file is the reference: two matrices, whatever config.json says."""
    from transformers import BertForMaskedLM

    other = torch.randn(VOCABULARY, 24, generator=torch.Generator().manual_seed(3))
    bias = torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(4))
    changed = {DECODER: other, "cls.predictions.decoder.bias": bias}
    folder = write(settings={"tie_word_embeddings": tied}, changed=changed)
    reference = BertForMaskedLM.from_pretrained(folder).eval()
    assert_is(folder, reference)
    model = nlp.load_model(folder)
    assert torch.equal(model.masked_lm.output.weight, other)
    assert torch.equal(model.encoder.embeddings.tokens.weight, tensors[WORDS])


def test_an_untied_matrix_that_is_missing(write: Write) -> None:
    with pytest.raises(SourceFormatError, match=f"missing: '{DECODER}'"):
        nlp.load_model(write(settings={"tie_word_embeddings": False}))


# ------------------------------------------------------------------------------------------ kinds, memory


@pytest.mark.parametrize("stored", ["float32", "bfloat16", "float16", "float64"])
@pytest.mark.parametrize("named", [None, "dtype", "torch_dtype"])
def test_dtype_is_that_of_the_checkpoint(write: Write, tensors: dict[str, Any], stored: str, named: str | None) -> None:
    settings = {"dtype": None, "torch_dtype": None, **({named: stored} if named else {})}
    changed = {name: value.to(getattr(torch, stored)) for name, value in tensors.items()}
    folder = write(settings=settings, changed=changed)
    model = nlp.load_model(folder)
    assert {parameter.dtype for parameter in model.parameters()} == {getattr(torch, stored)}
    for wanted in ("bfloat16", torch.float32):
        model = nlp.load_model(folder, dtype=wanted)
        expected = changed[WORDS].to(model.dtype)
        assert torch.equal(model.encoder.embeddings.tokens.weight, expected)


def test_dtype_that_config_names_is_taken_first(write: Write) -> None:
    assert nlp.load_model(write(settings={"dtype": "float16"})).dtype == torch.float16


@pytest.mark.parametrize("dtype", ["int8", "float", torch.int64, 3])
def test_dtype_that_is_none(write: Write, dtype: Any) -> None:
    with pytest.raises(ValueError, match="dtype= must be one of 'float64', 'float32', 'float16', 'bfloat16'"):
        nlp.load_model(write(), dtype=dtype)


_MEASURE = """
import json, sys, threading, time
import numba_nlp as nlp

def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon"))

def watch():
    global peak
    while going:
        peak = max(peak, anonymous())
        time.sleep(0.0005)

nlp.load_model(sys.argv[1])  # whatever a first call allocates
# some operations on tensors without memory import these, in seconds
assert not {"sympy", "torch._dynamo"} & set(sys.modules)
for folder in sys.argv[2:]:
    for dtype in ("bfloat16", "float32"):
        before, peak, going = anonymous(), 0, True
        thread = threading.Thread(target=watch)
        thread.start()
        model = nlp.load_model(folder, dtype=dtype)
        going = False
        thread.join()
        size = sum(p.numel() * p.element_size() for p in model.parameters())
        print(json.dumps([folder, dtype, size, max(peak, anonymous()) - before]))
        del model
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see memory")
def test_weights_load_without_a_second_copy(write: Write, tmp_path: Path, tensors: dict[str, Any]) -> None:
    """At the peak there is little more than the model itself; a float32 copy beside it would double or treble that."""
    rows = 800_000
    large = {WORDS: torch.ones(rows, 24), "cls.predictions.bias": torch.ones(rows)}
    written = write(settings={"vocab_size": rows}, changed=large)
    folders = [tmp_path / name for name in ("small", "safetensors", "bin")]
    for folder in folders:
        folder.mkdir()
        (folder / "config.json").write_bytes((written / "config.json").read_bytes())
    (written / "model.safetensors").rename(folders[1] / "model.safetensors")
    torch.save({**tensors, **large}, folders[2] / "pytorch_model.bin")
    for file in write().iterdir():
        if file.is_file():
            file.rename(folders[0] / file.name)
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *map(str, folders)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(Path(folder).name, dtype, size > 35e6) for folder, dtype, size, _ in lines] == [
        (name, dtype, True) for name in ("safetensors", "bin") for dtype in ("bfloat16", "float32")
    ]
    for folder, dtype, size, peak in lines:
        assert peak < 1.15 * size + 4e6, (folder, dtype, size, peak)


# ------------------------------------------------------------------------------------------------- errors


def test_all_that_is_wrong_with_tensors_is_listed(write: Write) -> None:
    changed = {
        "bert.encoder.layer.1.attention.self.key.weight": None,
        "cls.predictions.bias": None,
        "bert.encoder.layer.0.output.dense.weight": torch.zeros(24, 41),
        "bert.encoder.layer.0.output.dense.bias": torch.zeros(24, dtype=torch.int64),
        "bert.encoder.layer.2.output.dense.bias": torch.zeros(24),
        "cls.predictions.transform.dense.scale": torch.zeros(1),
        "something.else": torch.zeros(1),
    }
    with pytest.raises(SourceFormatError) as caught:
        nlp.load_model(write(changed=changed, settings={"position_embedding_type": "relative_key"}))
    for part in (
        "tensors without a place in the model: 'bert.encoder.layer.2.output.dense.bias', "
        "'cls.predictions.transform.dense.scale', 'something.else'",
        "'bert.encoder.layer.0.output.dense.weight' has the shape [24, 41], config.json makes it [24, 40]",
        "'bert.encoder.layer.0.output.dense.bias' holds torch.int64, not floating-point numbers",
        "missing: 'bert.encoder.layer.1.attention.self.key.weight', 'cls.predictions.decoder.bias'",
        "`position_embedding_type` 'relative_key' is not supported; supported: 'absolute'",
    ):
        assert part in str(caught.value)


def test_all_that_is_unsupported_is_listed(write: Write) -> None:
    settings = {
        "position_embedding_type": "relative_key_query",
        "is_decoder": True,
        "add_cross_attention": True,
        "hidden_act": "laplace",
        "pruned_heads": {"0": [1]},
        "quantization_config": {"quant_method": "gptq"},
    }
    with pytest.raises(UnsupportedFeatureError) as caught:
        nlp.load_model(write(settings=settings))
    for name, value in settings.items():
        assert f"`{name}` {value!r} is not supported" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vocab_size", "60"),
        ("vocab_size", 0),
        ("hidden_size", -24),
        ("hidden_size", 10**30),
        ("hidden_size", True),
        ("num_attention_heads", 5),
        ("num_hidden_layers", 10**9),
        ("num_hidden_layers", 2.0),
        ("layer_norm_eps", "1e-12"),
        ("layer_norm_eps", float("nan")),
        ("tie_word_embeddings", 1),
        ("hidden_act", 3),
        ("id2label", {"1": "a", "2": "b"}),
        ("id2label", {"0": 3}),
        ("id2label", [1]),
    ],
)
def test_values_that_are_malformed(write: Write, name: str, value: Any) -> None:
    with pytest.raises(SourceFormatError, match=f"`{name}`") as caught:
        nlp.load_model(write(settings={name: value, "intermediate_size": None, "max_position_embeddings": None}))
    assert "config.json" in str(caught.value)


@pytest.mark.parametrize("value", [None, 3, "gpt5"])
def test_families_that_are_not_there(write: Write, value: Any) -> None:
    message = r"`model_type` must be a string|the family 'gpt5' are not supported; those of .*bert, "
    with pytest.raises((SourceFormatError, UnsupportedFeatureError), match=message):
        nlp.load_model(write(settings={"model_type": value}))


def test_heads_that_are_not_there(write: Write) -> None:
    with pytest.raises(ValueError, match=r"head= must be one of 'none', .*'discriminator', got 'lm'"):
        nlp.load_model(write(), head="lm")
    with pytest.raises(UnsupportedFeatureError, match="the family 'bert' has no head 'discriminator'; it has 'none', "):
        nlp.load_model(write(), head="discriminator")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b'"text"'])
def test_config_that_is_no_object(write: Write, content: bytes) -> None:
    folder = write()
    (folder / "config.json").write_bytes(content)
    with pytest.raises(SourceFormatError, match=r"config\.json: (this is not JSON|expected an object)"):
        nlp.load_model(folder)


def test_sources_that_are_no_folder(tmp_path: Path, write: Write) -> None:
    file = write() / "model.safetensors"
    with pytest.raises(SourceFormatError, match="this is a file; a model is loaded from its folder"):
        nlp.load_model(file)
    with pytest.raises(FileNotFoundError, match="there is no such folder, and this cannot be the name"):
        nlp.load_model(tmp_path / "not" / "there")
    with pytest.raises(TypeError, match="`source` must be a path"):
        nlp.load_model(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="load_model has no option 'torch_dtype'"):
        nlp.load_model(tmp_path, torch_dtype="float16")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceFormatError, match=r"the file 'config.json' is missing"):
        nlp.load_model(tmp_path / "empty")


@pytest.mark.parametrize("missing", ["torch", "safetensors"])
def test_packages_that_are_missing(write: Write, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModuleNotFoundError, match=re.escape(f"needs {missing}, which is not installed: pip install")):
        nlp.load_model(folder)


@pytest.mark.parametrize("name", ["../model.safetensors", "/etc/passwd", "a/b.safetensors", "..", "", "c\\d.bin"])
def test_an_index_that_leads_elsewhere(write: Write, name: str) -> None:
    folder = write()
    (folder / "model.safetensors").unlink()
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {WORDS: name, "x": "gone.safetensors", "y": "config.json"}}))
    with pytest.raises(SourceFormatError) as caught:
        nlp.load_model(folder)
    assert f"{name!r} is no name of a file in this folder" in str(caught.value)
    assert "the file 'gone.safetensors' is missing" in str(caught.value)
    assert "'config.json' is no file of weights" in str(caught.value)


@pytest.mark.parametrize("value", [None, [], {}, {"a": 3}, "x"])
def test_an_index_that_is_malformed(write: Write, value: Any) -> None:
    folder = write()
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": value}))
    with pytest.raises(SourceFormatError, match="`weight_map` must map names of tensors to names of files"):
        nlp.load_model(folder)


def test_an_index_that_lies(write: Write, tensors: dict[str, Any]) -> None:
    folder = write()
    (folder / "model.safetensors").rename(folder / "one.safetensors")
    safetensors_torch.save_file({WORDS: tensors[WORDS]}, folder / "two.safetensors")
    files = {WORDS: "two.safetensors", "not.there": "one.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
    with pytest.raises(SourceFormatError) as caught:
        nlp.load_model(folder)
    assert f"the tensor {WORDS!r} is in two files" in str(caught.value)
    assert "the index names tensors that no file holds: 'not.there'" in str(caught.value)


def test_two_names_of_one_tensor(write: Write, tensors: dict[str, Any]) -> None:
    with pytest.raises(SourceFormatError, match=f"are the same tensor {WORDS!r}"):
        nlp.load_model(write(changed={WORDS.removeprefix("bert."): tensors[WORDS].clone()}))


def _damages(content: bytes) -> dict[str, bytes]:
    header = int.from_bytes(content[:8], "little")
    shape = content.index(b'"shape":[')
    offsets = content.index(b'"data_offsets":[')
    return {
        "empty": b"",
        "cut in the header": content[: header // 2],
        "cut in the data": content[:-10],
        "header longer than the file": (1 << 40).to_bytes(8, "little") + content[8:],
        "header is no JSON": content[:8] + b"x" * header + content[8 + header :],
        "shape": content[: shape + 9] + b"9" + content[shape + 10 :],
        "offsets": content[: offsets + 16] + b"9" + content[offsets + 17 :],
        "more behind": content + b"x",
        "text": b"no tensors here at all",
    }


@pytest.mark.parametrize("damage", list(_damages(b'\2\0\0\0\0\0\0\0{}"shape":[1],"data_offsets":[0,1]')))
def test_damaged_safetensors(write: Write, damage: str) -> None:
    file = write() / "model.safetensors"
    file.write_bytes(_damages(file.read_bytes())[damage])
    with pytest.raises(SourceFormatError, match="this is no sound safetensors file"):
        nlp.load_model(file.parent)


class _Runs:
    """Would make a folder if it were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_pickles_do_not_run(tmp_path: Path, write: Write, tensors: dict[str, Any]) -> None:
    folder = write()
    (folder / "model.safetensors").unlink()
    made = tmp_path / "made by a pickle"
    for content in ({**tensors, "x": _Runs(made)}, _Runs(made)):
        torch.save(content, folder / "pytorch_model.bin")
        with pytest.raises(SourceFormatError, match="or it holds more than tensors, which is not read"):
            nlp.load_model(folder)
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(content))
        with pytest.raises(SourceFormatError, match="or it holds more than tensors, which is not read"):
            nlp.load_model(folder)
    assert not made.exists()


@pytest.mark.parametrize("content", [b"", b"text", b"PK\3\4", b"\x80\2}q\0."])
def test_damaged_pytorch_files(write: Write, content: bytes) -> None:
    folder = write()
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(SourceFormatError, match=r"pytorch_model\.bin"):
        nlp.load_model(folder)


def test_pytorch_files_that_are_cut(write: Write, tensors: dict[str, Any]) -> None:
    folder = write()
    (folder / "model.safetensors").unlink()
    file = folder / "pytorch_model.bin"
    torch.save(tensors, file)
    whole = file.read_bytes()
    for length in (100, len(whole) // 2, len(whole) - 5):
        file.write_bytes(whole[:length])
        with pytest.raises(SourceFormatError, match="this is no sound file of weights"):
            nlp.load_model(folder)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\2N.")
    with pytest.raises(SourceFormatError, match=r"this is no sound file of weights|expected tensors by name"):
        nlp.load_model(folder)


def test_pytorch_files_of_other_things(write: Write, tensors: dict[str, Any]) -> None:
    folder = write()
    (folder / "model.safetensors").unlink()
    torch.save([tensors], folder / "pytorch_model.bin")
    with pytest.raises(SourceFormatError, match="expected tensors by name, got list"):
        nlp.load_model(folder)
    torch.save({**tensors, "epoch": 3, "sparse": torch.eye(3).to_sparse()}, folder / "pytorch_model.bin")
    with pytest.raises(SourceFormatError) as caught:
        nlp.load_model(folder)
    assert "'epoch' of 'pytorch_model.bin' is no dense tensor but int" in str(caught.value)
    assert "'sparse' of 'pytorch_model.bin' is no dense tensor but Tensor" in str(caught.value)


def test_messages_are_bounded(write: Write) -> None:
    """A checkpoint of another model would list hundreds of names."""
    changed = {f"layer.{i}.weight": torch.zeros(1) for i in range(500)}
    with pytest.raises(SourceFormatError, match=re.escape("'layer.115.weight' and 480 more")) as caught:
        nlp.load_model(write(changed=changed))
    assert len(str(caught.value)) < 2000
