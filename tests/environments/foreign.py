"""Environments as their authors would write them for TRL, without a word of this package, and the text of a file."""

from typing import Any

QUIZ = '''
"""A quiz."""

CAPITALS = {"France": "Paris", "Peru": "Lima"}


class QuizEnvironment:
    """Find the capital and hand it in."""

    def reset(self, country: str, bonus: float = 0.0, **kwargs) -> str | None:
        self.country, self.bonus, self.handed_in = country, bonus, None
        return f" Hint: it starts with {CAPITALS[country][0]}."

    def look_up(self, country: str) -> str:
        """Look a capital up.

        Args:
            country: Name of the country.

        Returns:
            The capital.
        """
        return CAPITALS[country]

    def hand_in(self, capital: str) -> str:
        """Hand the answer in.

        Args:
            capital: Name of the capital.

        Returns:
            Confirmation.
        """
        self.handed_in = capital
        return "thank you"

    def get_reward(self) -> float:
        return float(self.handed_in == CAPITALS[self.country]) + self.bonus
'''


class Notes:
    """Tools whose names the house uses for other things, one of them async, and inherited ones."""

    def reset(self, start: int) -> None:
        """Start at a number."""
        self.total = start

    async def state(self, name: str, tool: int) -> str:
        """Say the state.

        Args:
            name: Whose.
            tool: Which.
        """
        return f"{name} {tool} {self.total}"

    def grade(self, points: int) -> list[dict[str, Any]]:
        """Add points.

        Args:
            points: How many.
        """
        self.total += points
        return [{"type": "text", "text": str(self.total)}, {"type": "image", "image": object()}]

    async def get_reward(self) -> float | None:
        """Nothing below ten."""
        return None if self.total < 10 else 1.0


class MoreNotes(Notes):
    """Inherits its tools."""

    procedure = "Take notes."

    def fail(self) -> str:
        """Break."""
        raise KeyError
