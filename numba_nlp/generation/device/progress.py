"""What a step tells the host: how many rows are open, and whether something is wrong; few numbers, read late."""

from __future__ import annotations

from collections import deque

import torch
from torch import Tensor

from numba_nlp.generation.edits import no_numbers, no_token

__all__ = ["Mailbox", "Report", "refuse_trouble"]

_NO_NUMBERS, _NO_TOKEN = 1, 2


class Report:
    """Numbers on the device.

    Parameters
    ----------
    n_tokens : int
        So many tokens are sent too.
    device : torch.device

    Attributes
    ----------
    numbers : Tensor
        int64: open rows or sentences, what is wrong (0: nothing), in which row, after how many tokens; and the tokens,
        and of each whether its row was open.
    """

    def __init__(self, n_tokens: int, device: torch.device) -> None:
        self._n_tokens = n_tokens
        self.numbers = torch.zeros(4 + 2 * n_tokens, dtype=torch.int64, device=device)

    def fill(
        self,
        still_open: Tensor,
        no_numbers: Tensor,
        no_token: Tensor,
        filled: Tensor,
        tokens: Tensor,
        was_open: Tensor | None = None,
    ) -> None:
        """Note the state after a step. The first trouble stays.

        Parameters
        ----------
        still_open : Tensor
            int64 scalar.
        no_numbers, no_token : Tensor
            bool ``[R]``: rows whose logits are no numbers, or of which no token is left.
        filled : Tensor
            int64 scalar: columns before the step.
        tokens : Tensor
            int64 ``[R]``.
        was_open : Tensor, optional
            bool ``[R]``, where tokens are sent.
        """
        wrong = no_numbers | no_token
        row = wrong.long().argmax()
        kinds = no_numbers.long() * (_NO_NUMBERS - _NO_TOKEN) + _NO_TOKEN
        kind = kinds.index_select(0, row[None])[0] * wrong.any()
        trouble = self.numbers[1:4]
        trouble.copy_(torch.where(trouble[0] == 0, torch.stack([kind, row, filled]), trouble))
        self.numbers[0].copy_(still_open)
        if self._n_tokens:
            assert was_open is not None
            self.numbers[4:].copy_(torch.cat([tokens, was_open.long()]))


def refuse_trouble(numbers: Tensor) -> None:
    """Raise what a report says.

    Raises
    ------
    ValueError
        Something is wrong.
    """
    kind, row, filled = numbers[1:4].tolist()
    if kind:
        raise (no_numbers if kind == _NO_NUMBERS else no_token)(row, filled)


class Mailbox:
    """Copies of reports, on their way to the host.

    On CUDA they go to pinned memory, and only who takes one waits for it.

    Parameters
    ----------
    like : Tensor
        What is posted.
    late : int
        So many may be on their way.
    """

    def __init__(self, like: Tensor, late: int) -> None:
        self._on_cuda = like.device.type == "cuda"
        self._late = late
        self._free = [torch.zeros(like.shape, dtype=like.dtype, pin_memory=self._on_cuda) for _ in range(late + 1)]
        self._posted: deque[tuple[Tensor, torch.cuda.Event | None]] = deque()

    def __len__(self) -> int:
        return len(self._posted)

    @property
    def full(self) -> bool:
        """Whether the oldest must be taken before another is posted."""
        return len(self._posted) > self._late

    def post(self, numbers: Tensor) -> None:
        """Send one; does not wait."""
        copy = self._free.pop()
        copy.copy_(numbers, non_blocking=True)
        arrival = None
        if self._on_cuda:
            arrival = torch.cuda.Event()
            arrival.record()
        self._posted.append((copy, arrival))

    def take(self) -> Tensor:
        """The oldest one, a copy on the host; waits until it has arrived."""
        copy, arrival = self._posted.popleft()
        if arrival is not None:
            arrival.synchronize()
        self._free.append(copy)
        return copy.clone()
