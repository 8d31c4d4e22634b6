"""Small sets of tools that no other environment has: can the model still call what it was never trained on?

Each request wants exactly one call. The tools do nothing but note what was called.
"""

from typing import Any, Literal

from pipeline.environments.base import Environment
from pipeline.graders.state import grade_state
from pipeline.records import Grade, JsonObject

Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday"]
Room = Literal["hall", "kitchen", "study", "attic", "cellar"]
Colour = Literal["white", "amber", "green", "blue"]


class ToolboxEnvironment(Environment):
    """The outcome is 1 when the calls made are exactly the one of `golden_state` and none was refused, else 0."""

    instant = True

    def reset(self, **task: Any) -> str | None:
        """Load `golden_state`: {"calls": [{"name", "arguments"}], "refused": 0}; other keys are ignored."""
        self._golden: JsonObject = task["golden_state"]
        self._calls: list[JsonObject] = []
        self.refused = 0
        return None

    def _note(self, name: str, **arguments: Any) -> str:
        self._calls.append({"name": name, "arguments": arguments})
        return "done"

    def _state(self) -> JsonObject:
        return {"calls": [dict(call) for call in self._calls], "refused": self.refused}

    def _grade(self) -> tuple[Grade, ...]:
        return (grade_state(self._state(), self._golden),)


class CalendarEnvironment(ToolboxEnvironment):
    """Appointments."""

    def add_event(self, title: str, day: Day, hour: int) -> str:
        """Put an appointment into the calendar.

        Args:
            title: What it is.
            day: Day of the week.
            hour: Hour of the day, 0 to 23.
        """
        return self._note("add_event", title=title, day=day, hour=hour)

    def cancel_event(self, title: str) -> str:
        """Take an appointment out of the calendar.

        Args:
            title: What it is.
        """
        return self._note("cancel_event", title=title)


class KitchenEnvironment(ToolboxEnvironment):
    """Timer and oven."""

    def set_timer(self, label: str, minutes: int) -> str:
        """Start a timer.

        Args:
            label: What it is for.
            minutes: How long it runs.
        """
        return self._note("set_timer", label=label, minutes=minutes)

    def heat_oven(self, degrees: int) -> str:
        """Heat the oven.

        Args:
            degrees: Temperature in Celsius.
        """
        return self._note("heat_oven", degrees=degrees)


class LampsEnvironment(ToolboxEnvironment):
    """Lights of a house."""

    def set_lamp(self, room: Room, brightness: int, colour: Colour = "white") -> str:
        """Set the light of a room.

        Args:
            room: Which room.
            brightness: 0 (off) to 100.
            colour: Its colour.
        """
        return self._note("set_lamp", room=room, brightness=brightness, colour=colour)


class LibraryEnvironment(ToolboxEnvironment):
    """Loans of a library."""

    def renew_loan(self, book: str, weeks: int) -> str:
        """Keep a book for longer.

        Args:
            book: Its title.
            weeks: For how many more weeks.
        """
        return self._note("renew_loan", book=book, weeks=weeks)

    def reserve(self, books: list[str]) -> str:
        """Reserve books.

        Args:
            books: Their titles.
        """
        return self._note("reserve", books=books)
