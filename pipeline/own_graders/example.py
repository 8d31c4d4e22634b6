"""An example of graders of your own: put a file beside this one and name a function of it in params.

    graders:
      - {name: polite, kind: python, function: "example.py:polite"}

The function gets a `View` and returns a score in [0, 1], true or false, None when there is nothing to grade, or any of
these with a reason. What it raises becomes the reason of a null grade.
"""

from pipeline.graders.view import View


def polite(view: View) -> tuple[bool, str]:
    """Whether the last words thank or greet somebody."""
    words = (view.answer or "").lower()
    found = [word for word in ("thank", "please", "regards", "welcome") if word in words]
    return bool(found), f"said {', '.join(found)}" if found else "no kind word at the end"
