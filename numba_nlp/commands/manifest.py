"""The record of a folder of shards: which files of which sources are finished, and how they were made.

``_manifest.json`` (readers of folders of Parquet files leave out names that begin with ``_``)::

    {"format": "numba_nlp shards", "version": 1,
     "settings": {"<id>": {...}},
     "sources": {"/corpus/a.txt": {"bytes": ..., "mtime_ns": ..., "settings": "<id>", "complete": true,
                                   "shards": {"a.parquet": {"bytes": ..., "seen": {"rows": ..., "tokens": ...}}},
                                   "stale": []}}}
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numba_nlp._atomic import atomic_writer
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.corpora.tally import Tally
from numba_nlp.errors import SourceFormatError

__all__ = ["MANIFEST_NAME", "Manifest", "Record", "key_of"]

MANIFEST_NAME = "_manifest.json"
_FORMAT, _VERSION = "numba_nlp shards", 1
#: Seconds between two writes: with thousands of small shards each write would cost more than the shard.
_SECONDS_BETWEEN = 1.0


class Record:
    """What is known of one source.

    Attributes
    ----------
    is_complete : bool
        All of its shards are finished.
    shards : dict of str to dict
        Finished files by name: their bytes, and what was seen in their rows.
    stale : list of str
        Files of an earlier run over another version of the source, or with other settings, to remove in the end.
    """

    def __init__(self, fingerprint: dict[str, Any]) -> None:
        self.fingerprint = fingerprint
        self.is_complete = False
        self.shards: dict[str, dict[str, Any]] = {}
        self.stale: list[str] = []

    def seen(self) -> Tally:
        """What was seen in all finished shards."""
        tally = Tally()
        for shard in self.shards.values():
            tally += Tally.from_json(shard["seen"])
        return tally


class Manifest:
    """The record of a folder.

    Parameters
    ----------
    folder : Path
        An empty record is made where there is none.
    settings : mapping
        What decides the content of shards: vocabulary, options, version. What JSON can hold.

    Raises
    ------
    SourceFormatError
        The record that is there is damaged, or of another version.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self.path = folder / MANIFEST_NAME
        self._settings_id = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
        self._records: dict[str, Record] = {}
        self._settings: dict[str, Any] = {}
        if self.path.exists():
            self._read()
        self._settings[self._settings_id] = dict(settings)
        self._written_at = 0.0

    def _read(self) -> None:
        try:
            content = json.loads(self.path.read_bytes().decode("utf-8", "surrogateescape"))
            if content["format"] != _FORMAT or content["version"] != _VERSION:
                raise ValueError(f"format {content['format']!r}, version {content['version']!r}")
            self._settings = dict(content["settings"])
            for name, entry in content["sources"].items():
                record = Record({key: entry[key] for key in ("bytes", "mtime_ns", "settings")})
                record.is_complete = bool(entry["complete"])
                record.stale = [str(shard) for shard in entry["stale"]]
                record.shards = {
                    str(shard): {"bytes": int(known["bytes"]), "seen": Tally.from_json(known["seen"]).to_json()}
                    for shard, known in entry["shards"].items()
                }
                self._records[name] = record
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SourceFormatError(
                f"{self.path}: is no record of shards that this version can read ({type(error).__name__}: {error}); "
                "remove it, and all shards are made anew"
            ) from error

    def record_of(self, source: Source, *, anew: bool) -> Record:
        """The record of a source as it is now; an empty one where it, the settings or its shards are others.

        Parameters
        ----------
        source : Source
        anew : bool
            Forget what is finished.
        """
        key = key_of(source)
        fingerprint = self._fingerprint(source)
        known = self._records.get(key)
        if known is not None and known.fingerprint == fingerprint and not anew and source.is_file:
            there = {name: shard for name, shard in known.shards.items() if self._is_there(name, shard)}
            known.is_complete &= len(there) == len(known.shards)
            known.shards = there
            return known
        record = self._records[key] = Record(fingerprint)
        if known is not None:
            record.stale = [*known.shards, *known.stale]
        return record

    def knows(self, source: Source) -> bool:
        """Whether an earlier run read the source into this folder."""
        return key_of(source) in self._records

    def other_command(self, source: Source, command: object) -> str | None:
        """The command that made the shards of a source, where it is another one."""
        known = self._records.get(key_of(source))
        if known is None:
            return None
        settings = self._settings.get(known.fingerprint["settings"])
        made_by = settings.get("command") if isinstance(settings, Mapping) else None
        return None if made_by in (None, command) else str(made_by)

    def begin(self, sources: Sequence[Source], *, anew: bool) -> dict[str, Record]:
        """The records of all sources that a run reads, by their keys.

        They are written before any shard is: what a run that is killed leaves behind is never taken for finished.
        """
        found = {key_of(source): self.record_of(source, anew=anew) for source in sources}
        self.write()
        return found

    def owners(self) -> dict[str, str]:
        """The source of each finished shard."""
        return {shard: key for key, record in self._records.items() for shard in record.shards}

    def forget(self, key: str) -> None:
        """Drop a source and its shards."""
        record = self._records.pop(key, None)
        if record is not None:
            self._remove([*record.shards, *record.stale])

    def _remove(self, shards: list[str]) -> None:
        held = self.owners()
        for name in shards:
            if name in held:  # of another source by now
                continue
            # packed blocks have a second file
            for leftover in (name, f"{name}.json"):
                (self.folder / leftover).unlink(missing_ok=True)

    def _fingerprint(self, source: Source) -> dict[str, Any]:
        if not source.is_file:
            return {"bytes": 0, "mtime_ns": 0, "settings": self._settings_id}
        found = os.stat(source.path)
        return {"bytes": found.st_size, "mtime_ns": found.st_mtime_ns, "settings": self._settings_id}

    def _is_there(self, name: str, shard: Mapping[str, Any]) -> bool:
        try:
            return bool((self.folder / name).stat().st_size == shard["bytes"])
        except OSError:
            return False

    def finished(self, record: Record, name: str, seen: Tally) -> None:
        """A shard is written."""
        record.shards[name] = {"bytes": (self.folder / name).stat().st_size, "seen": seen.to_json()}
        for other in self._records.values():
            if name in other.stale:
                other.stale.remove(name)
        if time.monotonic() - self._written_at >= _SECONDS_BETWEEN:
            self.write()

    def complete(self, record: Record) -> None:
        """All shards of a source are written; what an earlier run left over goes."""
        record.is_complete = True
        self._remove(record.stale)
        record.stale = []

    def write(self) -> None:
        """Write the record, whole or not at all."""
        used = {record.fingerprint["settings"] for record in self._records.values()} | {self._settings_id}
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "settings": {name: value for name, value in self._settings.items() if name in used},
            "sources": {
                key: {
                    **record.fingerprint,
                    "complete": record.is_complete,
                    "shards": record.shards,
                    "stale": record.stale,
                }
                for key, record in self._records.items()
            },
        }
        with atomic_writer(self.path) as stream:
            stream.write(json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n")
        self._written_at = time.monotonic()


def key_of(source: Source) -> str:
    """What a record calls a source."""
    return os.path.realpath(source.path) if source.is_file else source.name
