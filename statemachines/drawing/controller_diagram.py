"""Pictures of a controller's life, release by release: requests, and the replies that lead from one to the next.

The caller finds the transitions and passes them in. This module decides how they look:

    a box             a request, the head of an agenda; or a waiting thread
    a frame           a row of requests, under Kafka's name for their origin
    an arrow          a reply, or a handled event
    from a frame      the same reply, or error, leads there from each box in it
    any request       the same reply leads there from most requests; if not from all, it says "any other"

Not shown: an event that changes nothing.

As an SVG it is a page for reading: a panel for each row, with its requests in order, and under each request its
replies with their targets. A single graph, as drawn by DOT and Mermaid, is three times as wide as a screen, and
mostly arrows.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from html import escape
from itertools import pairwise
from textwrap import wrap
from types import MappingProxyType
from typing import NamedTuple

from statemachines.controller.design import ELECTION, EXPIRED, MAYBE_RESIGN, STARTUP, Design, Threads
from statemachines.controller.threads import (
    HANDLING,
    IDLE,
    REGISTER,
    STOPPED,
    Agenda,
    ControllerEvent,
    ControllerStep,
)
from statemachines.drawing.graphviz import (
    FONT_SIZE,
    FONTS,
    INITIAL,
    LINE,
    NODE_HEIGHT,
    POINTS_PER_INCH,
    cell,
    label,
    quiet,
    strong,
    svg_of,
    width_of,
)

_SOURCE = "drawn from its moves by statemachines.drawing.controller_diagram"
_WAITS = "waiting for an event"
_BESIDE = "ZkEventThread"
_ANY = "any"
COLUMNS = 3
"""The number of columns of panels on a page."""
LONGEST_LINE = 52
"""The number of letters in a line of a reply."""
PANEL = 'border="1" style="rounded" color="#b5b5ab" bgcolor="#f6f6f2" cellspacing="3"'
LEGEND = (
    "A box is a request to ZooKeeper. Below it stand its answers: ↓ leads to the next box, → to the place named.",
    "Above a box stand the other rows that lead to it.",
)


class At(NamedTuple):
    """The position of a broker's thread: its pending steps, or its waiting as controller or not."""

    agenda: Agenda
    active: bool = False
    """For a waiting thread: the broker considers itself controller."""
    is_zk_event_thread: bool = False
    """It is ZkEventThread, beside the controller's thread."""


class Transition(NamedTuple):
    """A transition from one position to another."""

    source: At
    label: str
    """The reply to the request, the handled event, or nothing."""
    target: At


_SELF = At(STOPPED, active=True)  # an impossible position, as a name for an arrow's source


class Box(NamedTuple):
    """A request, or a waiting thread."""

    name: str
    words: str
    frame: str = ""
    title: str = ""
    """The request, in words."""
    waits: bool = False
    """It is a waiting thread, not a request."""
    sign: bool = False
    """It is only a sign that points to another box or frame."""


class Arrow(NamedTuple):
    """An arrow from a box or a frame to a box."""

    source: str
    target: str
    label: tuple[str, ...]
    from_frame: bool = False


class _Answer(NamedTuple):
    """A reply to a request, and the name of its target; empty if that is the next box."""

    words: str
    target: str


class Picture(NamedTuple):
    """The parts of a picture, in order."""

    release: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    @property
    def frames(self) -> tuple[str, ...]:
        """The names of the rows."""
        return tuple(dict.fromkeys(each.frame for each in self.boxes if each.frame))

    def within(self, frame: str) -> list[Box]:
        """The boxes in a frame."""
        return [each for each in self.boxes if each.frame == frame]


