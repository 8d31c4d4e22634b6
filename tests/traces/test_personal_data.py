"""What is found as personal data, and what only looks like it. All numbers are documented examples or made up."""

import pytest

from pipeline.errors import GraderFault, ParamsError
from pipeline.ingest_params import PrivacyParams
from pipeline.traces.personal_data import Finder

ALL = Finder(PrivacyParams(enabled=True, patterns={"claim": r"CLM-\d+"}))


def found(text: str, finder: Finder = ALL) -> list[tuple[str, str, str]]:
    """Kind, text and value of each find."""
    return [(one.kind, text[one.start : one.end], one.value) for one in finder.find(text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("to Jane.Doe@Example.com, or b+x@a.co.uk.", [
            ("email", "Jane.Doe@Example.com", "jane.doe@example.com"), ("email", "b+x@a.co.uk", "b+x@a.co.uk")]),
        ("4111 1111 1111 1111 12:30", [("credit_card", "4111 1111 1111 1111", "4111111111111111")]),
        ("card 3782 822463 10005 or 4111111111111111", [
            ("credit_card", "3782 822463 10005", "378282246310005"),
            ("credit_card", "4111111111111111", "4111111111111111")]),
        ("card 4111 1111 1111 1111, 5500-0000-0000-0004", [
            ("credit_card", "4111 1111 1111 1111", "4111111111111111"),
            ("credit_card", "5500-0000-0000-0004", "5500000000000004")]),
        ("DE89 3704 0044 0532 0130 00 AND MORE; gb29nwbk60161331926819", [
            ("iban", "DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
            ("iban", "gb29nwbk60161331926819", "GB29NWBK60161331926819")]),
        ("ssn 536-90-4399", [("us_ssn", "536-90-4399", "536904399")]),
        ("from 192.168.1.20, 2001:db8::8a2e:370:7334", [
            ("ip_address", "192.168.1.20", "192.168.1.20"),
            ("ip_address", "2001:db8::8a2e:370:7334", "2001:db8::8a2e:370:7334")]),
        ("(415) 555-2671, +44 20 7946 0958, 020 7946 0958", [
            ("phone", "(415) 555-2671", "+14155552671"), ("phone", "+44 20 7946 0958", "+442079460958"),
            ("phone", "020 7946 0958", "+442079460958")]),
        ("2024-05-01 415-555-2671", [("phone", "415-555-2671", "+14155552671")]),
        ("CLM-7 by a@b.org", [("claim", "CLM-7", "CLM-7"), ("email", "a@b.org", "a@b.org")]),
    ],
)  # fmt: skip
def test_kinds_are_found_in_any_usual_spelling(text: str, wanted: list[tuple[str, str, str]]) -> None:
    assert found(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112", "DE89370400440532013001", "000-12-3456", "1.2.3", "12:30:45", "std::dead::beef",
        "127.0.0.1", "2024-05-01 12:00:00", "1714521600 1714521600000", "3.14159265358979", "pkg@1.2.3", "@app.route",
        "123e4567-e89b-12d3-a456-426614174000", "$1,234,567.89", "2024-05-01 2024-05-01 12:30",
    ],
)  # fmt: skip
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert found(text) == []


def test_only_the_named_kinds_are_looked_for() -> None:
    finder = Finder(PrivacyParams(enabled=True, kinds=("email",)))
    assert [kind for kind, _, _ in found("a@b.org 415-555-2671 192.168.1.20", finder)] == ["email"]
    assert found("415-555-2671", Finder(PrivacyParams(enabled=True, kinds=("phone",), regions=()))) == []


def test_of_two_that_overlap_the_declared_pattern_counts() -> None:
    finder = Finder(PrivacyParams(enabled=True, patterns={"host": r"b\.org"}))
    assert found("a@b.org", finder) == [("host", "b.org", "b.org")]


def test_a_pattern_without_an_end_is_given_up() -> None:
    finder = Finder(PrivacyParams(enabled=True, kinds=(), patterns={"bad": r"(a|aa)+\1$"}))
    with pytest.raises(GraderFault, match=r"pattern 'bad' found no end within 0\.2 s"):
        finder.find("a" * 60 + "b")


@pytest.mark.parametrize(
    "text", ["1", "1 ", "@", "a@", "(", " 4", ":", "1.", "A ", "a.", "-1", "DE89", "1:"],
)  # fmt: skip
def test_long_hostile_texts_come_to_an_end(text: str) -> None:
    assert ALL.find(text * (40_000 // len(text))) == ()


def test_a_country_that_nobody_knows_is_refused_rather_than_searched_in_vain() -> None:
    with pytest.raises(ParamsError, match=r"ingest\.privacy\.regions: no phone numbers are known of 'UK'; .* US or GB"):
        Finder(PrivacyParams(enabled=True, regions=("US", "UK")))
