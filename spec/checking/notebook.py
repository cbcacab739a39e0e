"""What a notebook shows of a result: the text that `print` gives, not the short name that stands in a list."""

from __future__ import annotations


class Shown:
    """A result to be read: `str` is all of it, `repr` its name on one line."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What Jupyter and IPython ask for, and heed before they ask for a `repr`."""
        return {"text/plain": str(self)}
