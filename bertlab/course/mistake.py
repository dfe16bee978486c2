"""What a check raises."""


class Mistake(AssertionError):
    """What is wrong with an exercise, in one or two sentences; a notebook shows these and no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"Not yet: {self}"]
