"""The one place that imports ``njit``: decorator, registry, cache policy, warm-up.

Why not plain ``@njit(cache=True)``: Numba keys a cached function by its own source file only, so a cached caller keeps
the old code of a callee that was edited in another file; it ignores compile flags; and it raises at import when no
cache folder can be written. Here one digest of every kernel source, the versions, the processor and the flags names
the cache folder, so nothing stale can ever be loaded, and without a writable folder kernels compile uncached.

Environment
-----------
NUMBA_NLP_CACHE_DIR
    Folder of the compiled kernels (default: the user's cache folder).
NUMBA_NLP_CACHE
    ``0`` switches the cache off.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
import re
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite.binding import add_symbol, address_of_symbol
from numba import njit
from numba.core import config as _config
from numba.core import sigutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.ccallback import CFunc
from numba.core.runtime import _nrt_python
from numba.core.serialize import dumps
from numba.core.types.misc import unliteral

from numba_nlp import _callees

__all__ = [
    "DIGEST",
    "NativeFunction",
    "PythonFunction",
    "apart",
    "cache_folder",
    "inlined",
    "kernel",
    "kernels",
    "native",
    "python_function",
    "warmup",
]

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
#: Every kernel by its dotted name, in definition order.
kernels: dict[str, Any] = {}
#: Functions with one explicit signature: dotted name -> what compiles them. See :func:`warmup`.
_later: dict[str, Callable[[], Any]] = {}
#: Entry points that only some tokenizers need.
_OF_SOME = ("._fastcall.stages.", "._fastcall.texts.")
#: Options of every kernel. ``_nrt=False``: kernels own no memory, so no reference is ever counted; with counting on,
#: an atomic increment and decrement at each use of an array from a tuple took half of the time of encoding.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}


def _sources_digest() -> str:
    """Digest of what decides the machine code: sources, versions, processor, flags."""
    state = hashlib.sha256()
    # errors.py holds the status codes, which are constants in compiled code
    others = [_PACKAGE / "_jit.py", _PACKAGE / "_callees.py", _PACKAGE / "errors.py", *_PACKAGE.glob("_fastcall/*.py")]
    for path in sorted([*_PACKAGE.glob("kernels/**/*.py"), *others]):
        state.update(path.relative_to(_PACKAGE).as_posix().encode())
        state.update(path.read_bytes())
    import llvmlite
    import numpy as np

    flags = (
        sys.version,
        sys.platform,
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        _config.CPU_NAME,
        _config.CPU_FEATURES,
        _config.BOUNDSCHECK,
        _config.OPT.__class__.__name__,
        str(_config.OPT),
        _config.DEBUGINFO_DEFAULT,
        os.environ.get("NUMBA_NLP_PLAIN", "0"),
        _host_processor(),
    )
    state.update(repr(flags).encode())
    return state.hexdigest()[:20]


def _host_processor() -> str:
    """Name and features of this processor, as code is generated for it."""
    from llvmlite import binding

    features = ",".join(sorted(name for name, on in binding.get_host_cpu_features().items() if on))
    return f"{binding.get_host_cpu_name()}:{features}"


#: Names the compiled code of this version on this machine; put it into cached kernels of your own that call ours.
DIGEST: str = _sources_digest()


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Folder that holds the compiled kernels of this version, or None when none can be written.

    Without optimisation (``NUMBA_OPT=0``) nothing is cached: such code keeps addresses of its process, which Numba
    calls dynamic globals, that optimised code has no use for.
    """
    if os.environ.get("NUMBA_NLP_CACHE", "1") == "0" or _config.DISABLE_JIT or int(_config.OPT) == 0:
        return None
    given = os.environ.get("NUMBA_NLP_CACHE_DIR")
    if given:
        root = Path(given)
    else:
        from platformdirs import user_cache_path

        root = user_cache_path("numba_nlp", appauthor=False)
    folder = root / DIGEST
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        warnings.warn(
            f"numba_nlp cannot write its kernel cache {str(folder)!r} ({error}); kernels are compiled anew in every "
            "process. Set NUMBA_NLP_CACHE_DIR to a writable folder, or NUMBA_NLP_CACHE=0 to silence this.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return folder


class _DigestLocator(_CacheLocator):
    """Cache location and stamp that depend on the digest only, not on the one source file of a function."""

    def __init__(self, folder: Path, qualified_name: str, py_file: str) -> None:
        self._folder = str(folder)
        self._name = qualified_name
        # Numba's warning that a function cannot be cached names it
        self._py_file = py_file

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return DIGEST

    def get_disambiguator(self) -> str:
        return hashlib.sha256(self._name.encode()).hexdigest()[:8]

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _DigestLocator | None:
        folder = cache_folder()
        return None if folder is None else cls(folder, f"{py_func.__module__}.{py_func.__qualname__}", py_file)


#: What Numba's runtime gives to compiled code, by the names that it has there.
_RUNTIME = {name if name.startswith("_") else f"NRT_{name}": at for name, at in _nrt_python.c_helpers.items()}


def _is_known(symbol: str) -> bool:
    """Whether compiled code that calls a symbol can be loaded."""
    if address_of_symbol(symbol) is not None:
        return True
    if symbol in _RUNTIME:
        # what refresh() would do, after compiling more of the runtime
        add_symbol(symbol, _RUNTIME[symbol])
        return True
    return False


class _CacheImpl(CompileResultCacheImpl):
    """Beside the code stands what it calls, so that loading knows whether this process has all of it."""

    _locator_classes = [_DigestLocator]

    def reduce(self, data: Any) -> Any:
        module = data.library._final_module
        symbols = {item.name for item in (*module.functions, *module.global_variables) if item.is_declaration}
        return sorted(name for name in symbols if not name.startswith("llvm.")), super().reduce(data)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        symbols, reduced = payload
        if not all(map(_is_known, symbols)):
            target_context.refresh()
        if _callees.is_callee(reduced):
            return _callees.rebuild(target_context, reduced)
        return super().rebuild(target_context, reduced)


class _EntryFiles:
    """One file for each compiled signature of a function, named by its key; nothing is shared between writers.

    Numba's own way is an index file that is read, changed and written back: when two processes each add a signature
    of one function at the same time, both may name the same data file, and later one gets the code of the other.

    Parameters
    ----------
    folder : Path
    base : str
        Beginning of the file names; distinct for each function.
    """

    def __init__(self, folder: Path, base: str) -> None:
        self._folder = folder
        self._base = base

    def _path(self, name: bytes) -> Path:
        return self._folder / f"{self._base}.{hashlib.sha256(name).hexdigest()[:16]}.nbc"

    def load(self, key: Any) -> Any:
        """What was saved for a key, or None.

        Raises
        ------
        ValueError
            The file is damaged.
        """
        name = repr(key).encode()
        path = self._path(name)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        if hashlib.sha256(content[32:] + name).digest() != content[:32]:
            raise ValueError(f"{path} is damaged")
        return pickle.loads(content[32:])  # noqa: S301  the user's own cache folder, as Numba does

    def save(self, key: Any, data: Any) -> None:
        """Write the file of a key, whole or not at all."""
        name, content = repr(key).encode(), dumps(data)
        path = self._path(name)
        unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}.tmp")
        try:
            unfinished.write_bytes(hashlib.sha256(content + name).digest() + content)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    def flush(self) -> None:
        """Remove all files of the function."""
        for path in self._folder.glob(f"{self._base}.*.nbc"):
            path.unlink(missing_ok=True)


