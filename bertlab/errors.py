"""The one error that a user's mistake raises."""


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one line: what it is about (file, line, argument), what is wrong, what to do.
    """