def picture_of(release: str, moves: Iterable[Transition]) -> Picture:
    """The life of a controller of a release, with these transitions.

    Raises:
        ValueError: there is no such release.
    """
    shown = [
        each for each in moves if each.source != each.target or each.source.is_zk_event_thread or each.source.agenda
    ]
    rows = _rows(Design(release))
    names, requests_in_order = list(dict.fromkeys(name for name, _ in rows)), list(ControllerStep)
    places = list(dict.fromkeys(place for each in shown for place in (each.source, each.target)))

    def place(at: At) -> tuple[int, int]:
        """Order by row, and within a row by the order of requests."""
        if not at.agenda or at.agenda == STOPPED:
            return -1, 0
        return names.index(_row(at.agenda, rows)), requests_in_order.index(at.agenda[0])

    places.sort(key=place)
    boxes = {at: _box(at, rows) for at in places}
    sources: dict[tuple[str, At], set[At]] = defaultdict(set)
    for each in shown:
        sources[each.label, _SELF if each.source == each.target else each.target].add(each.source)
    said: dict[Arrow, set[str]] = defaultdict(set)
    requests = {
        at for at in places if at.agenda and at.agenda[0] not in (ControllerStep.Start, ControllerStep.Connect)
    }
    frames: dict[str, set[At]] = defaultdict(set)
    for at in places:
        frames[boxes[at].frame].add(at)

    def lead(source: str, target: At, words: str, from_frame: bool = False) -> None:
        to = source if target == _SELF else boxes[target].name
        said[Arrow(source, to, (), from_frame)].add(words)

    some = ""
    for (words, target), left in sources.items():
        if len(left & requests) > len(requests) / 2:
            some = "any request" if left == requests else "any other request"
            lead(_ANY, target, words)
            continue
        for frame, among in frames.items() if target.agenda != IDLE else ():
            if frame and len(among) > 1 and among <= left and target not in among and target != _SELF:
                lead(frame, target, words, from_frame=True)
                left -= among
        for at in left:
            lead(boxes[at].name, target, words)
    order = {each.name: place for place, each in enumerate(boxes.values())}
    arrows = [
        arrow._replace(label=tuple(_caused(each) for each in _short(its) if each)) for arrow, its in said.items()
    ]
    arrows.sort(key=lambda arrow: (order.get(arrow.source, -1), arrow.source, order.get(arrow.target, -1)))
    any_request = (Box(_ANY, some, waits=True),) if some else ()
    return Picture(release, (*boxes.values(), *any_request), tuple(arrows))


def _with_signs(picture: Picture) -> Picture:
    """Replace long arrows by short ones to a sign: to waiting threads, and to targets of many rows."""
    frame_of = {each.name: each.frame for each in picture.boxes}
    words = {each.name: each.words for each in picture.boxes}
    entered: dict[str, set[str]] = defaultdict(set)
    for arrow in picture.arrows:
        entered[arrow.target].add(arrow.source if arrow.from_frame else frame_of[arrow.source])
    signs: dict[str, Box] = {}
    arrows = []
    for arrow in picture.arrows:
        here, there = arrow.source if arrow.from_frame else frame_of[arrow.source], frame_of[arrow.target]
        far = not arrow.from_frame and here and here not in (there, _WAITS, _BESIDE)
        if far and (there in (_WAITS, _BESIDE) or len(entered[arrow.target] - {there}) > 3):
            name = f"{here}_to_{arrow.target}"
            says = words[arrow.target] if there in (_WAITS, _BESIDE) else there
            signs[name] = Box(name, f"to {says}", here, sign=True)
            arrow = arrow._replace(target=name)
        arrows.append(arrow)
    return picture._replace(boxes=(*picture.boxes, *signs.values()), arrows=tuple(arrows))


def _short(said: Set[str]) -> Iterator[str]:
    """The labels, in order; two that differ only in whether the broker resigns become one."""
    resigns = ": it resigns"
    for words in sorted(said):
        if words.endswith(resigns) and words.removesuffix(resigns) in said:
            yield f"{words} if it was active"
        elif words + resigns not in said:
            yield words


def _caused(said: str) -> str:
    """An event's label, with its meaning."""
    return f"{said}: {ControllerEvent[said].value}" if said in ControllerEvent.__members__ else said


# Rows, and the row of an agenda.


def _rows(design: Design) -> list[tuple[str, Agenda]]:
    """The rows, with Kafka's names."""
    handled = [(event.name, row) for event, row in HANDLING[design.threads].items()]
    asks = "maybeResign" if design.threads is Threads.barrier else "elect"
    moves = "resign" if design.threads is Threads.lock else "triggerControllerMove"
    return [
        ("Startup", STARTUP[design.threads]),
        ("RegisterBrokerAndReelect", EXPIRED),
        ("elect", Agenda((ControllerStep.Elect,))),
        ("elect", Agenda((*ELECTION[design.epoch_update], *design.failover))),
        ("onControllerFailover", design.failover),
        (asks, MAYBE_RESIGN),
        *((name, row) for name, row in handled if row != MAYBE_RESIGN),
        (moves, Agenda((ControllerStep.MoveController,))),
        (moves, Agenda((ControllerStep.DeleteController,))),
    ]


