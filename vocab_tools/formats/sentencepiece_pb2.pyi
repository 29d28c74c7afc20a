from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TrainerSpec(_message.Message):
    __slots__ = ("model_type", "treat_whitespace_as_suffix", "byte_fallback", "unk_id", "bos_id", "eos_id", "unk_surface", "unk_piece", "bos_piece", "eos_piece", "pad_piece")
    MODEL_TYPE_FIELD_NUMBER: _ClassVar[int]
    TREAT_WHITESPACE_AS_SUFFIX_FIELD_NUMBER: _ClassVar[int]
    BYTE_FALLBACK_FIELD_NUMBER: _ClassVar[int]
    UNK_ID_FIELD_NUMBER: _ClassVar[int]
    BOS_ID_FIELD_NUMBER: _ClassVar[int]
    EOS_ID_FIELD_NUMBER: _ClassVar[int]
    UNK_SURFACE_FIELD_NUMBER: _ClassVar[int]
    UNK_PIECE_FIELD_NUMBER: _ClassVar[int]
    BOS_PIECE_FIELD_NUMBER: _ClassVar[int]
    EOS_PIECE_FIELD_NUMBER: _ClassVar[int]
    PAD_PIECE_FIELD_NUMBER: _ClassVar[int]
    model_type: int
    treat_whitespace_as_suffix: bool
    byte_fallback: bool
    unk_id: int
    bos_id: int
    eos_id: int
    unk_surface: bytes
    unk_piece: bytes
    bos_piece: bytes
    eos_piece: bytes
    pad_piece: bytes
    def __init__(self, model_type: _Optional[int] = ..., treat_whitespace_as_suffix: bool = ..., byte_fallback: bool = ..., unk_id: _Optional[int] = ..., bos_id: _Optional[int] = ..., eos_id: _Optional[int] = ..., unk_surface: _Optional[bytes] = ..., unk_piece: _Optional[bytes] = ..., bos_piece: _Optional[bytes] = ..., eos_piece: _Optional[bytes] = ..., pad_piece: _Optional[bytes] = ...) -> None: ...

class NormalizerSpec(_message.Message):
    __slots__ = ("name", "precompiled_charsmap", "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRECOMPILED_CHARSMAP_FIELD_NUMBER: _ClassVar[int]
    ADD_DUMMY_PREFIX_FIELD_NUMBER: _ClassVar[int]
    REMOVE_EXTRA_WHITESPACES_FIELD_NUMBER: _ClassVar[int]
    ESCAPE_WHITESPACES_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    precompiled_charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool
    def __init__(self, name: _Optional[bytes] = ..., precompiled_charsmap: _Optional[bytes] = ..., add_dummy_prefix: bool = ..., remove_extra_whitespaces: bool = ..., escape_whitespaces: bool = ...) -> None: ...

class SelfTestData(_message.Message):
    __slots__ = ("samples",)
    class Sample(_message.Message):
        __slots__ = ("input", "expected")
        INPUT_FIELD_NUMBER: _ClassVar[int]
        EXPECTED_FIELD_NUMBER: _ClassVar[int]
        input: bytes
        expected: bytes
        def __init__(self, input: _Optional[bytes] = ..., expected: _Optional[bytes] = ...) -> None: ...
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    samples: _containers.RepeatedCompositeFieldContainer[SelfTestData.Sample]
    def __init__(self, samples: _Optional[_Iterable[_Union[SelfTestData.Sample, _Mapping]]] = ...) -> None: ...

class ModelProto(_message.Message):
    __slots__ = ("pieces", "trainer_spec", "normalizer_spec", "self_test_data", "denormalizer_spec")
    class SentencePiece(_message.Message):
        __slots__ = ("piece", "score", "type")
        PIECE_FIELD_NUMBER: _ClassVar[int]
        SCORE_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        piece: bytes
        score: float
        type: int
        def __init__(self, piece: _Optional[bytes] = ..., score: _Optional[float] = ..., type: _Optional[int] = ...) -> None: ...
    PIECES_FIELD_NUMBER: _ClassVar[int]
    TRAINER_SPEC_FIELD_NUMBER: _ClassVar[int]
    NORMALIZER_SPEC_FIELD_NUMBER: _ClassVar[int]
    SELF_TEST_DATA_FIELD_NUMBER: _ClassVar[int]
    DENORMALIZER_SPEC_FIELD_NUMBER: _ClassVar[int]
    pieces: _containers.RepeatedCompositeFieldContainer[ModelProto.SentencePiece]
    trainer_spec: TrainerSpec
    normalizer_spec: NormalizerSpec
    self_test_data: SelfTestData
    denormalizer_spec: NormalizerSpec
    def __init__(self, pieces: _Optional[_Iterable[_Union[ModelProto.SentencePiece, _Mapping]]] = ..., trainer_spec: _Optional[_Union[TrainerSpec, _Mapping]] = ..., normalizer_spec: _Optional[_Union[NormalizerSpec, _Mapping]] = ..., self_test_data: _Optional[_Union[SelfTestData, _Mapping]] = ..., denormalizer_spec: _Optional[_Union[NormalizerSpec, _Mapping]] = ...) -> None: ...
