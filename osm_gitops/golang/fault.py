"""The one error of this room."""


class GoError(ValueError):
    """A Go function would have returned an error; the text is close to Go's own."""