def _row(doing: Agenda, rows: list[tuple[str, Agenda]]) -> str:
    """The shortest row with this ending.

    A request in no row is a check in the middle of one. It belongs to the row that continues in the same way after
    another request; otherwise to the row of the next request.
    """
    ends = [(len(row), name) for name, row in rows if row[-len(doing) :] == doing]
    if ends:
        return min(ends)[1]
    left = len(doing) - 1
    goes_on = [(len(row), name) for name, row in rows if len(row) > left and row[len(row) - left :] == doing[1:]]
    registers = [(size, name) for size, name in goes_on if left or (name, REGISTER) in rows]
    return min(registers)[1] if registers else _row(Agenda(doing[1:]), rows)


def _box(at: At, rows: list[tuple[str, Agenda]]) -> Box:
    if at.agenda == STOPPED:
        return Box("Stopped", "stopped", waits=True)
    if at.agenda == IDLE:
        if at.is_zk_event_thread:
            return Box("ZkEventThread", "waiting", _BESIDE, waits=True)
        name, words = ("Controller", "controller") if at.active else ("NotController", "not controller")
        return Box(name, words, _WAITS, waits=True)
    frame, do = _row(at.agenda, rows), at.agenda[0]
    return Box(f"{frame}_{do}", do.name, frame, do.value)


# Formats.


def mermaid(picture: Picture) -> str:
    """A flowchart: in a state diagram of Mermaid, no arrow leads from within one frame into another."""
    signed = _with_signs(picture)
    lines = [f"%% the controller's life in {picture.release}, {_SOURCE}", "flowchart TB"]
    for frame in signed.frames:
        lines.append(f'    subgraph {_framed(frame)}["{frame}"]')
        lines += [f"        {_shape(each)}" for each in signed.within(frame)]
        lines.append("    end")
    lines += [f"    {_shape(each)}" for each in signed.within("")]
    for arrow in signed.arrows:
        words = "<br/>".join(arrow.label).replace('"', "'")
        label = f'|"{words}"|' if words else ""
        source = _framed(arrow.source) if arrow.from_frame else arrow.source
        lines.append(f"    {source} -->{label} {arrow.target}")
    return "\n".join(lines) + "\n"


def _shape(each: Box) -> str:
    return f'{each.name}(["{each.words}"])' if each.waits or each.sign else f'{each.name}["{each.words}"]'


def dot(picture: Picture) -> str:
    """A Graphviz graph, with a cluster for each row."""
    return _digraph(_with_signs(picture))


def svg(picture: Picture) -> str:
    """A page with a panel for each row, identical bytes everywhere."""
    own = [each for each in picture.boxes if not each.frame]
    panels = {_WAITS: [*picture.within(_WAITS), *own]}
    panels |= {frame: picture.within(frame) for frame in picture.frames if frame != _WAITS}
    columns: list[list[str]] = [[] for _ in range(COLUMNS)]
    heights = [0] * COLUMNS
    for place, (frame, boxes) in enumerate(panels.items()):
        rows = [cell(strong(frame)), *_panel(picture, boxes, frame)]
        column = heights.index(min(heights))
        heights[column] += len(rows)
        columns[column].append(f'"{frame}" [label={label(rows, PANEL)}, sortv={place}]')
    title = f"The life of a controller in Kafka {picture.release}"
    heading = label([cell(strong(title)), *(cell(quiet(line)) for line in LEGEND)])
    lines = [
        "graph {",
        f"graph [label={heading}, labelloc=t, labeljust=l, packmode=array_ut{COLUMNS}, pack=8, pad=0.1]",
        "node [shape=plain]",
    ]
    for number, nodes in enumerate(columns):
        shape = f"packmode=array_ul1, pack=8, peripheries=0, margin=0, sortv={number}"
        lines += [f'subgraph cluster_{number} {{ graph [label="", {shape}]', *nodes, "}"]
    return svg_of("\n".join([*lines, "}"]), title, "osage", "start")


def _panel(picture: Picture, boxes: Sequence[Box], frame: str) -> Iterator[str]:
    """The rows of a panel: the replies common to all boxes, then each box with its own replies."""
    answers: dict[tuple[str, bool], list[_Answer]] = defaultdict(list)  # a frame may have the name of a box
    box_named = {each.name: each for each in picture.boxes}
    after = {each.name: following.name for each, following in pairwise(boxes)}
    for arrow in picture.arrows:
        onward = not arrow.from_frame and after.get(arrow.source) == arrow.target
        target = "" if onward else _place(arrow, box_named, boxes)
        answers[arrow.source, arrow.from_frame] += [_Answer(words, target) for words in arrow.label or ("",)]
    whole = 'colspan="2"'
    if (frame, True) in answers:
        yield cell(quiet("either of them:" if len(boxes) == 2 or frame == _WAITS else "any of these:"), whole)
        yield from _leads(answers[frame, True])
    for each in boxes:
        if entered := _entered(picture, each, box_named):
            yield cell(quiet(entered), whole)
        fill = INITIAL if each.waits else "white"
        words = f"{escape(each.words)} {quiet(each.title)}" if each.title else escape(each.words)
        yield cell(words, f'{whole} border="1" style="rounded" color="{LINE}"', fill)
        yield from _leads(answers[each.name, False])


