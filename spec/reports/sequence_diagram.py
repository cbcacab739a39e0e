"""A trace as a sequence diagram: lanes for those who act, an arrow for each step, and what it means beside it.

Lanes are those that actions name (`@action(actor=..., receiver=...)`). Steps stand below each other, as they happen
one after the other. A step that is done to no other lane is a dot in its own.

`svg` is one file without a script or a font of its own, `mermaid` what many places render where it is pasted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import accumulate
from textwrap import wrap
from typing import Any, Final, NamedTuple

from spec.checking.traces.lanes import SYSTEM, from_left_to_right, owner
from spec.checking.traces.trace import Trace, TraceStep
from spec.checking.values.text import show
from spec.language.escapes import escaped
from statemachines.drawing.graphviz import FONTS, INITIAL, LETTER, LINE, TIP

__all__ = ["FORMATS", "Message", "lanes_of", "mermaid", "messages_of", "svg"]


class Message(NamedTuple):
    """A step as it is drawn."""

    number: int
    """The state that it leads to, as the text of the trace has it."""
    actor: str
    receiver: str
    """The same as the actor if it is done to no other lane."""
    label: str
    """The action, with the parameters that are no lanes."""
    sentences: str
    """What the action said."""
    notes: tuple[str, ...]
    """What the views say from here on."""
    mark: str
    """What breaks, or is witnessed, or fails here; only in the last."""


def messages_of(trace: Trace) -> tuple[Message, ...]:
    """Its steps, as they are drawn."""
    return tuple(_message(trace, number, step) for number, step in enumerate(trace.steps, start=2))


def lanes_of(trace: Trace) -> tuple[str, ...]:
    """The lanes, from left to right: those with a number behind their name in its order, any others before them."""
    messages = messages_of(trace)
    met = (lane for each in messages for lane in (each.receiver, each.actor))
    return from_left_to_right(met, ((each.actor, each.receiver) for each in messages)) or (SYSTEM,)


def _message(trace: Trace, number: int, step: TraceStep) -> Message:
    actor = step.lanes.actor or SYSTEM
    given = (
        f"{name}={show(it, step.spelling)}"
        for name, it in step.step.parameters.items()
        if name not in step.lanes.parameters
    )
    label = " ".join([step.step.action, *given])
    mark = trace.ending if number == trace.length else ""
    return Message(
        number,
        actor,
        step.lanes.receiver or actor,
        escaped(label),
        escaped("; ".join(step.sentences)),
        _escaped(step.views),
        escaped(mark),
    )


def _escaped(sentences: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(escaped, sentences))


# Mermaid.


def mermaid(trace: Trace) -> str:
    """A `sequenceDiagram`; notes stand below the step after which they hold."""
    return "\n".join(["sequenceDiagram", *(f"    {line}" for line in _mermaid(trace))]) + "\n"


def _mermaid(trace: Trace) -> Iterator[str]:
    names = {lane: f"lane{place}" for place, lane in enumerate(lanes_of(trace))}
    first, last = names[lanes_of(trace)[0]], names[lanes_of(trace)[-1]]
    everywhere = first if first == last else f"{first},{last}"
    for lane, name in names.items():
        yield f"participant {name} as {'<br/>'.join(map(_plain, _name(lane)))}"
    if trace.initial_views:
        yield f"Note over {everywhere}: {_lines(_escaped(trace.initial_views))}"
    for each in messages_of(trace):
        words = _plain(f"{each.number}  {each.label}") + (f"<br/>{_plain(each.sentences)}" if each.sentences else "")
        yield f"{names[each.actor]}->>{names[each.receiver]}: {words}"
        notes = (*each.notes, f"! {each.mark}") if each.mark else each.notes
        if notes:
            yield f"Note over {everywhere}: {_lines(notes)}"


def _lines(sentences: tuple[str, ...]) -> str:
    return "<br/>".join(map(_plain, sentences))


def _plain(words: str) -> str:
    """Words in which Mermaid sees no markup of its own: it has codes for what would end a statement or a tag."""
    return "".join(f"#{ord(each)};" if each in "#;<>&%\\" else each for each in words)


# SVG.

SIZE: Final = 13
LETTER_WIDTH: Final = SIZE * LETTER * 0.88
"""Of words, which have more narrow letters than names have."""
LINE_HEIGHT: Final = 17
NARROWEST, WIDEST = 90, 260
"""A lane at least, and the room for words between two lanes at most, in points."""
NOTES: Final = 62
"""How many letters a line of a note has."""
MARGIN: Final = 16
HEAD: Final = 13
"""How high the name of a lane is, beside its lines."""
GAP: Final = 16
"""Between two steps."""
QUIET, NOTE, BROKEN = "#777777", "#35506b", "#b3261e"
_WHOLE: Final[Mapping[str, Any]] = {"break_long_words": False}
_DOTTED: Final[Mapping[str, Any]] = {"initial_indent": "\u00b7\u00a0", "subsequent_indent": "\u00a0\u00a0"}


def svg(trace: Trace) -> str:
    """A picture in one file: numbers at the left, lanes, and what holds from a step on at the right."""
    lanes, messages = lanes_of(trace), messages_of(trace)
    names = {lane: _name(lane) for lane in lanes}
    half = max(NARROWEST, *(_room_for(line) for name in names.values() for line in name)) // 2
    head = HEAD + max(map(len, names.values())) * LINE_HEIGHT
    left = 2 * MARGIN + _width(str(trace.length)) + half
    at = dict(zip(lanes, accumulate(_distances(lanes, messages, half), initial=left), strict=True))
    alone = [each for each in messages if each.actor == each.receiver == lanes[-1]]
    beside = [max(_room_for(each.label), min(WIDEST, _room_for(each.sentences))) for each in alone]
    notes_at = at[lanes[-1]] + max([half + MARGIN, *beside])
    width = notes_at + _width("m" * NOTES) + MARGIN
    title = wrap(_title(trace), (width - 2 * MARGIN) // 7)
    drawn = [_text(MARGIN, MARGIN + n * LINE_HEIGHT, line) for n, line in enumerate(title, start=1)]
    top = 2 * MARGIN + len(title) * LINE_HEIGHT
    y = top + head + 2 * GAP
    initially = _notes(_escaped(trace.initial_views), "", notes_at, y)
    drawn += [_text(MARGIN, y, "1", QUIET), *initially]
    y += max(1, len(initially)) * LINE_HEIGHT + GAP
    for each in messages:
        rows, height = _row(each, at, notes_at, y)
        drawn += rows
        y += height + GAP
    heads = [_head(names[lane], x, top, (half - MARGIN // 2, head), y) for lane, x in at.items()]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" viewBox="0 0 {width} {y}"'
            f' font-family="{FONTS}" font-size="{SIZE}">',
            f"<title>{escape(_title(trace))}</title>",
            f"<defs>{TIP}</defs>",
            f'<rect width="{width}" height="{y}" fill="white"/>',
            *heads,
            *drawn,
            "</svg>\n",
        ]
    )


def _title(trace: Trace) -> str:
    return escaped(f"{trace.broken}: {trace.sentence}" if trace.broken else f"a run of {trace.length} states")


def _distances(lanes: tuple[str, ...], messages: tuple[Message, ...], half: int) -> list[int]:
    """From each lane to the next: what the words on the arrows between them need, and those beside a dot."""
    place = {lane: number for number, lane in enumerate(lanes)}
    distances = [2 * half + GAP] * (len(lanes) - 1)
    for each in messages:
        first, last = sorted((place[each.actor], place[each.receiver]))
        last = last if last > first else first + 1  # what stands beside a dot ends before the next lane
        needed = min(WIDEST, _room_for(each.label))
        if last < len(lanes):
            distances[last - 1] += max(0, needed - sum(distances[first:last]))
    return distances


def _width(words: str) -> int:
    return round(len(words) * LETTER_WIDTH)


def _room_for(words: str) -> int:
    return _width(words) + 2 * MARGIN


def _name(lane: str) -> list[str]:
    """The name of a lane in lines: of whom it is stands below."""
    whole = owner(lane)
    lines = [lane] if whole == lane else [lane.removesuffix(f" of {whole}"), f"of {whole}"]
    return [*map(escaped, lines)]


def _head(name: list[str], x: int, top: int, size: tuple[int, int], bottom: int) -> str:
    """The name of a lane in its frame, and the line below that."""
    half, height = size
    frame = f'width="{2 * half}" height="{height}" rx="7" fill="{INITIAL}" stroke="black"'
    first = top + height // 2 + 5 - (len(name) - 1) * LINE_HEIGHT // 2
    words = (_text(x, first + n * LINE_HEIGHT, line, anchor="middle", ground=INITIAL) for n, line in enumerate(name))
    return (
        f'<line x1="{x}" y1="{top + height}" x2="{x}" y2="{bottom}" stroke="#bbbbbb" stroke-dasharray="4 3"/>'
        f'<rect x="{x - half}" y="{top}" {frame}/>' + "".join(words)
    )


def _row(message: Message, at: Mapping[str, int], notes_at: int, top: int) -> tuple[list[str], int]:
    """What is drawn of a step, and how high that is."""
    drawn = _dot if message.actor == message.receiver else _arrow
    words = drawn(message, at, notes_at, top)
    notes = _notes(message.notes, message.mark, notes_at, top)
    lines = max(sum(each.startswith("<text") for each in words), len(notes), 1)
    return [_text(MARGIN, top, str(message.number), QUIET), *words, *notes], lines * LINE_HEIGHT


def _dot(message: Message, at: Mapping[str, int], notes_at: int, top: int) -> list[str]:
    """A step in its actor's lane, with the words beside it."""
    here = at[message.actor]
    until = min((x for x in at.values() if x > here), default=notes_at)
    room = _letters(until - here)
    lines = [(each, "black") for each in wrap(message.label, room, **_WHOLE)] + [
        (each, QUIET) for each in wrap(message.sentences, room, **_WHOLE)
    ]
    words = [_text(here + 10, top + n * LINE_HEIGHT, line, colour) for n, (line, colour) in enumerate(lines)]
    return [f'<circle cx="{here}" cy="{top - 4}" r="4" fill="{LINE}"/>', *words]


