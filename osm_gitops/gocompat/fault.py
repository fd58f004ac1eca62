"""The one error of this room."""


class GoError(ValueError):
    """A Go function would have returned an error; the text is close to Go's own."""


class Stopped(GoError):
    """A template stopped itself, with a sentence of its author's: sprig's ``fail``."""
