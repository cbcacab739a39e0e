"""What a notebook shows of a result: all of it, and not the short name that stands in a list."""

from __future__ import annotations


class Shown:
    """A result to be read: `str` is all of it, `repr` its name on one line."""

    def to_html(self) -> str:
        """How a notebook shows it; empty where it shows the text."""
        return ""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What Jupyter and IPython ask for, and heed before they ask for a `repr`."""
        html = self.to_html()
        return {"text/plain": str(self), **({"text/html": html} if html else {})}
