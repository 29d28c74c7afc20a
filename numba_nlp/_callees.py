"""Kernels as their compiled callers need them: code to be inlined, no machine code of their own.

Numba makes machine code of each function that another one calls, and optimises it twice, although the caller links in
the intermediate code, inlines most of it and optimises the whole. Nearly all functions of this package are called by
others alone. Here they are simplified once, without vectors, and machine code is made of what Python or C calls; this
is how compilers divide the work that optimise while linking. A first call took 44 % less time, with the same speed
afterwards (docs/decisions/0015-callees.md).
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference

__all__ = ["ApartCompiler", "CalleeCompiler", "CalleeLibrary", "is_callee", "rebuild"]

#: Beside the kinds of library that Numba keeps, "object" and "bitcode".
KIND = "callee"


class _NoEnvironments:
    """Stands for the code generator where Numba tells compiled code of the constants that boxing and printing use.

    There is no address to write it to before a caller is compiled, and kernels use no such constants.
    """

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Called by Numba with what a callee does not need."""


class CalleeLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Optimised code that callers link in; the engine that makes machine code never sees it."""

    @property
    def codegen(self) -> Any:
        """What Numba asks for only to set environments."""
        return _NoEnvironments

    def _optimize_final_module(self) -> None:
        # simplified only: loops are unrolled and vectorised where they end up
        manager, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=self._codegen._opt_level, cost="cheap"
        )
        manager.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Null: there is nothing to call from Python."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> Any:
        """What the cache keeps: the code to be linked."""
        self._ensure_finalized()
        return self.name, KIND, self._get_module_for_linking().as_bitcode()


class ApartLibrary(CalleeLibrary):
    """The same for code that callers link in and call: never inlined."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Called by Numba with the code of the function."""
        for function in ll_module.functions:
            if not function.is_declaration:
                function.add_function_attribute("noinline")
        super().add_llvm_module(ll_module)


@register_pass(mutates_CFG=False, analysis_only=True)
class _UseCalleeLibrary(FunctionPass):  # type: ignore[misc]
    """Gives the lowering pass, which would make a library of its own, the one that makes no machine code."""

    _name = "use_callee_library"
    kind: type[CalleeLibrary] = CalleeLibrary

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = self.kind(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _UseApartLibrary(_UseCalleeLibrary):
    """The same for code that is not inlined."""

    _name = "use_apart_library"
    kind = ApartLibrary


class CalleeCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's passes for compiled code, into a :class:`CalleeLibrary`."""

    library_pass: type[_UseCalleeLibrary] = _UseCalleeLibrary

    def define_pipelines(self) -> list[Any]:
        """Called by Numba for each function."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(self.library_pass, NopythonTypeInference)
        passes.finalize()
        return [passes]


class ApartCompiler(CalleeCompiler):
    """Numba's passes for compiled code, into an :class:`ApartLibrary`."""

    library_pass = _UseApartLibrary


class _Codegen:
    """The code generator of a target, which reads :class:`CalleeLibrary`."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def unserialize_library(self, kept: Any) -> CalleeLibrary:
        """The library that was kept; its code is optimised already."""
        name, _, bitcode = kept
        library = CalleeLibrary(self._codegen, name)
        library._final_module = library._shared_module = binding.parse_bitcode(bitcode)
        library._finalize_final_module()
        return library


class _Target:
    """A target whose code generator is :class:`_Codegen`."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def codegen(self) -> _Codegen:
        """Called by Numba for what reads a library."""
        return _Codegen(self._target.codegen())


def is_callee(reduced: Any) -> bool:
    """Whether something kept was a callee."""
    return bool(reduced[0][1] == KIND)


def rebuild(target_context: Any, reduced: Any) -> Any:
    """A callee as it was kept."""
    return CompileResult._rebuild(_Target(target_context), *reduced)._replace(target_context=target_context)