class _Cache(FunctionCache):
    """Numba's cache of a function over :class:`_EntryFiles`; a cache that fails costs time, never the call."""

    _impl_class = _CacheImpl

    def __init__(self, function: Any, kind: str = "") -> None:
        super().__init__(function)
        self._cache_file = _EntryFiles(Path(self._cache_path), f"{self._impl.filename_base}{kind}")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """As Numba does it, but for ``target_context.refresh()``, which :class:`_CacheImpl` calls if need be.

        That imports what compiles: every type and function that Numba knows, 80 MB and half a second.
        """
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception as error:  # damaged content may fail in any way
            self._warn("read", error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self._warn("write", error)

    def _warn(self, what: str, error: Exception) -> None:
        warnings.warn(
            f"numba_nlp cannot {what} its kernel cache {self._cache_path!r} ({type(error).__name__}: {error}); the "
            "kernel is compiled anew. Make room or mend the folder, or set NUMBA_NLP_CACHE=0 to silence this.",
            RuntimeWarning,
            stacklevel=2,
        )


def _no_extensions() -> None:
    """Leave the packages that extend Numba alone."""


def _compile(function: Any, *, compiler: Any = _callees.CalleeCompiler, **options: Any) -> Any:
    dispatcher = njit(nogil=True, no_cfunc_wrapper=True, **_OPTIONS, **options)(function)
    if _config.DISABLE_JIT:
        return dispatcher
    _separate_callee(dispatcher, _new_callee(function, options, compiler))
    # Called before the types of arguments are looked at: imports all packages that extend Numba (awkward: 45 MB), none
    # of whose types a kernel takes. Whatever compiles asks for them all the same.
    dispatcher._compilation_chain_init_hook = _no_extensions
    if cache_folder() is not None:
        dispatcher._cache = _Cache(function)
        dispatcher._can_fallback = False
    return dispatcher


def _new_callee(function: Any, options: dict[str, Any], compiler: Any = _callees.CalleeCompiler) -> Any:
    """A kernel as compiled callers see it: without what only calls from Python need.

    That is unpacking of Python objects, tens of arrays often, which takes longer to compile than what is called.
    """
    callee = njit(
        pipeline_class=compiler,
        nogil=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        **_OPTIONS,
        **options,
    )(function)
    if cache_folder() is not None:
        callee._cache = _Cache(function, "callee")
        callee._can_fallback = False
    return callee


def _separate_callee(dispatcher: Any, callee: Any) -> None:
    """Let compiled callers of a kernel call another dispatcher of the same function, once for all constants.

    Numba types a constant argument as this constant, so ``f(x, 0)`` and ``f(x, n)`` would be two kernels, and so would
    all that they call with it. What the optimiser makes of constants does not depend on that.
    """

    def get_call_template(args: Any, kws: Any) -> Any:
        return callee.get_call_template(
            tuple(unliteral(arg) for arg in args), {name: unliteral(arg) for name, arg in kws.items()}
        )

    dispatcher.get_call_template = get_call_template
    dispatcher.get_overload = callee.get_overload


def kernel(function: F) -> F:
    """Compile ``function`` for the types that it is first called with; helpers and users' building blocks.

    Compiled code releases the GIL and follows numpy's error model. Nothing compiles before the first call.
    """
    dispatcher = _compile(function)
    kernels[f"{function.__module__}.{function.__qualname__}"] = dispatcher
    return dispatcher


def inlined(function: F) -> F:
    """As :func:`kernel`, and always inlined into compiled callers.

    For functions on the hot path that take tuples of arrays: an array is seven machine arguments, so a call with the
    tables, the cache and the scratch of a tokenizer pushes 240 words on the stack (measured: about 150 ns).
    """
    dispatcher = _compile(function, forceinline=True)
    kernels[f"{function.__module__}.{function.__qualname__}"] = dispatcher
    return dispatcher


def apart(function: F) -> F:
    """As :func:`kernel`, and never inlined into compiled callers; all arguments are numbers, arrays go by address.

    For the innermost loops. Inlined into a kernel that holds tens of arrays they get what registers are left: every
    pointer was loaded from the stack again in each turn, 14 of 38 instructions.
    """
    # said aloud, since Numba lets callees take this option over from who calls them
    dispatcher = _compile(function, compiler=_callees.ApartCompiler, forceinline=False)
    kernels[f"{function.__module__}.{function.__qualname__}"] = dispatcher
    return dispatcher


class NativeFunction:
    """A kernel with a C signature: called through its address by other kernels, or through ``ctypes``.

    Compiled, or loaded from the cache, when its address is first asked for.
    """

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._function = CFunc(function, sigutils.normalize_signature(signature), {}, dict(_OPTIONS))
        if cache_folder() is not None:
            self._function._cache = _Cache(function)  # type: ignore[attr-defined]
        self._ready = False

    def _compiled(self) -> Any:
        if not self._ready:
            self._function.compile()
            self._ready = True
        return self._function

    @property
    def address(self) -> int:
        """Address of the C function."""
        return int(self._compiled().address)

    @property
    def call(self) -> Callable[..., int]:
        """The function through ``ctypes``, which lets go of the GIL during the call."""
        return self._compiled().ctypes


def native(signature: Any) -> Callable[[Callable[..., Any]], NativeFunction]:
    """Make a :class:`NativeFunction`; all arguments are numbers, arrays go by address.

    Parameters
    ----------
    signature : str or numba signature
    """

    def decorate(function: Callable[..., Any]) -> NativeFunction:
        made = NativeFunction(function, signature)
        _later[f"{function.__module__}.{function.__qualname__}"] = lambda: made.address
        return made

    return decorate


class PythonFunction:
    """A kernel that takes and returns Python objects and keeps the GIL; called without Numba's dispatcher."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._dispatcher = njit(**_OPTIONS)(function)
        if cache_folder() is not None:
            self._dispatcher._cache = _Cache(function)
        self._arguments = sigutils.normalize_signature(signature)[0]
        self._signature = signature
        self._call: Callable[..., Any] | None = None

    @property
    def call(self) -> Callable[..., Any]:
        """The compiled entry point: a plain builtin function."""
        if self._call is None:
            self._dispatcher.compile(self._signature)
            self._call = self._dispatcher.overloads[self._arguments].entry_point
        return self._call


def python_function(signature: Any) -> Callable[[Callable[..., Any]], PythonFunction]:
    """Make a :class:`PythonFunction`.

    Parameters
    ----------
    signature : numba signature
    """

    def decorate(function: Callable[..., Any]) -> PythonFunction:
        made = PythonFunction(function, signature)
        _later[f"{function.__module__}.{function.__qualname__}"] = lambda: made.call
        return made

    return decorate


def warmup(names: Iterable[str] | None = None, *, progress: Callable[[str], None] | None = None) -> None:
    """Compile entry points now, or load them from the cache.

    The row encoders of all patterns, or of some, and what every tokenizer calls by address. A tokenizer at hand
    compiles just what it needs, its array kernels included, by :meth:`numba_nlp.tokenizer.Tokenizer.warmup`.

    Parameters
    ----------
    names : iterable of str, optional
        Parts of names of row encoders to compile, such as ``"gpt2"``; default: all of them.
    progress : callable, optional
        Called with the dotted name of each entry point before it compiles.

    Raises
    ------
    ValueError
        A part is in no name.

    Examples
    --------
    >>> import numba_nlp
    >>> numba_nlp.warmup(["gpt2"])
    """
    importlib.import_module("numba_nlp._fastcall.families").make_all()
    if isinstance(names, str):
        raise TypeError(f"`names` is one str; pass [{names!r}]")
    wanted = None if names is None else list(names)
    for part in wanted or ():
        if not any(part in name for name in _later):
            raise ValueError(f"`names` holds {part!r}, which is in none of: {', '.join(sorted(_later))}")
    rows = [name for name in _later if ".rows_" in name and (wanted is None or any(part in name for part in wanted))]
    for name, compile_now in _later.items():
        # what a family's row encoders share is `encode_unseen_<family>`, and for words of raw text two more
        family = re.fullmatch(r".*\.(?:encode_unseen|segment|solve)_(\w+)", name)
        is_shared = any(f".rows_{family[1]}_" in encoder for encoder in rows) if family else ".rows_" not in name
        if any(part in name for part in _OF_SOME):
            is_shared = wanted is None or any(part in name for part in wanted)
        if is_shared or name in rows:
            if progress is not None:
                progress(name)
            compile_now()