def _arrow(message: Message, at: Mapping[str, int], notes_at: int, top: int) -> list[str]:
    """A step from lane to lane: the action above it, what it said below."""
    here, there = at[message.actor], at[message.receiver]
    middle, room = (here + there) // 2, _letters(abs(there - here))
    above, below = wrap(message.label, room, **_WHOLE), wrap(message.sentences, room, **_WHOLE)
    y = top + len(above) * LINE_HEIGHT - 10
    return [
        f'<path d="M{here},{y} L{there},{y}" fill="none" stroke="{LINE}" marker-end="url(#tip)"/>',
        f'<circle cx="{here}" cy="{y}" r="3" fill="{LINE}"/>',
        *(_text(middle, top + n * LINE_HEIGHT, line, anchor="middle") for n, line in enumerate(above)),
        *(_text(middle, y + 15 + n * LINE_HEIGHT, line, QUIET, "middle") for n, line in enumerate(below)),
    ]


def _letters(width: int) -> int:
    """How many stand in a line of this width, and no fewer than a name has."""
    return max(18, int((width - 2 * MARGIN) / LETTER_WIDTH))


def _notes(sentences: tuple[str, ...], mark: str, x: int, top: int) -> list[str]:
    """Sentences below each other, each with a dot before it; last what breaks here."""
    lines = [(line, NOTE) for each in sentences for line in wrap(each, NOTES, **_DOTTED)]
    lines += [(line, BROKEN) for line in wrap(mark, NOTES, **_DOTTED)]
    return [_text(x, top + n * LINE_HEIGHT, line, colour) for n, (line, colour) in enumerate(lines)]


def _text(x: int, y: int, words: str, colour: str = "black", anchor: str = "start", ground: str = "white") -> str:
    """Words on a ground of their own, so that no line runs through them."""
    return (
        f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}" paint-order="stroke" stroke="{ground}"'
        f' stroke-width="4">{escape(words)}</text>'
    )


FORMATS: Final[Mapping[str, Callable[[Trace], str]]] = {"mermaid": mermaid, "svg": svg}
"""What a trace can be drawn as."""
