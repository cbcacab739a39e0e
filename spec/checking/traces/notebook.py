"""How a notebook shows a result: in full, not as its short name in a list."""

from __future__ import annotations

from functools import singledispatch


@singledispatch
def html_of(shown: object) -> str:
    """A result as HTML (`spec.checking.markup`); empty where a notebook shows its text."""
    return ""


class NotebookDisplay:
    """A result to be read: `str` is all of it, `repr` its name in one line."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The hook that Jupyter and IPython call in preference to `repr`."""
        html = html_of(self)
        return {"text/plain": str(self), **({"text/html": html} if html else {})}
