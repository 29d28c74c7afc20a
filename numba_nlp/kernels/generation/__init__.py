"""From a row of logits to the next token: rules, sampling, selection and the bookkeeping of beams."""
