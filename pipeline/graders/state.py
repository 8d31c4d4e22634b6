"""The outcome grade: is the world as it should be, whichever way led there?"""

from pipeline.graders.reward import OUTCOME
from pipeline.records import Grade, JsonObject


def grade_state(final: JsonObject, golden: JsonObject) -> Grade:
    """1 when `final` equals `golden` (nested tables of JSON values), else 0 with the first difference as reason."""
    difference = first_difference(final, golden)
    passed = difference is None
    return Grade(OUTCOME, "outcome", float(passed), passed, reason=difference or "the final state is the golden state")


def first_difference(found: object, wanted: object, path: str = "") -> str | None:
    """Describe the first place, in key order, where two JSON values differ; None when they are equal."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted(found.keys() | wanted.keys()):
            here = f"{path}.{key}" if path else str(key)
            if (key in found) != (key in wanted):
                return f"{here} is {'unexpected' if key in found else 'missing'}"
            difference = first_difference(found[key], wanted[key], here)
            if difference:
                return difference
        return None
    return None if found == wanted else f"{path or 'value'} is {found!r}, should be {wanted!r}"
