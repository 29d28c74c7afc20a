"""The merges of BPE: the most frequent pair becomes a symbol, again and again (Gage 1994; Sennrich et al. 2016).

Only words that hold the pair are looked at, and only counts of pairs beside it change. For each merge these changes are
added up by neighbour first, so that the table of pairs is asked once a neighbour and not once an occurrence.

Two rules, each with all its consequences:

``RULE_COUNTS``, of tokenizers
    The count of a pair that has merged stays what it was. A symbol may be made twice, by different pairs that have the
    same text. New places of a pair with old ones are then an entry of their own, so that one pair may merge twice.
``RULE_CODES``, of subword-nmt
    Places of a pair are kept together, and its count is zero after it has merged. Neighbours of the new symbol in a
    word that changes are counted wherever it stands there, so also where it stood before. (What subword-nmt prunes to
    be faster is not pruned here.)

Twin: ``numba_nlp.reference.training.learn_merges``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.tables.hashing import find_piece, hash_bytes, table_bits
from numba_nlp.kernels.training.merge_memory import (
    FULL_BYTES,
    FULL_ENTRIES,
    FULL_MERGES,
    FULL_PAIRS,
    FULL_POSITIONS,
    RULE_CODES,
    RULE_COUNTS,
    State,
)
from numba_nlp.kernels.training.merge_queue import pop_entry, push_entry, refill_queue
from numba_nlp.kernels.training.pair_table import NO_PAIR, add_to_pair, find_pair, pair_count, pair_key
from numba_nlp.kernels.words import shift_right

__all__ = ["DONE", "MORE", "learn_merges"]

#: Returned when training has ended, and when the number of steps asked for is done.
DONE, MORE = 0, 1
_TOKENS, _ENTRIES, _POSITIONS, _MERGES, _PAIRS = (
    State.TOKENS,
    State.ENTRIES,
    State.POSITIONS,
    State.MERGES,
    State.PAIRS,
)
_NEEDED = State.NEEDED
#: In ``MergeMemory.older``: the entry is done with.
_SPENT = -2


@kernel
def _chain_start(memory, rule, entry):
    """The first of the entries whose words a merge of this one looks at."""
    if rule == RULE_COUNTS:
        return entry
    return np.int64(memory.newest[find_pair(memory.slots, memory.keys[entry])])


@kernel
def _check_room(words, tokens, memory, rule, state, entry):
    """0 when a merge of an entry cannot run out of room, else what has too little; ``state[NEEDED]`` says how much."""
    left, right = memory.keys[entry] >> 32, memory.keys[entry] & 0xFFFFFFFF
    offsets = tokens.offsets
    state[_NEEDED] = offsets[state[_TOKENS]] + offsets[left + 1] - offsets[left] + offsets[right + 1] - offsets[right]
    if state[_NEEDED] > tokens.data.size:
        return np.int64(FULL_BYTES)
    state[_NEEDED] = state[_MERGES] + 1
    if 3 * state[_NEEDED] > memory.merges.size:
        return np.int64(FULL_MERGES)
    # every symbol of a word that is looked at stands in two pairs at most
    places = np.int64(0)
    chained = _chain_start(memory, rule, entry)
    while chained >= 0:
        for i in range(memory.firsts[chained], memory.stops[chained]):
            places += 2 * words.lengths[memory.positions[i]]
        chained = np.int64(-1) if rule == RULE_COUNTS else np.int64(memory.older[chained])
    state[_NEEDED] = state[_POSITIONS] + places
    if state[_NEEDED] > memory.positions.size:
        return np.int64(FULL_POSITIONS)
    pairs = min(places, 2 * state[_TOKENS] + 2)
    state[_NEEDED] = state[_ENTRIES] + pairs
    if state[_NEEDED] > memory.counts.size:
        return np.int64(FULL_ENTRIES)
    state[_NEEDED] = state[_PAIRS] + pairs
    if 4 * state[_NEEDED] > memory.slots.size:
        return np.int64(FULL_PAIRS)
    return np.int64(0)


@kernel
def _product(tokens, left, right, state):
    """Symbol of the text of two symbols one behind the other; a new one unless the text has one."""
    data, offsets = tokens.data, tokens.offsets
    number = state[_TOKENS]
    begin = offsets[number]
    stop = begin
    for i in range(offsets[left], offsets[left + 1]):
        data[stop] = data[i]
        stop += 1
    source, end = offsets[right], offsets[right + 1]
    n = tokens.prefix.size
    if n <= end - source:
        same = np.int64(0)
        while same < n and data[source + same] == tokens.prefix[same]:
            same += 1
        if same == n:
            source += n
    for i in range(source, end):
        data[stop] = data[i]
        stop += 1
    known = find_piece(tokens.lookup, data, offsets, data, begin, stop)
    if known >= 0:
        # a special token is as long as what it is merged of, once it is
        tokens.lengths[known] = tokens.lengths[left] + tokens.lengths[right]
        return known
    offsets[number + 1] = stop
    tokens.lengths[number] = tokens.lengths[left] + tokens.lengths[right]
    slot = np.int64(shift_right(hash_bytes(data, begin, stop), 64 - table_bits(tokens.lookup.size)))
    while tokens.lookup[slot] >= 0:
        slot = (slot + 1) & (tokens.lookup.size - 1)
    tokens.lookup[slot] = np.int32(number)
    state[_TOKENS] = number + 1
    return number


@inlined
def _change(step, place, count, n_touched):
    """Add to the change at a place; returns the number of places that are touched."""
    step.changes[place] += count
    if step.marks[place] == 0:
        step.marks[place] = 1
        step.touched[n_touched] = np.int32(place)
        n_touched += 1
    return n_touched


@inlined
def _record(step, place, word, n_records):
    """Note that a word holds a new pair; returns the number of notes."""
    if step.last_words[place] != word:
        step.last_words[place] = np.int32(word)
        step.n_words[place] += 1
        step.record_pairs[n_records] = np.int32(place)
        step.record_words[n_records] = np.int32(word)
        n_records += 1
    return n_records


@kernel
def _merge_word(words, word, left, right, new, lengths, most, step, n_touched, n_records):
    """Merge a pair in a word by ``RULE_COUNTS``; returns how many places are touched and notes taken."""
    symbols = words.symbols
    room = lengths.size
    first = words.starts[word]
    stop = first + words.lengths[word]
    i = first
    while i + 1 < stop and not (symbols[i] == left and symbols[i + 1] == right):
        i += 1
    if i + 1 >= stop:
        return n_touched, n_records
    count = words.counts[word]
    length = np.int64(lengths[left]) + np.int64(lengths[right])
    write = i
    while i < stop:
        if not (symbols[i] == left and i + 1 < stop and symbols[i + 1] == right):
            symbols[write] = symbols[i]
            write += 1
            i += 1
            continue
        if write > first:
            x = np.int64(symbols[write - 1])
            n_touched = _change(step, 2 * room + x, -count, n_touched)
            if lengths[x] + length < most:
                n_touched = _change(step, x, count, n_touched)
                n_records = _record(step, x, word, n_records)
        symbols[write] = np.int32(new)
        write += 1
        i += 2
        if i < stop:
            x = np.int64(symbols[i])
            n_touched = _change(step, 3 * room + x, -count, n_touched)
            if lengths[x] + length < most:
                # the pair of two new symbols has one place
                place = x if x == new else room + x
                n_touched = _change(step, place, count, n_touched)
                n_records = _record(step, place, word, n_records)
    words.lengths[word] = np.int32(write - first)
    return n_touched, n_records


@kernel
def _merge_word_codes(words, word, left, right, new, lengths, most, step, n_touched, n_records):
    """Merge a pair in a word by ``RULE_CODES``; returns how many places are touched and notes taken."""
    symbols = words.symbols
    room = lengths.size
    first = words.starts[word]
    stop = first + words.lengths[word]
    count = words.counts[word]
    i, write = first, first
    before = np.int64(-1)
    while i < stop:
        if not (symbols[i] == left and i + 1 < stop and symbols[i + 1] == right):
            before = np.int64(symbols[i])
            symbols[write] = symbols[i]
            write += 1
            i += 1
            continue
        if i > first:
            n_touched = _change(step, 2 * room + before, -count, n_touched)
        if i + 2 < stop and (symbols[i + 2] != left or i + 3 >= stop or symbols[i + 3] != right):
            n_touched = _change(step, 3 * room + np.int64(symbols[i + 2]), -count, n_touched)
        symbols[write] = np.int32(new)
        write += 1
        i += 2
        before = right
    if write == stop:
        return n_touched, n_records
    words.lengths[word] = np.int32(write - first)
    length = np.int64(lengths[left]) + np.int64(lengths[right])
    for i in range(first, write):
        if symbols[i] != new:
            continue
        if i > first:
            x = np.int64(symbols[i - 1])
            if lengths[x] + length < most:
                n_touched = _change(step, x, count, n_touched)
                n_records = _record(step, x, word, n_records)
        if i + 1 < write and symbols[i + 1] != new:
            x = np.int64(symbols[i + 1])
            if lengths[x] + length < most:
                n_touched = _change(step, room + x, count, n_touched)
                n_records = _record(step, room + x, word, n_records)
    return n_touched, n_records


@inlined
def _key_of(place, room, left, right, new):
    """Pair that a place of :class:`Step` stands for."""
    kind = place // room
    x = place - kind * room
    if kind == 0:
        return pair_key(x, new)
    if kind == 1:
        return pair_key(new, x)
    if kind == 2:
        return pair_key(x, left)
    return pair_key(right, x)


@kernel
def _apply_changes(memory, step, n_touched, room, left, right, new, state):
    """Change the counts of the pairs beside a merged pair."""
    for i in range(n_touched):
        place = np.int64(step.touched[i])
        key = _key_of(place, room, left, right, new)
        if place < 2 * room:
            state[_PAIRS] += add_to_pair(memory.slots, key, step.changes[place])
        else:
            # pairs that were too long to be taken up are in no table
            slot = find_pair(memory.slots, key)
            if memory.slots[2 * slot] != NO_PAIR:
                memory.slots[2 * slot + 1] += step.changes[place]
        step.changes[place] = 0
        step.marks[place] = 0


@kernel
def _enter_new_pairs(tokens, memory, step, n_touched, n_records, rule, left, right, new, state):
    """Make entries of the new pairs, with their words, and let them wait for their turn."""
    room = tokens.lengths.size
    first_entry = state[_ENTRIES]
    for i in range(n_touched):
        place = np.int64(step.touched[i])
        if place >= 2 * room:
            continue
        entry = state[_ENTRIES]
        state[_ENTRIES] += 1
        key = _key_of(place, room, left, right, new)
        memory.keys[entry] = key
        memory.firsts[entry] = state[_POSITIONS]
        memory.stops[entry] = state[_POSITIONS]
        state[_POSITIONS] += np.int64(step.n_words[place])
        # from here on the place of its entry
        step.n_words[place] = np.int32(entry - first_entry)
        if rule == RULE_CODES:
            slot = find_pair(memory.slots, key)
            memory.older[entry] = memory.newest[slot]
            memory.newest[slot] = np.int32(entry)
    for i in range(n_records):
        entry = first_entry + np.int64(step.n_words[step.record_pairs[i]])
        memory.positions[memory.stops[entry]] = step.record_words[i]
        memory.stops[entry] += 1
    for i in range(n_touched):
        place = np.int64(step.touched[i])
        if place < 2 * room:
            step.n_words[place] = 0
            step.last_words[place] = -1
    for entry in range(first_entry, state[_ENTRIES]):
        memory.counts[entry] = pair_count(memory.slots, memory.keys[entry])
        if memory.counts[entry] > 0:
            push_entry(memory, tokens, rule, state, entry)


@kernel
def _merge_entry(words, tokens, memory, step, rule, most, state, entry):
    """Merge the pair of an entry in all its words."""
    key = memory.keys[entry]
    left, right = key >> 32, key & 0xFFFFFFFF
    new = _product(tokens, left, right, state)
    at = 3 * state[_MERGES]
    memory.merges[at] = np.int32(left)
    memory.merges[at + 1] = np.int32(right)
    memory.merges[at + 2] = np.int32(new)
    state[_MERGES] += 1
    n_touched, n_records = np.int64(0), np.int64(0)
    if rule == RULE_COUNTS:
        for i in range(memory.firsts[entry], memory.stops[entry]):
            n_touched, n_records = _merge_word(
                words, np.int64(memory.positions[i]), left, right, new, tokens.lengths, most, step, n_touched, n_records
            )
        _apply_changes(memory, step, n_touched, tokens.lengths.size, left, right, new, state)
    else:
        slot = find_pair(memory.slots, key)
        chained = np.int64(memory.newest[slot])
        memory.newest[slot] = -1
        while chained >= 0:
            for i in range(memory.firsts[chained], memory.stops[chained]):
                n_touched, n_records = _merge_word_codes(
                    words, np.int64(memory.positions[i]), left, right, new, tokens.lengths, most, step, n_touched,
                    n_records,
                )  # fmt: skip
            older = np.int64(memory.older[chained])
            memory.older[chained] = _SPENT
            chained = older
        _apply_changes(memory, step, n_touched, tokens.lengths.size, left, right, new, state)
        memory.slots[2 * slot + 1] = 0
    _enter_new_pairs(tokens, memory, step, n_touched, n_records, rule, left, right, new, state)


@kernel
def learn_merges(words, tokens, memory, step, limits, state, n_steps):
    """Merge the next pairs.

    Parameters
    ----------
    words : TrainingWords
        Changed.
    tokens : Tokens
        Changed: products are added.
    memory : MergeMemory
        Begun by :func:`numba_nlp.kernels.training.count_pairs.fill_places`; changed.
    step : Step
        Scratch for ``T`` symbols, the size of ``tokens.lengths``, and for two notes a symbol of the words.
    limits : Limits
    state : int64[State.SIZE]
        Changed.
    n_steps : int64
        Merges to make at most.

    Returns
    -------
    int64
        ``DONE``: the limits are reached, or no pair is left. ``MORE``: the merges asked for are made. Or one of the
        ``FULL_*`` of :mod:`numba_nlp.kernels.training.merge_memory`: an array must grow to hold ``state[NEEDED]`` of
        its kind; nothing is begun then.

    Notes
    -----
    A merge costs the length of the words that hold its pair, and the logarithm of the entries with similar counts.
    """
    rule = limits.rule
    while n_steps > 0:
        if state[_TOKENS] >= limits.tokens or state[_MERGES] >= limits.merges:
            return np.int64(DONE)
        if refill_queue(memory, tokens, rule, state) == 0:
            return np.int64(DONE)
        entry = np.int64(memory.queue[0])
        if rule == RULE_CODES and memory.older[entry] == _SPENT:
            pop_entry(memory, tokens, rule, state)
            continue
        count = pair_count(memory.slots, memory.keys[entry])
        if count != memory.counts[entry]:
            pop_entry(memory, tokens, rule, state)
            memory.counts[entry] = count
            push_entry(memory, tokens, rule, state, entry)
            continue
        if count < 1 or count < limits.frequency:
            return np.int64(DONE)
        status = _check_room(words, tokens, memory, rule, state, entry)
        if status < 0:
            return status
        pop_entry(memory, tokens, rule, state)
        _merge_entry(words, tokens, memory, step, rule, limits.length, state, entry)
        n_steps -= 1
    return np.int64(MORE)