def _leads(answers: Iterable[_Answer]) -> Iterator[str]:
    """A row for each reply, with its target; those that lead to the next box come last."""
    for each in sorted(_folded(answers), key=lambda answer: not answer.target):
        *lines, last = wrap(each.words, LONGEST_LINE) or [""]
        yield from (cell(escape(line), 'colspan="2"') for line in lines)
        yield cell(escape(last)) + cell(strong(f"→ {each.target}" if each.target else "↓"))


def _place(arrow: Arrow, boxes: Mapping[str, Box], here: Sequence[Box]) -> str:
    """The target of an arrow, in words: a box of the same panel, a waiting thread, or another row."""
    target = boxes[arrow.target]
    if arrow.source == arrow.target:
        return "the same again"
    if target in here or target.waits:
        return target.words
    first = next(each for each in boxes.values() if each.frame == target.frame)
    return target.frame if target == first else f"{target.frame}, {target.words}"


def _folded(answers: Iterable[_Answer]) -> Iterator[_Answer]:
    """Merge the two replies that leave a broker in its state, controller or not."""
    answers = list(answers)
    waiting = {"controller", "not controller"}
    for each in answers:
        both = [other for other in answers if other.words == each.words and other.target in waiting]
        if each not in both or len(both) < 2:
            yield each
        elif each == both[0]:
            yield _Answer(each.words, "controller or not")


def _entered(picture: Picture, box: Box, boxes: Mapping[str, Box]) -> str:
    """The other rows that lead to a box; empty for a waiting thread."""
    if box.waits:
        return ""
    frames = (
        arrow.source if arrow.from_frame else boxes[arrow.source].frame or boxes[arrow.source].words
        for arrow in picture.arrows
        if arrow.target == box.name
    )
    others = [each for each in dict.fromkeys(frames) if each not in (box.frame, _WAITS, "stopped")]
    return f"from {', '.join(others)}" if others else ""


FORMATS: Mapping[str, Callable[[Picture], str]] = MappingProxyType({"mermaid": mermaid, "dot": dot, "svg": svg})
"""The formats of a picture, by name."""


def _digraph(picture: Picture) -> str:
    lines = [
        f"// the controller's life in {picture.release}, {_SOURCE}",
        'digraph "controller" {',
        "    rankdir=TB nodesep=0.35 ranksep=0.45 compound=true",
        f'    node [shape=box, style="rounded,filled", fillcolor=white, fontname="{FONTS}",'
        f" fontsize={FONT_SIZE}, fixedsize=true, height={NODE_HEIGHT / POINTS_PER_INCH:.2f}]",
        f'    edge [color="{LINE}", fontname="{FONTS}", fontsize={FONT_SIZE}]',
    ]
    for frame in picture.frames:
        lines.append(f"    subgraph cluster_{_framed(frame)} {{")
        lines.append(f'        graph [label="{frame}", labeljust=l, fontname="{FONTS}", style=rounded]')
        lines += [f"        {_node(each)}" for each in picture.within(frame)]
        lines.append("    }")
    lines += [f"    {_node(each)}" for each in picture.within("")]
    for arrow in picture.arrows:
        marks, source = [], arrow.source
        if arrow.from_frame:
            marks += [f'ltail="cluster_{_framed(source)}"']
            source = [each for each in picture.within(source) if not each.sign][-1].name
        if arrow.label:
            marks += ['label="' + r"\n".join(arrow.label) + '"']
        lines.append(f'    "{source}" -> "{arrow.target}"' + (f" [{', '.join(marks)}]" if marks else ""))
    return "\n".join([*lines, "}"]) + "\n"


def _node(each: Box) -> str:
    marks = ", shape=plaintext" if each.sign else f', fillcolor="{INITIAL}"' if each.waits else ""
    return f'"{each.name}" [width={width_of(each.words) / POINTS_PER_INCH:.2f}, label="{each.words}"{marks}]'


def _framed(frame: str) -> str:
    """The name of a frame, distinct from boxes."""
    return f"in_{frame}".replace(" ", "_")
