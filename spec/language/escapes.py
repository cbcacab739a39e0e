"""Text that somebody else wrote, as a person may see it: what hides, reorders or forges text stands as its escape.

Names and values come from files, from a ZooKeeper, and from specifications that others wrote. A terminal obeys what
is in them: it moves its cursor, clears its screen, turns the direction of a line. XML has no such characters at all,
and UTF-8 no lone surrogates. So what Python calls not printable is written as Python writes it in a literal.

This is done where a name becomes part of a line or of a page; the colours and line ends of a report are added
afterwards. What programs read, such as JSON and kept traces, stays exact.
"""

from __future__ import annotations

from html import escape

__all__ = ["escaped", "escaped_lines", "in_markup"]


def escaped(line: str) -> str:
    r"""A line in which every character is seen; a line end in it is escaped, too.

    >>> print(escaped("\x1b[2Jann\u202e\n"), escaped("Zoë 李 \N{CAT}"))
    \x1b[2Jann\u202e\n Zoë 李 🐈
    """
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)


def escaped_lines(text: str) -> str:
    """Several lines, of which each is escaped."""
    return "\n".join(map(escaped, text.split("\n")))


def in_markup(line: str) -> str:
    r"""A line as HTML and XML have it.

    >>> in_markup("<b>\0")
    '&lt;b&gt;\\x00'
    """
    return escape(escaped(line))
