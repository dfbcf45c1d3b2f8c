"""What is hidden, and what is not."""

import time

import pytest

from textsobol.redaction import Redaction, strip_secrets


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("POST http://me:pw@host/p?a=b#c", "POST http://[hidden]@host/p?[hidden]"),
        ("url: /p?api_key=K (Caused by x)", "url: /p?[hidden] (Caused by x)"),
        ("//me:pw@host", "//[hidden]@host"),
        ("postgres://me:p@w@host/db", "postgres://[hidden]@host/db"),
        ("Authorization: Bearer abcdefgh", "Authorization: [hidden]"),
        ("{'authorization': 'Basic bWU6cHc='}", "{'authorization': '[hidden]'}"),
        (r'"{\"x-api-key\": \"abc def\"}"', r'"{\"x-api-key\": \"[hidden]\"}"'),
        ("sent bearer abc.def-123", "sent bearer [hidden]"),
        ("key hf_abcdefghijkl is wrong", "key [hidden] is wrong"),
        ("Is the token right? See a=b", "Is the token right? See a=b"),
        ("Basic authentication required", "Basic authentication required"),
        ("Invalid username or password.", "Invalid username or password."),
        ("mail me@host.org", "mail me@host.org"),
    ],
)
def test_what_is_recognized_without_being_told(text: str, expected: str) -> None:
    assert Redaction()(text) == expected


def test_short_values_are_hidden_as_words_only() -> None:
    hide = Redaction.of(values=["abc", "1", ""])
    assert hide("abc abcd xabc 'abc' 11 1") == "[hidden] abcd xabc '[hidden]' 11 1"


def test_many_long_texts_are_redacted_in_time() -> None:
    start = time.monotonic()
    for piece in (
        "http://",
        "?a",
        "//a:",
        "bearer ",
        "a" * 9,
        "authorization: ",
        "\\",
        "'\"",
        "%41",
    ):
        Redaction.of(values=["secret-value"])(piece * (65_536 // len(piece)))
    assert time.monotonic() - start < 2


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://me:pw@h:81/p?model=a&token=t#f", "http://h:81/p?model=a&token="),
        ("http://h/p", "http://h/p"),
        ("org/model", "org/model"),
        ("a name: of any kind?x=1", "a name: of any kind?x=1"),
        ("http://[half", "http://[half"),
    ],
)
def test_addresses_without_secrets_stay_different(address: str, expected: str) -> None:
    assert strip_secrets(address) == expected
