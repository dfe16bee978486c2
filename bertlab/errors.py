"""The one error that a user's mistake raises."""

from bertlab.printable import printable


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one line: what it is about (file, line, argument), what is wrong, what to do. Control characters in
    it, of a file's name for example, are escaped.
    """

    def __init__(self, message: str):
        super().__init__(printable(message))
