from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TrainerSpec(_message.Message):
    __slots__ = ("model_type", "vocab_size", "character_coverage", "input_sentence_size", "seed_sentencepiece_size", "shrinking_factor", "num_sub_iterations", "max_sentence_length", "shuffle_input_sentence", "max_sentencepiece_length", "split_by_unicode_script", "split_by_whitespace", "split_by_number", "treat_whitespace_as_suffix", "split_digits", "allow_whitespace_only_pieces", "control_symbols", "user_defined_symbols", "hard_vocab_limit", "use_all_vocab", "byte_fallback", "required_chars", "unk_id", "bos_id", "eos_id", "pad_id", "unk_surface", "unk_piece", "bos_piece", "eos_piece", "pad_piece")
    MODEL_TYPE_FIELD_NUMBER: _ClassVar[int]
    VOCAB_SIZE_FIELD_NUMBER: _ClassVar[int]
    CHARACTER_COVERAGE_FIELD_NUMBER: _ClassVar[int]
    INPUT_SENTENCE_SIZE_FIELD_NUMBER: _ClassVar[int]
    SEED_SENTENCEPIECE_SIZE_FIELD_NUMBER: _ClassVar[int]
    SHRINKING_FACTOR_FIELD_NUMBER: _ClassVar[int]
    NUM_SUB_ITERATIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_SENTENCE_LENGTH_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_INPUT_SENTENCE_FIELD_NUMBER: _ClassVar[int]
    MAX_SENTENCEPIECE_LENGTH_FIELD_NUMBER: _ClassVar[int]
    SPLIT_BY_UNICODE_SCRIPT_FIELD_NUMBER: _ClassVar[int]
    SPLIT_BY_WHITESPACE_FIELD_NUMBER: _ClassVar[int]
    SPLIT_BY_NUMBER_FIELD_NUMBER: _ClassVar[int]
    TREAT_WHITESPACE_AS_SUFFIX_FIELD_NUMBER: _ClassVar[int]
    SPLIT_DIGITS_FIELD_NUMBER: _ClassVar[int]
    ALLOW_WHITESPACE_ONLY_PIECES_FIELD_NUMBER: _ClassVar[int]
    CONTROL_SYMBOLS_FIELD_NUMBER: _ClassVar[int]
    USER_DEFINED_SYMBOLS_FIELD_NUMBER: _ClassVar[int]
    HARD_VOCAB_LIMIT_FIELD_NUMBER: _ClassVar[int]
    USE_ALL_VOCAB_FIELD_NUMBER: _ClassVar[int]
    BYTE_FALLBACK_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_CHARS_FIELD_NUMBER: _ClassVar[int]
    UNK_ID_FIELD_NUMBER: _ClassVar[int]
    BOS_ID_FIELD_NUMBER: _ClassVar[int]
    EOS_ID_FIELD_NUMBER: _ClassVar[int]
    PAD_ID_FIELD_NUMBER: _ClassVar[int]
    UNK_SURFACE_FIELD_NUMBER: _ClassVar[int]
    UNK_PIECE_FIELD_NUMBER: _ClassVar[int]
    BOS_PIECE_FIELD_NUMBER: _ClassVar[int]
    EOS_PIECE_FIELD_NUMBER: _ClassVar[int]
    PAD_PIECE_FIELD_NUMBER: _ClassVar[int]
    model_type: int
    vocab_size: int
    character_coverage: float
    input_sentence_size: int
    seed_sentencepiece_size: int
    shrinking_factor: float
    num_sub_iterations: int
    max_sentence_length: int
    shuffle_input_sentence: bool
    max_sentencepiece_length: int
    split_by_unicode_script: bool
    split_by_whitespace: bool
    split_by_number: bool
    treat_whitespace_as_suffix: bool
    split_digits: bool
    allow_whitespace_only_pieces: bool
    control_symbols: _containers.RepeatedScalarFieldContainer[bytes]
    user_defined_symbols: _containers.RepeatedScalarFieldContainer[bytes]
    hard_vocab_limit: bool
    use_all_vocab: bool
    byte_fallback: bool
    required_chars: bytes
    unk_id: int
    bos_id: int
    eos_id: int
    pad_id: int
    unk_surface: bytes
    unk_piece: bytes
    bos_piece: bytes
    eos_piece: bytes
    pad_piece: bytes
    def __init__(self, model_type: _Optional[int] = ..., vocab_size: _Optional[int] = ..., character_coverage: _Optional[float] = ..., input_sentence_size: _Optional[int] = ..., seed_sentencepiece_size: _Optional[int] = ..., shrinking_factor: _Optional[float] = ..., num_sub_iterations: _Optional[int] = ..., max_sentence_length: _Optional[int] = ..., shuffle_input_sentence: bool = ..., max_sentencepiece_length: _Optional[int] = ..., split_by_unicode_script: bool = ..., split_by_whitespace: bool = ..., split_by_number: bool = ..., treat_whitespace_as_suffix: bool = ..., split_digits: bool = ..., allow_whitespace_only_pieces: bool = ..., control_symbols: _Optional[_Iterable[bytes]] = ..., user_defined_symbols: _Optional[_Iterable[bytes]] = ..., hard_vocab_limit: bool = ..., use_all_vocab: bool = ..., byte_fallback: bool = ..., required_chars: _Optional[bytes] = ..., unk_id: _Optional[int] = ..., bos_id: _Optional[int] = ..., eos_id: _Optional[int] = ..., pad_id: _Optional[int] = ..., unk_surface: _Optional[bytes] = ..., unk_piece: _Optional[bytes] = ..., bos_piece: _Optional[bytes] = ..., eos_piece: _Optional[bytes] = ..., pad_piece: _Optional[bytes] = ...) -> None: ...

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
