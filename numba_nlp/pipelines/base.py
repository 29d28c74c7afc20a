"""What all pipelines share: rows in batches of like lengths, results in the order of the inputs.

A task says how a row is checked (:meth:`Pipeline.check_row`), how rows become inputs of the model
(:meth:`~Pipeline.tokenize`), what is done with a batch of these (:meth:`~Pipeline.forward`), and how that becomes
results (:meth:`~Pipeline.assemble`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import islice
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import flag
from numba_nlp.errors import UnknownIdError
from numba_nlp.generation.looks import looked_at_once
from numba_nlp.pipelines.batches import Batching, plan_batches
from numba_nlp.pipelines.call_options import CALL_OPTIONS, CallOptions
from numba_nlp.pipelines.failures import FailedRow
from numba_nlp.pipelines.option_hints import unknown_option
from numba_nlp.pipelines.progress import rows_bar
from numba_nlp.pipelines.rows import Inputs, check_text, take_texts
from numba_nlp.pipelines.stopwatch import Stopwatch
from numba_nlp.tokenizer import Tokenizer

__all__ = ["Pipeline", "Result", "Units", "to_array"]

#: Rows of a list that are sorted by length together.
ROWS_OF_LISTS = 4096


class Units(Protocol):
    """Inputs of the model; a row has one or, where it is long, several.

    Attributes
    ----------
    lengths : int64[units]
        In tokens.
    numbers : int64[units]
        Of the row of each, in the call.
    """

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each."""
        ...

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of the row of each."""
        ...


class Result(Protocol):
    """Results of some rows, as arrays."""

    def __len__(self) -> int: ...

    def to_list(self) -> list[Any]:
        """One plain result a row."""
        ...

    @classmethod
    def concatenate(cls, parts: Sequence[Any]) -> Any:
        """Results of the rows of all parts; there is at least one part."""
        ...


class Pipeline:
    """A task over a tokenizer and a model; see :func:`pipeline`.

    Pipelines keep no state between calls, so that threads can share one. A row's result does not depend on the rows
    beside it, but for the last bits of scores: sums of another batch are taken in another order.

    Parameters
    ----------
    model : Model
    tokenizer : Tokenizer
    **options
        Defaults of calls: those of the task, and ``batch_size``, ``batch_tokens``, ``progress`` and ``errors``.

    Attributes
    ----------
    model : Model
    tokenizer : Tokenizer
    options : dataclass
        The defaults of the task.
    calls : CallOptions
        Those of all calls.

    Raises
    ------
    ValueError, TypeError
        There is no such option, or it has a value that it cannot have.
    """

    #: Our name of the task.
    task: ClassVar[str] = ""
    #: Heads of models that can do it.
    heads: ClassVar[tuple[str, ...]] = ()
    #: Frozen dataclass of the options of a call.
    option_type: ClassVar[Any] = None
    #: Tokens of a batch, padding included, where nothing is said.
    batch_tokens: ClassVar[int] = 4096
    #: Tokens of a batch on two cores of a CPU, whatever a caller allows: with more, what layers hand on leaves the
    #: caches, and rows are padded for nothing (docs/decisions/0020). None: no such limit.
    tokens_on_two_cores: ClassVar[int | None] = 512
    #: Rows of a stream that are sorted by length together; the first result waits for all of them.
    stream_rows: ClassVar[int] = 256

    def __init__(self, model: Any, tokenizer: Tokenizer, **options: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.calls = CallOptions().over(**{name: options.pop(name) for name in CALL_OPTIONS if name in options})
        self.options = self.take_options(self.default_options(), options)

    @classmethod
    def default_model(cls) -> Any:
        """The model where none is given, or None."""
        return None

    @classmethod
    def read_folder(cls, model: Any, source: Any, hub: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
        """Options that a checkpoint holds in files of its own, beside the config.

        Parameters
        ----------
        model : Model
        source : path-like or name on the hub
            Where it was loaded from.
        hub : dict
            Options of the hub.
        options : dict
            What the caller says, which counts more.
        """
        return {}

    def default_options(self) -> Any:
        """Options as the model's config has them."""
        return self.option_type()

    def take_options(self, defaults: Any, options: dict[str, Any]) -> Any:
        """Options of a call over the defaults.

        Raises
        ------
        TypeError
            There is no such option.
        ValueError
            One has a value that it cannot have (raised by the dataclass).
        """
        known = [field.name for field in fields(defaults)]
        for name in options:
            if name not in known:
                raise unknown_option(self.task, name, known)
        return replace(defaults, **options) if options else defaults

    # what a task says --------------------------------------------------------------------------------------------

    def take_inputs(self, inputs: Any) -> Inputs:
        """Tell one input from many and from a stream."""
        return take_texts(inputs)

    def check_row(self, row: Any, number: int, options: Any) -> Any:
        """A row in the form in which :meth:`tokenize` takes it.

        Raises
        ------
        RowError, MissingRowError
            It is not what the task takes; the message begins with ``row NUMBER:``.
        """
        return check_text(row, number)

    def tokenize(self, rows: Sequence[Any], first: int, options: Any) -> Units:
        """Inputs of the model for rows; ``first`` is the number of the first one in the call.

        Raises
        ------
        RowError
            A row does not fit into the model.
        """
        raise NotImplementedError

    def forward(self, units: Any, batch: NDArray[np.int64], options: Any, watch: Stopwatch) -> Any:
        """What the model makes of some inputs; counts its time as "forward", and what follows on it as "choose"."""
        raise NotImplementedError

    def infer(self, options: Any, **inputs: Any) -> Any:
        """What the model makes of inputs, for tasks whose options are :class:`ReadingOptions`."""
        # here, since this imports torch
        from numba_nlp.generation.inference import infer

        return infer(self.model, **options.computing, **inputs)

    def assemble(
        self,
        rows: Sequence[Any],
        units: Any,
        batches: Sequence[NDArray[np.int64]],
        outputs: Sequence[Any],
        options: Any,
        watch: Stopwatch,
    ) -> Result:
        """Results of rows, from what :meth:`forward` gave for each batch."""
        raise NotImplementedError

    # what all share ----------------------------------------------------------------------------------------------

    def __call__(
        self,
        inputs: Any,
        *,
        batch_size: int | None = None,
        batch_tokens: int | None = None,
        progress: bool | None = None,
        errors: str | None = None,
        timings: bool = False,
        **options: Any,
    ) -> Any:
        """Do the task.

        Parameters
        ----------
        inputs : str, sequence, column or iterator
            One input, many, or a stream. Columns are of NumPy, Arrow, pandas, polars or ``TextRows``.
        batch_size : int, optional
            Most inputs of the model that run together.
        batch_tokens : int, optional
            Most tokens that run together, padding included. Without both, a number that suits the task. Tasks that
            only read run smaller batches on a CPU, where they are quicker.
        progress : bool, optional
            Show a bar; by default not.
        errors : {"raise", "return"}, optional
            By default "raise". "return" puts a :class:`FailedRow` in the place of a row that fails; the others are
            done.
        timings : bool, default False
            Give ``(results, seconds)``, the second a dict of the stages "tokenize", "forward", "choose" and "decode".
        **options
            Of the task, see its class.

        Returns
        -------
        result, list of results, or iterator of results
            As the inputs are.

        Raises
        ------
        RowError, MissingRowError
            A row is not what the task takes, or too long for the model.
        ValueError, TypeError
            An option is none, or has a value that it cannot have.
        """
        settled = self.take_options(self.options, options)
        said = self.calls.over(batch_size=batch_size, batch_tokens=batch_tokens, progress=progress, errors=errors)
        batching = self._batching(said.batch_size, said.batch_tokens)
        flag("timings", timings)
        taken = self.take_inputs(inputs)
        if taken.is_stream and timings:
            raise ValueError("`timings` are of a call that ends, and `inputs` is an iterator; give a list of its rows")
        watch = Stopwatch()

        def lists() -> Iterator[list[Any]]:
            with rows_bar(said.progress, taken, self.task) as advance:
                for first, rows in _chunks(taken, self.stream_rows):
                    if said.errors == "return":
                        yield self._run_or_fail(rows, first, settled, batching, watch, advance)
                    else:
                        yield self._run(rows, first, settled, batching, watch, advance).to_list()

        if taken.is_stream:
            return (result for results in lists() for result in results)
        results = [result for some in lists() for result in some]
        plain = results[0] if taken.is_single else results
        return (plain, watch.seconds) if timings else plain

    def arrays(
        self,
        inputs: Any,
        *,
        batch_size: int | None = None,
        batch_tokens: int | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> Any:
        """Do the task and give arrays over all rows, whose ``to_list()`` is what a call gives.

        Parameters
        ----------
        inputs, batch_size, batch_tokens, progress, **options
            As of a call; a stream is read to its end, and one input is one row.

        Returns
        -------
        dataclass of arrays
            See the class of the task.

        Raises
        ------
        RowError, MissingRowError, ValueError, TypeError
            As of a call.
        """
        settled = self.take_options(self.options, options)
        said = self.calls.over(batch_size=batch_size, batch_tokens=batch_tokens, progress=progress)
        batching = self._batching(said.batch_size, said.batch_tokens)
        taken = self.take_inputs(inputs)
        watch = Stopwatch()
        with rows_bar(said.progress, taken, self.task) as advance:
            parts = [
                self._run(rows, first, settled, batching, watch, advance)
                for first, rows in _chunks(taken, self.stream_rows)
            ] or [self._run([], 0, settled, batching, watch, advance)]
        return type(parts[0]).concatenate(parts)

    def describe(self) -> dict[str, Any]:
        """What the pipeline is made of, and its options."""
        return {
            "task": self.task,
            "family": self.model.family,
            "head": self.model.head,
            "device": str(self.model.device),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "vocabulary": self.tokenizer.vocabulary.digest,
            "options": self.options,
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model.family}, {self.tokenizer!r})"

    def _batching(self, batch_size: object, batch_tokens: object) -> Batching:
        """What a caller allows, and what is quick on this device."""
        batching = Batching.take(batch_size, batch_tokens, self.batch_tokens)
        threads = self.model.cpu_threads
        if self.tokens_on_two_cores is None or threads is None:
            return batching
        return batching.within(self.tokens_on_two_cores * ((threads + 1) // 2))

    def _run(
        self,
        rows: Sequence[Any],
        first: int,
        options: Any,
        batching: Batching,
        watch: Stopwatch,
        advance: Callable[[float], None],
    ) -> Result:
        checked = [self.check_row(row, first + place, options) for place, row in enumerate(rows)]
        with watch("tokenize"):
            units = self.tokenize(checked, first, options)
        lengths = units.lengths
        batches = plan_batches(lengths, batching)
        outputs = []
        # which takes about a millisecond, as long as a small model computes a batch
        with looked_at_once():
            for batch in batches:
                try:
                    outputs.append(self.forward(units, batch, options, watch))
                except UnknownIdError as error:
                    raise error.of_row(int(units.numbers[batch[error.row]])) from error
                advance(batch.size / lengths.size * len(rows))
        return self.assemble(checked, units, batches, outputs, options, watch)

    def _run_or_fail(
        self,
        rows: Sequence[Any],
        first: int,
        options: Any,
        batching: Batching,
        watch: Stopwatch,
        advance: Callable[[float], None],
    ) -> list[Any]:
        """Results of rows, with a FailedRow for each that fails: halves are tried where the whole fails."""
        try:
            return self._run(rows, first, options, batching, watch, advance).to_list()
        except Exception as error:
            if len(rows) == 1:
                return [FailedRow(first, error)]
        middle = len(rows) // 2
        return [
            result
            for some, start in ((rows[:middle], first), (rows[middle:], first + middle))
            for result in self._run_or_fail(some, start, options, batching, watch, advance)
        ]


def to_array(tensor: Any) -> NDArray[np.float32]:
    """Numbers of a model on the host, as float32 (which 16-bit numbers have no type for in NumPy)."""
    return np.ascontiguousarray(tensor.detach().float().cpu().numpy())


def _chunks(taken: Inputs, stream_rows: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """Rows that are sorted together, each with the number of its first one."""
    first = 0
    if not taken.is_stream:
        assert isinstance(taken.rows, Sequence)
        for first in range(0, len(taken.rows), ROWS_OF_LISTS):
            yield first, taken.rows[first : first + ROWS_OF_LISTS]
        return
    while True:
        rows: list[Any] = []
        failure: Exception | None = None
        try:
            rows.extend(islice(taken.rows, stream_rows))  # keeps what came before an error
        except Exception as error:
            failure = error
        if rows:
            yield first, rows
        if failure is not None:
            raise failure
        if not rows:
            return
        first += len(rows)
