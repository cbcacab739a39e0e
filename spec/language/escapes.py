"""Escape text from others: characters that hide, reorder or forge text are shown as their escapes.

Names and values come from files, from a ZooKeeper, and from other people's specifications. A terminal obeys control
characters in them: it moves its cursor, clears its screen, changes the direction of a line. XML allows no such
characters at all, and UTF-8 no lone surrogates. So every character that Python calls not printable is written as in
a Python literal.

Text is escaped where it becomes part of a line or a page; colours and line ends of reports are added afterwards.
Output for programs, such as JSON and saved traces, stays exact.
"""

from __future__ import annotations

from html import escape


def escaped(line: str) -> str:
    r"""A line in which every character is seen; a line end in it is escaped, too.

    >>> print(escaped("\x1b[2Jann\u202e\n"), escaped("Zoë 李 \N{CAT}"))
    \x1b[2Jann\u202e\n Zoë 李 🐈
    """
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)


def escaped_lines(text: str) -> str:
    """Several lines, each escaped."""
    return "\n".join(map(escaped, text.split("\n")))


def in_markup(line: str) -> str:
    r"""A line as HTML and XML have it.

    >>> in_markup("<b>\0")
    '&lt;b&gt;\\x00'
    """
    return escape(escaped(line))
