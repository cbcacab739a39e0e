"""A trace as a sequence diagram: lanes for actors, an arrow for each step, and its meaning beside it.

The lanes are those named by actions (`@action(actor=..., receiver=...)`). Steps are listed in order from top to
bottom. A step without another receiver is a dot in its actor's lane.

`svg` makes one file without scripts or fonts; `mermaid` makes text that many sites render when it is pasted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import accumulate
from textwrap import wrap
from typing import Any, Final, NamedTuple

from spec.checking.traces.trace import SYSTEM, Trace, TraceStep, from_left_to_right, owner
from spec.checking.values.text import show
from spec.language.errors import escaped
from statemachines.drawing.graphviz import FONTS, INITIAL, LETTER, LINE, TIP


class Message(NamedTuple):
    """A step, as drawn."""

    number: int
    """The number of the state after it, as in the text of the trace."""
    actor: str
    receiver: str
    """The receiver's lane; the actor's own if there is no other."""
    label: str
    """The action, with the parameters that are not lanes."""
    sentences: str
    """The sentences of the action."""
    notes: tuple[str, ...]
    """The sentences of the views from here on."""
    mark: str
    """The violation, witness or failure; only in the last step."""


def messages_of(trace: Trace) -> tuple[Message, ...]:
    """The steps of a trace, as drawn."""
    return tuple(_message(trace, number, step) for number, step in enumerate(trace.steps, start=2))


def lanes_of(trace: Trace) -> tuple[str, ...]:
    """The lanes from left to right: numbered ones in the order of their numbers, after all others."""
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
    """A `sequenceDiagram`; notes follow the step after which they hold."""
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
    """Text escaped for Mermaid, which has codes for characters that would end a statement or a tag."""
    return "".join(f"#{ord(each)};" if each in "#;<>&%\\" else each for each in words)


# SVG.

SIZE: Final = 13
LETTER_WIDTH: Final = SIZE * LETTER * 0.88
"""The width of a letter in sentences, which have more narrow letters than names."""
LINE_HEIGHT: Final = 17
NARROWEST, WIDEST = 90, 260
"""The least width of a lane, and the most room for words between two lanes, in points."""
NOTES: Final = 62
"""The number of letters in a line of a note."""
MARGIN: Final = 16
HEAD: Final = 13
"""The padding of a lane's name."""
GAP: Final = 16
"""The gap between two steps."""
QUIET, NOTE, BROKEN = "#777777", "#35506b", "#b3261e"
_WHOLE: Final[Mapping[str, Any]] = {"break_long_words": False}
_DOTTED: Final[Mapping[str, Any]] = {"initial_indent": "\u00b7\u00a0", "subsequent_indent": "\u00a0\u00a0"}


def svg(trace: Trace) -> str:
    """A picture in one file: numbers at the left, lanes, and at the right the sentences that hold from a step on."""
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
    """The distance from each lane to the next: room for the words on arrows between them and beside dots."""
    place = {lane: number for number, lane in enumerate(lanes)}
    distances = [2 * half + GAP] * (len(lanes) - 1)
    for each in messages:
        first, last = sorted((place[each.actor], place[each.receiver]))
        last = last if last > first else first + 1  # words beside a dot end before the next lane
        needed = min(WIDEST, _room_for(each.label))
        if last < len(lanes):
            distances[last - 1] += max(0, needed - sum(distances[first:last]))
    return distances


def _width(words: str) -> int:
    return round(len(words) * LETTER_WIDTH)


def _room_for(words: str) -> int:
    return _width(words) + 2 * MARGIN


def _name(lane: str) -> list[str]:
    """The name of a lane in lines: its owner goes below."""
    whole = owner(lane)
    lines = [lane] if whole == lane else [lane.removesuffix(f" of {whole}"), f"of {whole}"]
    return [*map(escaped, lines)]


def _head(name: list[str], x: int, top: int, size: tuple[int, int], bottom: int) -> str:
    """The name of a lane in its frame, and the lane's line below."""
    half, height = size
    frame = f'width="{2 * half}" height="{height}" rx="7" fill="{INITIAL}" stroke="black"'
    first = top + height // 2 + 5 - (len(name) - 1) * LINE_HEIGHT // 2
    words = (_text(x, first + n * LINE_HEIGHT, line, anchor="middle", ground=INITIAL) for n, line in enumerate(name))
    return (
        f'<line x1="{x}" y1="{top + height}" x2="{x}" y2="{bottom}" stroke="#bbbbbb" stroke-dasharray="4 3"/>'
        f'<rect x="{x - half}" y="{top}" {frame}/>' + "".join(words)
    )


def _row(message: Message, at: Mapping[str, int], notes_at: int, top: int) -> tuple[list[str], int]:
    """The drawing of a step, and its height."""
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
    """A step from lane to lane: the action above the arrow, its sentences below."""
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
    """The number of letters in a line of this width, and at least those of a name."""
    return max(18, int((width - 2 * MARGIN) / LETTER_WIDTH))


def _notes(sentences: tuple[str, ...], mark: str, x: int, top: int) -> list[str]:
    """Sentences one below the other, each after a dot; the violation last."""
    lines = [(line, NOTE) for each in sentences for line in wrap(each, NOTES, **_DOTTED)]
    lines += [(line, BROKEN) for line in wrap(mark, NOTES, **_DOTTED)]
    return [_text(x, top + n * LINE_HEIGHT, line, colour) for n, (line, colour) in enumerate(lines)]


def _text(x: int, y: int, words: str, colour: str = "black", anchor: str = "start", ground: str = "white") -> str:
    """Words on a background of their own, so that no line crosses them."""
    return (
        f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}" paint-order="stroke" stroke="{ground}"'
        f' stroke-width="4">{escape(words)}</text>'
    )


FORMATS: Final[Mapping[str, Callable[[Trace], str]]] = {"mermaid": mermaid, "svg": svg}
"""The formats of a drawn trace."""
