"""What a notebook shows of a result: all of it, and not the short name that stands in a list."""

from __future__ import annotations

from functools import singledispatch

__all__ = ["NotebookDisplay", "html_of"]


@singledispatch
def html_of(shown: object) -> str:
    """A result as HTML (`spec.checking.markup`); empty where a notebook shows its text."""
    return ""


class NotebookDisplay:
    """A result to be read: `str` is all of it, `repr` its name on one line."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What Jupyter and IPython ask for, and heed before they ask for a `repr`."""
        html = html_of(self)
        return {"text/plain": str(self), **({"text/html": html} if html else {})}
