"""What is read from assembly is what the processor's manual says, and what compiled kernels are known to hold."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest
from numba import config, typeof

from numba_nlp.kernels.generation.row_values import holds_numbers
from numba_nlp.kernels.segment.renumber import renumber
from tools import kernel_assembly, kernel_variants
from tools.assembly_text import Instruction, count_kinds, functions, inner_loops, kind_of

x86 = pytest.mark.skipif(
    platform.machine() not in {"x86_64", "AMD64"} or bool(config.DISABLE_JIT), reason="reads compiled x86-64 code"
)
ROW = "(float32[::1],)"
#: Two loops, one in the other, and data that is no code.
LISTING = """
	.file	"<string>"
.LCPI0_0:
	.long	0x7f800000
	.type	_ZN4some5rooms4nameB2v1B3abcE5ArrayE,@function
_ZN4some5rooms4nameB2v1B3abcE5ArrayE:
	xorl	%eax, %eax
.LBB0_1:
	xorl	%ecx, %ecx
.LBB0_2:                                # =>  inner
	vaddps	(%rdi,%rcx,4), %zmm0, %zmm0
	incq	%rcx
	cmpq	%rcx, %rsi
	jne	.LBB0_2
	incq	%rax
	cmpq	%rax, %rdx
	jne	.LBB0_1
	jmp	.LBB0_3
.LBB0_3:
	lock		incq	(%rdi)
	retq
.Lfunc_end0:
	.size	_ZN4some5rooms4nameB2v1B3abcE5ArrayE, .Lfunc_end0
	.type	NRT_incref,@function
NRT_incref:
	retq
"""


def test_functions_and_their_inner_loops() -> None:
    first, second = functions(LISTING)
    assert [len(first.instructions), second.name] == [12, "NRT_incref"]
    (loop,) = inner_loops(first)
    assert loop.label == ".LBB0_2"
    assert [instruction.name for instruction in loop.instructions] == ["vaddps", "incq", "cmpq", "jne"]
    assert loop.bits == 512
    assert count_kinds(loop.instructions) == {"vector": 1, "integer": 2, "branch": 1}
    assert first.instructions[-2] == Instruction("lock incq", "(%rdi)")
    assert inner_loops(second) == []


@pytest.mark.parametrize(
    ("name", "operands", "kind"),
    [
        ("vaddps", "%ymm1, %ymm0, %ymm0", "vector"),
        ("vaddss", "%xmm1, %xmm0, %xmm0", "scalar float"),
        ("vfmadd231sd", "%xmm1, %xmm0, %xmm2", "scalar float"),
        ("vfmadd231pd", "%xmm1, %xmm0, %xmm2", "vector"),
        ("vcmpltss", "%xmm1, %xmm0, %k0", "scalar float"),
        ("vucomiss", "(%rax), %xmm0", "scalar float"),
        ("vbroadcastss", "(%rcx), %zmm0", "vector"),  # ends as scalars do, fills all lanes
        ("vpdpbusd", "(%rcx), %zmm0, %zmm1", "vector"),
        ("vpmaxsd", "%zmm0, %zmm1, %zmm1", "vector"),
        ("movsd", "(%rax), %xmm0", "scalar float"),
        ("vcvtusi2sdq", "(%rcx,%rsi,8), %xmm15, %xmm2", "conversion"),
        ("vcvttps2udq", "%zmm0, %zmm0", "conversion"),
        ("vcvtss2sd", "%xmm0, %xmm0, %xmm0", "conversion"),
        ("korw", "%k4, %k0, %k0", "mask"),
        ("movq", "(%rax), %rcx", "integer"),
        ("lock incq", "(%rdi)", "atomic"),
        ("xchgq", "%rax, (%rdi)", "atomic"),
        ("xchgq", "%rax, %rdi", "integer"),
        ("callq", "*%rbp", "call"),
        ("jae", ".LBB0_4", "branch"),
    ],
)
def test_kinds_of_instructions(name: str, operands: str, kind: str) -> None:
    assert kind_of(Instruction(name, operands)) == kind


def test_names_in_symbols() -> None:
    assert kernel_assembly.dotted_name("_ZN4some5rooms4nameB2v1B3abcE5ArrayE") == "some.rooms.name"
    assert kernel_assembly.dotted_name("cfunc._ZN4some4nameB2v1E") == "some.name"
    assert kernel_assembly.dotted_name("NRT_incref") == "NRT_incref"


@x86
def test_a_loop_without_a_way_out_is_vectorised_and_one_with_is_not() -> None:
    kept = kernel_assembly.loops(holds_numbers, ROW)
    assert max(loop.bits for loop in kept) >= 128
    assert any(count_kinds(loop.instructions).get("vector", 0) >= 4 for loop in kept)
    (lost,) = kernel_assembly.loops(kernel_variants.holds_numbers_leaving, ROW)
    assert "vector" not in count_kinds(lost.instructions)
    again = kernel_assembly.loops(holds_numbers, (typeof(np.ones(3, np.float32)),))
    assert [loop.instructions for loop in again] == [loop.instructions for loop in kept]
    assert "fcmp" in kernel_assembly.llvm_ir(holds_numbers, ROW)


@x86
def test_losses_show() -> None:
    def kinds(function: object, types: str, **options: object) -> dict[str, int]:
        return count_kinds(kernel_assembly.loops(function, types, **options)[-1].instructions)

    assert "conversion" in kinds(kernel_variants.mixed_as_float, "(uint64[::1],)")
    assert "conversion" not in kinds(kernel_variants.mixed, "(uint64[::1],)")
    types = "(int32[::1], int32[::1], int64)"
    assert kinds(renumber, types, boundscheck=True)["branch"] > kinds(renumber, types)["branch"]
    types = "(UniTuple(int64[::1], 2), int64[::1])"
    assert "lock" not in kernel_assembly.assembly(kernel_variants.sum_until_empty, types)
    assert "lock" in kernel_assembly.assembly(kernel_variants.sum_until_empty, types, _nrt=True)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="compares compiled code with plain")
def test_variants_give_what_they_stand_for() -> None:
    random = np.random.default_rng(0)
    row = random.standard_normal(1000).astype(np.float32)
    for value in (0.0, np.nan, np.inf, -np.inf):
        row[700] = value
        assert kernel_variants.holds_numbers_leaving(row) == (value in {0.0, -np.inf})
        assert kernel_variants.holds_numbers_leaving(row) == holds_numbers(row)
    data = random.integers(9, 12, 50_000).astype(np.uint8)
    assert kernel_variants.count_lines_narrow(data) == data.tobytes().count(b"\n")


@x86
def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = "numba_nlp.kernels.generation.row_values:holds_numbers"
    assert kernel_assembly.main([place, ROW, "--loop", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("numba_nlp.kernels.generation.row_values.holds_numbers: ")
    assert printed.count(" registers") == 1
    assert kernel_assembly.main([place, ROW, "--whole"]) == 0
    assert "    retq\n" in capsys.readouterr().out
    for arguments, message in (
        ((place.replace(":", "."), ROW), "is not MODULE:NAME"),
        (("numba_nlp.kernels.words:nothing", ROW), "'numba_nlp.kernels.words:nothing' is not there"),
        ((place, "(float33[::1],)"), "'(float33[::1],)' are no types of Numba"),
        ((place, "()"), "names no types"),
        ((place, "(unicode_type,)"), "Failed in nopython mode"),
    ):
        assert kernel_assembly.main(list(arguments)) == 2
        assert message in capsys.readouterr().err
