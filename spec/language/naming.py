"""Names as people write them: a thing's own name, the name in another case, or another name of it, like a ticket."""

from __future__ import annotations

from collections.abc import Iterable

from spec.language.errors import UsageError


def meant(written: str, known: Iterable[str], others: Iterable[tuple[str, str]] = ()) -> tuple[str, ...]:
    """The known names that a person may mean; a name itself comes before its forms in another case, and these before
    other names.

    >>> meant("k1", ["K1", "K10"]), meant("kafka-6082", ["B4", "B24"], [("KAFKA-6082", "B4"), ("KAFKA-6082", "B24")])
    (('K1',), ('B4', 'B24'))

    Args:
        written: what the person wrote.
        known: the names.
        others: other names, each with the name of its thing.
    """
    names = tuple(known)
    if written in names:
        return (written,)
    like = written.casefold()
    also = (name for other, name in others if other.casefold() == like)
    return tuple(name for name in names if name.casefold() == like) or tuple(dict.fromkeys(also))


def one_meant(written: str, known: Iterable[str], others: Iterable[tuple[str, str]] = ()) -> str | None:
    """The only known name that a person may mean; None: there is none.

    Raises:
        UsageError: there are several.
    """
    found = meant(written, known, others)
    if len(found) > 1:
        raise UsageError(f"{written} may mean {', '.join(found)}; name one of them")
    return found[0] if found else None
