"""What is read of a method without TRL is what TRL reads; what would differ is left to it."""

import json
from collections.abc import Callable
from typing import Any, Literal, Optional

import pytest
from transformers.utils import get_json_schema

from pipeline.environments.outside import outside_worlds
from pipeline.environments.signatures import plain_schema

Size = Literal["small", "large"]


class Odd:
    """Methods at the edges of what is read here."""

    def bare(self) -> None:
        """Do it."""

    def long(self, x: str) -> None:
        """Do it,
        and say so: twice.

        Args:
            x: A text: any.
            unused: Of nobody.

        Returns:
            What was done.
        """

    def kinds(self, a: str, b: int, c: float = 0.5, d: bool = True, e: Size = "small", f: list[Size] = []) -> None:  # noqa: B006
        """Take all kinds.

        Args:
            a: «Text» (short)
            b: Whole
            c: Number
            d: Truth
            e: Size
            f: Sizes
        """


class Left:
    """Methods that are left to TRL."""

    def two_lines(self, x: str) -> None:
        """Do it.

        Args:
            x: A text
                of two lines.
        """

    def maybe(self, x: Optional[int] = None) -> None:  # noqa: UP045
        """Do it.

        Args:
            x: A number or nothing.
        """

    def choices(self, x: str) -> None:
        """Do it.

        Args:
            x: A text (choices: ["a", "b"])
        """

    def anything(self, x: dict[str, int]) -> None:
        """Do it.

        Args:
            x: Numbers by name.
        """

    def silent(self, x: str) -> None:
        """Do it."""

    def unhinted(self, x) -> None:  # type: ignore[no-untyped-def]
        """Do it.

        Args:
            x: A text.
        """

    def nothing(self) -> None: ...


def public(owner: type) -> list[Callable[..., Any]]:
    return [member for name, member in vars(owner).items() if not name.startswith("_")]


def read_by_trl(method: Callable[..., Any]) -> str:
    schema = get_json_schema(method)
    schema["function"].pop("return", None)
    return json.dumps(schema)


@pytest.mark.parametrize("world", outside_worlds().values(), ids=lambda world: world.name)
def test_the_suite_outside_is_read_as_trl_reads_it(world: Any) -> None:
    for method in world.factory._tools():
        assert json.dumps(plain_schema(method)) == read_by_trl(method)


@pytest.mark.parametrize("method", public(Odd), ids=lambda method: method.__name__)
def test_plain_methods_are_read_as_trl_reads_them(method: Callable[..., Any]) -> None:
    assert json.dumps(plain_schema(method)) == read_by_trl(method)


@pytest.mark.parametrize("method", public(Left), ids=lambda method: method.__name__)
def test_what_is_not_plain_is_left_to_trl(method: Callable[..., Any]) -> None:
    assert plain_schema(method) is None
