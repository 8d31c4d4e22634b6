"""Finding personal data in text: by shape, then by check digits or numbering plans, so that few other numbers match.

Phone numbers are checked by Google's numbering plans (`phonenumbers`), bank and social security numbers by
`python-stdnum`, addresses by the standard library. Names and postal addresses have no shape: they are not found.
No model is used, and nothing is asked of the network.
"""

import ipaddress
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import phonenumbers
import regex
from stdnum import iban, luhn
from stdnum.us import ssn

from pipeline.condition import SECONDS, compiled
from pipeline.errors import GraderFault, ParamsError
from pipeline.ingest_params import PrivacyParams

_LOCAL = re.compile(r"[\w.%+'-]{1,64}$")
_DOMAIN = re.compile(r"(?:[\w-]{1,63}\.){1,10}[^\W\d_]{2,24}(?![\w@-])")
_CARD = re.compile(
    r"(?<![\w.])(?:[2-6]\d{12,18}|[2-6]\d{3}([ -])(?:\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3})?|\d{6}\1\d{4,5}))(?!\w)"
)
"""In one piece, or in the groups that are printed on cards."""
_CARD_DIGITS = 13
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z\d]){11,30}(?!\w)", re.IGNORECASE)
_SSN = re.compile(r"(?<![\w-])\d{3}[- ]\d{2}[- ]\d{4}(?![\w-])")
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])[\dA-Fa-f]{0,4}:[\dA-Fa-f:]{5,38}(?![\w:])")
_NO_DATE = r"(?!(?:19|20)\d\d-\d\d-\d\d)"
_DIGITS = re.compile(rf"(?<![\w.-])[+(]?{_NO_DATE}\d(?:[ ()./-]{{0,2}}{_NO_DATE}\d)*+(?!\w)")
"""Digits with no more than two signs between them; a date begins a run of its own."""
_FEWEST, _MOST, _RUNS = 7, 30, 20_000
"""Digits of a run that may be dialled; longer ones are tables. Texts with more such runs are not searched at all."""
_SIGN = re.compile(r"[\d@:]")
"""One of these stands in whatever is of a known kind."""
_RUN = re.compile(r"\d[\d ()./-]{5,}\d")
"""Stands in every card, phone, social security number and IPv4 address."""
_SHORT = 200
"""Characters of a text that is remembered: keys and the like return in every record."""
_PER_SECOND = 500_000
"""Characters that any sound pattern is through with in a second, with room to spare."""


class Found(NamedTuple):
    """One find: where it stands, its kind, and the value in a form that is the same for all its spellings."""

    start: int
    end: int
    kind: str
    value: str


class Finder:
    """Finds the kinds and patterns that params name."""

    def __init__(self, params: PrivacyParams) -> None:
        self._patterns = {name: compiled(pattern) for name, pattern in params.patterns.items()}
        self._kinds = [(kind, _FINDERS[kind]) for kind in _FINDERS if kind in params.kinds]
        self._regions = _known_regions(params.regions)
        self._phones = "phone" in params.kinds
        self._known = lru_cache(maxsize=1 << 14)(self._search)

    def find(self, text: str) -> tuple[Found, ...]:
        """What is in `text`, in order and apart. Raises GraderFault when a declared pattern takes too long."""
        if not self._patterns and _SIGN.search(text) is None:
            return ()
        return self._known(text) if len(text) <= _SHORT else self._search(text)

    def _search(self, text: str) -> tuple[Found, ...]:
        taken: list[Found] = []
        for found in self._all(text):
            place = bisect_left(taken, found)
            before, after = taken[place - 1 : place], taken[place : place + 1]
            if not (before and found.start < before[0].end) and not (after and after[0].start < found.end):
                taken.insert(place, found)
        return tuple(taken)

    def _all(self, text: str) -> Iterator[Found]:
        """Most specific first: of two that overlap, the first counts."""
        for name, pattern in self._patterns.items():
            yield from (Found(start, end, name, text[start:end]) for start, end in _bounded(name, pattern, text))
        has_run = _RUN.search(text) is not None
        for kind, finder in self._kinds:
            if has_run or kind not in _IN_RUNS:
                yield from (Found(start, end, kind, value) for start, end, value in finder(text))
        if self._phones and has_run:
            yield from (Found(start, end, "phone", value) for start, end, value in _phones(text, self._regions))


