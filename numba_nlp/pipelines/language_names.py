"""Languages by code and English name: those of M2M100, mBART-50 and NLLB-200, and others that Marian models have.

A line is one language: its codes of ISO 639-1 and 639-3 (and the one for its standard form, where a family of languages
has a code of its own), then its English names, the one that T5 is told first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

__all__ = ["Language", "find_language", "languages_by_code"]

_TABLE = """
ace|Acehnese
acm|Mesopotamian Arabic
acq|Ta'izzi-Adeni Arabic
aeb|Tunisian Arabic
af afr|Afrikaans
ajp|South Levantine Arabic
ak aka|Akan
am amh|Amharic
apc|North Levantine Arabic;Levantine Arabic
ar ara arb|Arabic;Modern Standard Arabic;Standard Arabic
an arg|Aragonese
ars|Najdi Arabic
ary|Moroccan Arabic
arz|Egyptian Arabic
as asm|Assamese
ast|Asturian
awa|Awadhi
ay aym ayr|Aymara;Central Aymara
azb|South Azerbaijani
az aze azj|Azerbaijani;North Azerbaijani
ba bak|Bashkir
bm bam|Bambara
ban|Balinese
be bel|Belarusian;Belarussian
bem|Bemba
bn ben|Bengali;Bangla
bho|Bhojpuri
bjn|Banjar
bo bod|Tibetan;Standard Tibetan
bs bos|Bosnian
br bre|Breton
bug|Buginese
bg bul|Bulgarian
ca cat|Catalan;Valencian
ceb|Cebuano
cs ces|Czech
cjk|Chokwe
ckb|Central Kurdish;Sorani
crh|Crimean Tatar
co cos|Corsican
cy cym|Welsh
da dan|Danish
de deu|German
dik|Southwestern Dinka;Dinka
dyu|Dyula
dz dzo|Dzongkha
el ell|Greek;Modern Greek
en eng|English
eo epo|Esperanto
et est ekk|Estonian
eu eus|Basque
ee ewe|Ewe
fo fao|Faroese
fj fij|Fijian
fi fin|Finnish
fon|Fon
fr fra|French
fy fry|Western Frisian;West Frisian;Frisian
fur|Friulian
ff ful fuv|Fulah;Fula;Nigerian Fulfulde
gsw|Swiss German;Alemannic
gd gla|Scottish Gaelic;Gaelic
ga gle|Irish
gl glg|Galician
gv glv|Manx
gn grn|Guarani
gu guj|Gujarati
ht hat|Haitian Creole;Haitian
ha hau|Hausa
sh hbs|Serbo-Croatian
he heb|Hebrew
hi hin|Hindi
hne|Chhattisgarhi
hr hrv|Croatian
hu hun|Hungarian
hy hye|Armenian
ig ibo|Igbo
ia ina|Interlingua
ilo|Iloko;Ilocano
id ind|Indonesian
is isl|Icelandic
it ita|Italian
jv jav|Javanese
ja jpn|Japanese
kab|Kabyle
kac|Jingpho;Kachin
kam|Kamba
kn kan|Kannada
ks kas|Kashmiri
ka kat|Georgian
kr kau knc|Kanuri;Central Kanuri
kk kaz|Kazakh
kbp|Kabiye
kea|Kabuverdianu;Cape Verdean Creole
km khm|Khmer;Central Khmer
ki kik|Kikuyu
rw kin|Kinyarwanda
ky kir|Kyrgyz;Kirghiz
kmb|Kimbundu
kg kon|Kikongo;Kongo
ko kor|Korean
ku kur kmr|Kurdish;Northern Kurdish;Kurmanji
lo lao|Lao
la lat|Latin
lv lav lvs|Latvian;Standard Latvian
lij|Ligurian
li lim|Limburgish;Limburgan
ln lin|Lingala
lt lit|Lithuanian
lmo|Lombard
ltg|Latgalian
lb ltz|Luxembourgish;Letzeburgesch
lua|Luba-Kasai;Luba-Lulua
lg lug|Ganda;Luganda
luo|Luo
lus|Mizo
mag|Magahi
mai|Maithili
ml mal|Malayalam
mr mar|Marathi
min|Minangkabau
mk mkd|Macedonian
mg mlg plt|Malagasy;Plateau Malagasy
mt mlt|Maltese
mni|Meitei;Manipuri
mn mon khk|Mongolian;Halh Mongolian
mos|Mossi
mi mri|Maori
ms msa zsm|Malay;Standard Malay
my mya|Burmese
nl nld|Dutch;Flemish
nn nno|Norwegian Nynorsk;Nynorsk
no nor nb nob|Norwegian;Norwegian Bokmal;Bokmal
ne nep npi|Nepali
ns nso|Northern Sotho;Sepedi
nus|Nuer
ny nya|Nyanja;Chichewa
oc oci|Occitan
om orm gaz|Oromo;West Central Oromo
or ori ory|Odia;Oriya
os oss|Ossetian;Ossetic
pag|Pangasinan
pa pan|Punjabi;Panjabi;Eastern Panjabi
pap|Papiamento
fa fas pes|Persian;Farsi;Western Persian
pl pol|Polish
pt por|Portuguese
prs|Dari
ps pus pbt|Pashto;Southern Pashto
qu que quy|Quechua;Ayacucho Quechua
ro ron|Romanian;Moldavian;Moldovan
rn run|Rundi;Kirundi
ru rus|Russian
sg sag|Sango
sa san|Sanskrit
sat|Santali
scn|Sicilian
shn|Shan
si sin|Sinhala;Sinhalese
sk slk|Slovak
sl slv|Slovenian;Slovene
sm smo|Samoan
sn sna|Shona
sd snd|Sindhi
so som|Somali
st sot|Southern Sotho;Sesotho
es spa|Spanish;Castilian
sq sqi als|Albanian;Tosk Albanian
sc srd|Sardinian
sr srp|Serbian
ss ssw|Swati;Swazi
su sun|Sundanese
sv swe|Swedish
sw swa swh|Swahili
szl|Silesian
ta tam|Tamil
tt tat|Tatar
te tel|Telugu
tg tgk|Tajik
tl tgl fil|Tagalog;Filipino
th tha|Thai
ti tir|Tigrinya
taq|Tamasheq
tpi|Tok Pisin
tn tsn|Tswana;Setswana
ts tso|Tsonga
tk tuk|Turkmen
tum|Tumbuka
tr tur|Turkish
tw twi|Twi
tzm|Central Atlas Tamazight;Tamazight
ug uig|Uyghur
uk ukr|Ukrainian
umb|Umbundu
ur urd|Urdu
uz uzb uzn|Uzbek;Northern Uzbek
vec|Venetian
vi vie|Vietnamese
vo vol|Volapuk
war|Waray
wa wln|Walloon
wo wol|Wolof
xh xho|Xhosa
yi yid ydd|Yiddish;Eastern Yiddish
yo yor|Yoruba
yue|Cantonese;Yue Chinese
zh zho cmn|Chinese;Mandarin;Mandarin Chinese
zu zul|Zulu
"""


class Language(NamedTuple):
    """A language.

    Parameters
    ----------
    codes : tuple of str
        Of ISO 639, the shortest one first.
    names : tuple of str
        In English.
    """

    codes: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """In English."""
        return self.names[0]


@lru_cache(maxsize=1)
def languages_by_code() -> dict[str, Language]:
    """All languages, each under each of its codes."""
    found: dict[str, Language] = {}
    for line in _TABLE.strip().splitlines():
        codes, _, names = line.partition("|")
        language = Language(tuple(codes.split()), tuple(names.split(";")))
        for code in language.codes:
            found[code] = language
    return found


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Language]:
    return {name.casefold(): language for language in languages_by_code().values() for name in language.names}


def find_language(given: str) -> Language | None:
    """The language of a code of ISO 639 or an English name, whatever its case; None where there is none here."""
    folded = given.strip().casefold()
    return languages_by_code().get(folded) or _by_name().get(folded)
