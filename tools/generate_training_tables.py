"""Write what training needs to know of Unicode: decompositions, case folds, scripts.

Python's own ``unicodedata`` has another version with each Python, and knows no scripts. Decompositions come from
``unicodedata2`` of the Unicode version that sentencepiece's rules follow (install ``unicodedata2==17.0.0``), case folds
and scripts from ``regex``. Hangul syllables are arithmetic and left out. Then the named normalisation rules are
compiled, which would take five seconds each where they are used.

Usage: ``python tools/generate_training_tables.py``
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import regex
import unicodedata2
from numpy.typing import NDArray

TARGET = Path(__file__).parents[1] / "vocab_tools" / "data" / "training.npz"
CHARSMAPS = TARGET.with_name("charsmaps.npz")
VERSION = "17.0.0"
HANGUL = range(0xAC00, 0xD7A4)
CODE_POINTS = [code for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
EVERYTHING = "".join(map(chr, CODE_POINTS))
#: In the order of their numbers in the table; 0 is Common and whatever has no script.
SCRIPTS = """Common Inherited Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak
Bengali Beria_Erfe Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma
Cham Cherokee Chorasmian Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan
Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Garay Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi
Gurmukhi Gurung_Khema Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inscriptional_Pahlavi
Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki
Khudawadi Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic
Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi
Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham
Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian
Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang
Runic Samaritan Saurashtra Sharada Shavian Siddham Sidetic SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese
Sunuwar Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Tai_Yo Takri Tamil Tangsa Tangut Telugu Thaana
Thai Tibetan Tifinagh Tirhuta Todhri Tolong_Siki Toto Tulu_Tigalari Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi
Zanabazar_Square""".split()  # noqa: SIM905


def flat(texts: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Texts as code points and offsets."""
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    return np.array([ord(character) for text in texts for character in text], np.int32), offsets


def decompositions() -> dict[str, NDArray[np.int32]]:
    changed = [
        chr(code)
        for code in CODE_POINTS
        if code not in HANGUL and unicodedata2.normalize("NFKD", chr(code)) != chr(code)
    ]
    parts, part_offsets = flat([unicodedata2.normalize("NFKD", character) for character in changed])
    composed, composed_offsets = flat([unicodedata2.normalize("NFKC", character) for character in changed])
    return {
        "characters": np.array([ord(character) for character in changed], np.int32),
        "parts": parts,
        "part_offsets": part_offsets,
        "composed": composed,
        "composed_offsets": composed_offsets,
    }


def folds() -> NDArray[np.int32]:
    """Simple case folds: what is one character when it is folded alone, or else in lower case; U+0130 has none."""
    small = "".join(regex.findall(r"[\p{Ll}--\p{Changes_When_Casefolded}]", EVERYTHING, flags=regex.V1))
    made = []
    for character in regex.findall(r"\p{Changes_When_Casefolded}", EVERYTHING):
        forms = [form for form in (character.casefold(), character.lower()) if len(form) == 1 and form != character]
        if not forms:  # unknown to this Python, or without a simple fold
            forms = regex.findall(f"(?i){regex.escape(character)}", small)
        if forms and character != "\u0130" and unicodedata2.category(character) != "Cn":
            made.append((ord(character), ord(forms[0])))
    return np.array(made, np.int32)


def scripts() -> NDArray[np.uint8]:
    made = np.zeros(0x110000, np.uint8)
    for number, name in enumerate(SCRIPTS):
        for character in regex.findall(rf"\p{{Script={name}}}", EVERYTHING):
            made[ord(character)] = number
    return made


def main() -> None:
    if unicodedata2.unidata_version != VERSION:
        raise SystemExit(f"unicodedata2 has Unicode {unicodedata2.unidata_version}; install unicodedata2=={VERSION}")
    numbers = scripts()
    starts = np.flatnonzero(np.diff(numbers, prepend=255)).astype(np.int32)
    np.savez_compressed(
        TARGET,
        **decompositions(),
        folds=folds(),
        script_starts=starts,
        script_numbers=numbers[starts],
        script_names=np.array(SCRIPTS),
        unicode_version=np.array(VERSION),
    )
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")
    # Imported here, since it reads what was just written.
    from vocab_tools.formats import normalization_rules

    blobs = {name: normalization_rules.compile_by_name(name) for name in normalization_rules.RULE_NAMES[:-1]}
    np.savez_compressed(CHARSMAPS, **{name: np.frombuffer(blob, np.uint8) for name, blob in blobs.items()})
    print(f"{CHARSMAPS}: {CHARSMAPS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
