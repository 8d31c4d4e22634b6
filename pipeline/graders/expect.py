"""The final state, place by place: what holds at the end, whichever way led there.

The outcome of a declared environment compares the whole state with the golden one (`pipeline.graders.state`). This
grader looks at chosen places only, by values, conditions, or equality with the golden or the initial state.
"""

from dataclasses import dataclass

from pipeline.condition import MISSING, Condition, path_parts, places
from pipeline.errors import GraderFault
from pipeline.grader_params import StateParams
from pipeline.graders.verdict import verdict
from pipeline.graders.view import View
from pipeline.records import Grade, JsonObject

SHOWN = 5
"""Faults that a reason tells in full."""


@dataclass(frozen=True, slots=True)
class StateGrader:
    """Share of the expectations that hold; one holds when it does at every place that its path means."""

    params: StateParams

    def grade(self, view: View) -> tuple[Grade, ...]:
        """One grade of the episode. Raises GraderFault where a state that is asked for is not known."""
        if view.final_state is None:
            raise GraderFault("the final state is not known")
        faults = [_first_fault(path, wanted, view) for path, wanted in self.params.expect.items()]
        unmet = [fault for fault in faults if fault is not None]
        reason = "; ".join(unmet[:SHOWN]) + (f"; and {len(unmet) - SHOWN} more" if len(unmet) > SHOWN else "")
        return (verdict(self.params, 1 - len(unmet) / len(faults), reason or "all that was expected holds"),)


def _first_fault(path: str, wanted: Condition, view: View) -> str | None:
    reference = MISSING if wanted.same_as is None else _state(view, wanted.same_as)
    for here, found, other in places(path_parts(path), view.final_state, reference):
        fault = wanted.fault(found, other)
        if fault is not None:
            return f"{here} {fault}"
    return None


def _state(view: View, name: str) -> JsonObject:
    state = view.golden_state if name == "golden" else view.initial_state
    if state is None:
        raise GraderFault(f"the {name} state is not known")
    return state
