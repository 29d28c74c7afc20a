"""Rules, callables and warpers, in transformers' order, over the logits of one step: ``RowEdits`` as tensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from numba_nlp.generation.device.host_calls import HostCalls
from numba_nlp.generation.device.row_rules import Restrictions
from numba_nlp.generation.device.row_values import log_sum_exp
from numba_nlp.generation.device.warpers import warp_rows
from numba_nlp.generation.plan import Plan

__all__ = ["DeviceEdits"]

#: Rows of values have a multiple of so many columns, so that each begins where wide loads may.
_ALIGNED = 32


class DeviceEdits:
    """What changes the logits of a step before tokens are taken from them.

    Parameters
    ----------
    plan : Plan
    calls : HostCalls
    device : torch.device
    per_prompt : int
        Rows of each prompt that are edited at once: all of them, or those of one group.
    """

    def __init__(self, plan: Plan, calls: HostCalls, device: torch.device, per_prompt: int) -> None:
        self._logarithms = plan.config.num_beams > 1
        self._renormalize = plan.config.renormalize_logits
        self._vocabulary = plan.vocabulary
        self._calls = calls
        self._rules = plan.row_rules()
        columns = (plan.vocabulary // _ALIGNED + 1) * _ALIGNED
        self._restrictions = Restrictions(self._rules, plan.vocabulary, columns, device)

        def of_rows(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.repeat(array.astype(np.int64), per_prompt, axis=0)).to(device)

        self._sources, self._firsts = of_rows(plan.source_ids()), of_rows(plan.firsts())
        n_rows = plan.prompts.ids.shape[0] * per_prompt
        self._wide = torch.zeros(n_rows, columns, device=device)
        self._no_shift = torch.zeros(n_rows, dtype=torch.float64, device=device)

    def __call__(
        self,
        logits: Tensor,
        rows: Tensor,
        filled: Tensor,
        going_on: Tensor,
        *,
        first: Callable[[Tensor], None] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Change the logits of one step.

        Parameters
        ----------
        logits : Tensor
            ``[R, V]``; left as they are.
        rows, filled : Tensor
            int64 ``[R, T]``: tokens so far, and the columns of them, a scalar.
        going_on : Tensor
            bool ``[P]``: prompts that are not done.
        first : callable, optional
            Changes the values, with more columns than there are tokens, before the rules do.

        Returns
        -------
        values : Tensor
            float32 ``[R, V]``; overwritten by the next call.
        shift : Tensor
            float64 ``[R]``: the value of a token is its logit less this; NaN where the model gave no number.
        """
        wide = self._wide
        values = wide[:, : self._vocabulary]
        values.copy_(logits)
        shift = log_sum_exp(values) if self._logarithms else self._no_shift
        if first is not None:
            first(wide)
        self._calls.allow(values, rows, filled, going_on)
        self._restrictions.apply_history_rules(wide, shift, rows, self._firsts, filled, self._sources)
        self._restrictions.apply_forced_rules(wide, shift, filled)
        if self._calls.has_processors:
            if self._logarithms:
                values.copy_((values.double() - shift[:, None]).float())
                shift = self._no_shift
            self._calls.process(values, rows, filled, going_on)
        return values, shift

    def warp(self, values: Tensor) -> None:
        """Temperature, and what the options of sampling keep. The shift is to be divided by the temperature."""
        warp_rows(values, self._rules)

    def renormalize(self, values: Tensor, shift: Tensor) -> Tensor:
        """The shift that makes values log-probabilities again, if the options say so; after everything else."""
        if not self._renormalize:
            return shift
        total = log_sum_exp(values)
        return torch.where(total == float("-inf"), shift, total)