@lru_cache(maxsize=4)
def finder_of(params_json: str) -> Finder:
    """The finder of `PrivacyParams` as JSON text; made once in each process."""
    return Finder(PrivacyParams.model_validate_json(params_json))


def _known_regions(regions: tuple[str, ...]) -> tuple[str, ...]:
    """Raises ParamsError for one without a numbering plan: nothing would be found there, without a word."""
    stray = next((region for region in regions if region not in phonenumbers.SUPPORTED_REGIONS), None)
    if stray is not None:
        raise ParamsError(
            f"params.yaml: ingest.privacy.regions: no phone numbers are known of {stray!r}; countries are written as "
            "in ISO 3166, such as US or GB"
        )
    return regions


Span = tuple[int, int, str]


def _bounded(name: str, pattern: regex.Pattern[str], text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []

    def note(match: regex.Match[str]) -> str:
        spans.append(match.span())
        return ""

    seconds = SECONDS + len(text) / _PER_SECOND
    try:
        pattern.sub(
            note, text, timeout=seconds
        )  # of all that `regex` offers, this keeps one time limit for all matches
    except TimeoutError as error:
        raise GraderFault(f"pattern {name!r} found no end within {seconds:.1f} s") from error
    return [(start, end) for start, end in spans if end > start]


def _emails(text: str) -> Iterator[Span]:
    at = text.find("@")
    while at >= 0:
        local, domain = _LOCAL.search(text, max(0, at - 64), at), _DOMAIN.match(text, at + 1)
        if local and domain:
            yield local.start(), domain.end(), text[local.start() : domain.end()].casefold()
        at = text.find("@", at + 1)


def _cards(text: str) -> Iterator[Span]:
    for match in _CARD.finditer(text):
        whole = match.group()
        for card in (whole, whole.rpartition(match[1] or " ")[0]):  # the last group may be a number behind the card
            digits = _digits(card)
            if len(digits) >= _CARD_DIGITS and luhn.is_valid(digits):
                yield match.start(), match.start() + len(card), digits
                break


def _ibans(text: str) -> Iterator[Span]:
    for match in _IBAN.finditer(text):
        words = match.group()
        while words:
            compact = iban.compact(words)
            if iban.is_valid(compact, check_country=False):
                yield match.start(), match.start() + len(words), compact
                break
            words = words.rpartition(" ")[0]


def _ssns(text: str) -> Iterator[Span]:
    for match in _SSN.finditer(text):
        digits = _digits(match.group())
        if ssn.is_valid(digits):
            yield *match.span(), digits


def _addresses(text: str) -> Iterator[Span]:
    for pattern, sign in ((_IPV4, "."), (_IPV6, ":")):
        if text.count(sign) < 2:
            continue
        for match in pattern.finditer(text):
            try:
                address = ipaddress.ip_address(match.group())
            except ValueError:
                continue
            if not (address.is_loopback or address.is_unspecified):
                yield *match.span(), address.compressed


def _phones(text: str, regions: tuple[str, ...]) -> Iterator[Span]:
    runs = 0
    for run in _DIGITS.finditer(text):
        if run.end() - run.start() < _FEWEST or not _FEWEST <= len(_digits(run.group())) <= _MOST:
            continue
        runs += 1
        if runs > _RUNS:
            raise GraderFault(f"more than {_RUNS} numbers that might be dialled in one text")
        for start, end, number in _dialled(run.group(), regions):
            yield run.start() + start, run.start() + end, number


@lru_cache(maxsize=1 << 15)  # the same ids and dates return all through a trace
def _dialled(run: str, regions: tuple[str, ...]) -> tuple[Span, ...]:
    return tuple(
        (match.start, match.end, phonenumbers.format_number(match.number, phonenumbers.PhoneNumberFormat.E164))
        for region in regions or (None,)
        for match in phonenumbers.PhoneNumberMatcher(run, region)
    )


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


_IN_RUNS = ("credit_card", "us_ssn")
_FINDERS = {"email": _emails, "iban": _ibans, "credit_card": _cards, "us_ssn": _ssns, "ip_address": _addresses}
