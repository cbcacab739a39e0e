"""Pictures of a controller's life, release by release: requests, and the answers that lead from one to the next.

Which moves there are is found elsewhere, and handed in. Here is only decided what is seen of them:

    a box             a request, which is the head of an agenda; or a thread that waits
    a frame           a row of requests, under Kafka's name for what makes it
    an arrow          an answer, or what is handled
    from a frame      the same answer, or error, leads there from each box in it
    any request       the same answer leads there from most requests; if not from all, it says "any other"

Not shown: an event that changes nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from types import MappingProxyType
from typing import NamedTuple

from statemachines.agenda import IDLE, STOPPED, Agenda, Do
from statemachines.controller import ELECTION, EXPIRED, MAYBE_RESIGN, STARTUP, Design, Threads, design_of
from statemachines.controller_event import HANDLING, REGISTER
from statemachines.drawing import (
    FONT_SIZE,
    FONTS,
    INITIAL,
    LABEL_HEIGHT,
    LINE,
    MARGIN,
    NODE_HEIGHT,
    POINTS_PER_INCH,
    TIP,
    Point,
    blank,
    box,
    graphviz_version,
    laid_out,
    path,
    text_at,
    width_of,
)

__all__ = ["FORMATS", "Arrow", "At", "Box", "Move", "Picture", "dot", "mermaid", "picture", "svg"]

_SOURCE = "drawn from its moves by statemachines.controller_diagram"
_WAITS = "waiting for an event"
_BESIDE = "ZkEventThread"
_ANY = "any"
_FRAME = "#f6f6f2"
_FRAME_LINE = "#999999"


class At(NamedTuple):
    """Where a thread of a broker is: what it is about to do, or whether it waits as the controller or not."""

    doing: Agenda
    active: bool = False
    """Of a thread that waits: the broker takes itself for the controller."""
    beside: bool = False
    """It is ZkEventThread, beside the controller's thread."""


class Move(NamedTuple):
    """What leads from one place to another."""

    source: At
    said: str
    """The answer to the request, what is handled, or nothing."""
    target: At


_SELF = At(STOPPED, active=True)  # which is nowhere: the place that an arrow comes from


class Box(NamedTuple):
    """A request, or a thread that waits."""

    name: str
    words: str
    frame: str = ""
    title: str = ""
    """What the request is, in words."""
    sign: bool = False
    """It is no more than a sign to another box or frame."""


class Arrow(NamedTuple):
    """What leads from a box or a frame to a box."""

    source: str
    target: str
    said: tuple[str, ...]
    from_frame: bool = False


class Picture(NamedTuple):
    """What is drawn, in order."""

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


def picture(release: str, moves: Iterable[Move]) -> Picture:
    """The life of a controller of a release, in which there are these moves.

    Raises:
        ValueError: it is no release.
    """
    shown = [each for each in moves if each.source != each.target or each.source.beside or each.source.doing]
    rows = _rows(design_of(release))
    names = list(dict.fromkeys(name for name, _ in rows))
    places = list(dict.fromkeys(place for each in shown for place in (each.source, each.target)))
    places.sort(key=lambda at: names.index(_row(at.doing, rows)) if at.doing and at.doing != STOPPED else -1)
    boxes = {at: _box(at, rows) for at in places}
    sources: dict[tuple[str, At], set[At]] = defaultdict(set)
    for each in shown:
        sources[each.said, _SELF if each.source == each.target else each.target].add(each.source)
    said: dict[Arrow, list[str]] = defaultdict(list)
    requests = {at for at in places if at.doing and at.doing[0] not in (Do.Start, Do.Connect)}
    frames: dict[str, set[At]] = defaultdict(set)
    for at in places:
        frames[boxes[at].frame].add(at)
    some = ""
    for (words, target), left in sources.items():
        if len(left & requests) > len(requests) / 2:
            some = "any request" if left == requests else "any other request"
            said[Arrow(_ANY, _ANY if target == _SELF else boxes[target].name, ())].append(words)
            continue
        for frame, among in frames.items() if target.doing != IDLE else ():
            if frame and len(among) > 1 and among <= left and target not in among and target != _SELF:
                said[Arrow(frame, boxes[target].name, (), from_frame=True)].append(words)
                left -= among
        for at in left:
            to = at if target == _SELF else target
            said[Arrow(boxes[at].name, boxes[to].name, ())].append(words)
    order = {each.name: place for place, each in enumerate(boxes.values())}
    arrows = [arrow._replace(said=tuple(_short(sorted(filter(None, words))))) for arrow, words in said.items()]
    arrows.sort(key=lambda arrow: (order.get(arrow.source, -1), arrow.source, order.get(arrow.target, -1)))
    any_request = (Box(_ANY, some),) if some else ()
    return _with_signs(Picture(release, (*boxes.values(), *any_request), tuple(arrows)))


def _with_signs(picture: Picture) -> Picture:
    """Long arrows become short ones to a sign: to a thread that waits, and to where many rows lead."""
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


def _short(said: list[str]) -> Iterator[str]:
    """What only differs in whether the broker resigns is one line."""
    for words in said:
        if words + ": it resigns" in said:
            continue
        plain = words.removesuffix(": it resigns")
        yield f"{plain}: it resigns if it was active" if plain != words and plain in said else words


# Rows, and which of them an agenda belongs to.


def _rows(design: Design) -> list[tuple[str, Agenda]]:
    """The rows with Kafka's names."""
    handled = [(event.name, row) for event, row in HANDLING[design.threads].items()]
    asks = "maybeResign" if design.threads is Threads.barrier else "elect"
    moves = "resign" if design.threads is Threads.lock else "triggerControllerMove"
    return [
        ("Startup", STARTUP[design.threads]),
        ("RegisterBrokerAndReelect", EXPIRED),
        ("elect", Agenda((Do.Elect,))),
        ("elect", Agenda((*ELECTION[design.epoch_update], *design.failover))),
        ("onControllerFailover", design.failover),
        (asks, MAYBE_RESIGN),
        *((name, row) for name, row in handled if row != MAYBE_RESIGN),
        (moves, Agenda((Do.MoveController,))),
        (moves, Agenda((Do.DeleteController,))),
    ]


def _row(doing: Agenda, rows: list[tuple[str, Agenda]]) -> str:
    """The shortest row that ends like this.

    A request that no row has is a second look in the middle of one, and belongs to the row that goes on like this
    behind another request; or else to that which the next request belongs to.
    """
    ends = [(len(row), name) for name, row in rows if row[-len(doing) :] == doing]
    if ends:
        return min(ends)[1]
    left = len(doing) - 1
    goes_on = [(len(row), name) for name, row in rows if len(row) > left and row[len(row) - left :] == doing[1:]]
    registers = [(size, name) for size, name in goes_on if left or (name, REGISTER) in rows]
    return min(registers)[1] if registers else _row(Agenda(doing[1:]), rows)


def _box(at: At, rows: list[tuple[str, Agenda]]) -> Box:
    if at.doing == STOPPED:
        return Box("Stopped", "stopped")
    if at.doing == IDLE:
        if at.beside:
            return Box("ZkEventThread", "waiting", _BESIDE)
        return (
            Box("Controller", "controller", _WAITS) if at.active else Box("NotController", "not controller", _WAITS)
        )
    frame, do = _row(at.doing, rows), at.doing[0]
    return Box(f"{frame}_{do}", do.name, frame, do.value)


# Formats.


def mermaid(picture: Picture) -> str:
    """A flowchart: in a state diagram of Mermaid, no arrow leads from within one frame into another."""
    lines = [f"%% the controller's life in {picture.release}, {_SOURCE}", "flowchart TB"]
    for frame in picture.frames:
        lines.append(f'    subgraph {_framed(frame)}["{frame}"]')
        lines += [f"        {_shape(each)}" for each in picture.within(frame)]
        lines.append("    end")
    lines += [f"    {_shape(each)}" for each in picture.within("")]
    for arrow in picture.arrows:
        words = "<br/>".join(arrow.said).replace('"', "'")
        label = f'|"{words}"|' if words else ""
        source = _framed(arrow.source) if arrow.from_frame else arrow.source
        lines.append(f"    {source} -->{label} {arrow.target}")
    return "\n".join(lines) + "\n"


def _shape(each: Box) -> str:
    plain = each.frame and not each.sign
    return f'{each.name}["{each.words}"]' if plain else f'{each.name}(["{each.words}"])'


def dot(picture: Picture) -> str:
    """A Graphviz graph, with a cluster for each row."""
    return _digraph(picture, text=True)


def svg(picture: Picture) -> str:
    """An SVG image of its own, the same bytes wherever Graphviz has the same version."""
    layout = laid_out(_digraph(picture, text=False))
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    lines = [
        f"<!-- the controller's life in {picture.release}, {_SOURCE}; laid out by Graphviz {graphviz_version()} -->",
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}"'
        f' viewBox="{-MARGIN} {-MARGIN} {width} {height}">',
        f"<title>The life of a controller in Kafka {picture.release}</title>",
        TIP,
        f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{width}" height="{height}" fill="white"/>',
        f'<g font-family="{FONTS}" font-size="{FONT_SIZE}" font-weight="bold">',
    ]
    for frame in picture.frames:
        corner, wide, high = layout.clusters[f"cluster_{_framed(frame)}"]
        lines.append(
            f'<rect x="{corner.x}" y="{corner.y}" width="{wide}" height="{high}" rx="7" fill="{_FRAME}"'
            f' stroke="{_FRAME_LINE}"/>'
        )
        lines.append(f'<text x="{corner.x + 8}" y="{corner.y + 14}" dy=".35em">{escape(frame)}</text>')
    lines += ["</g>", f'<g fill="none" stroke="{LINE}" stroke-width="1.2" marker-end="url(#tip)">']
    for number, arrow in enumerate(picture.arrows):
        dashes = ' stroke-dasharray="5 3"' if arrow.from_frame or arrow.source == _ANY else ""
        title = f"{arrow.source} to {arrow.target}" + (f", {' or '.join(arrow.said)}" if arrow.said else "")
        curve = path(layout.curves[(f"arrow{number}",)])
        lines.append(f"<g{dashes}><title>{escape(title)}</title>{curve}</g>")
    lines += ["</g>", f'<g font-family="{FONTS}" font-size="{FONT_SIZE}" text-anchor="middle">']
    for number, arrow in enumerate(picture.arrows):
        for line, words in enumerate(arrow.said):
            x, y = layout.labels[(f"arrow{number}",)]
            lines.append(text_at(Point(x, y + LABEL_HEIGHT * (2 * line - len(arrow.said) + 1) // 2), words))
    for each in picture.boxes:
        center, fill = layout.centers[each.name], INITIAL if _waits(each) else "white"
        title = f"<title>{escape(each.title)}</title>" if each.title else ""
        if not each.sign:
            lines.append(f"<g>{title}{box(center, width_of(each.words), NODE_HEIGHT, fill)}")
            lines.append(f"{text_at(center, each.words)}</g>")
        else:
            lines.append(f'<g font-style="italic">{text_at(center, each.words)}</g>')
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


FORMATS: Mapping[str, Callable[[Picture], str]] = MappingProxyType({"mermaid": mermaid, "dot": dot, "svg": svg})
"""What a life can be drawn as, by the name of the format."""


def _digraph(picture: Picture, *, text: bool) -> str:
    """The graph in DOT; without text, places are kept free for the same text of a width we know."""
    lines = [
        f"// the controller's life in {picture.release}, {_SOURCE}",
        'digraph "controller" {',
        "    rankdir=TB nodesep=0.35 ranksep=0.45 compound=true",
        f'    node [shape=box, style="rounded,filled", fillcolor=white, fontname="{FONTS}",'
        f" fontsize={FONT_SIZE}, fixedsize=true, height={NODE_HEIGHT / POINTS_PER_INCH:.2f}]",
        f'    edge [color="{LINE}", fontname="{FONTS}", fontsize={FONT_SIZE}]',
    ]
    for frame in picture.frames:
        words = f'"{frame}"' if text else blank(frame)
        lines.append(f"    subgraph cluster_{_framed(frame)} {{")
        lines.append(f'        graph [label={words}, labeljust=l, fontname="{FONTS}", style=rounded]')
        lines += [f"        {_node(each, text)}" for each in picture.within(frame)]
        lines.append("    }")
    lines += [f"    {_node(each, text)}" for each in picture.within("")]
    for number, arrow in enumerate(picture.arrows):
        marks = [f'id="arrow{number}"']
        source = arrow.source
        if arrow.from_frame:
            marks += [f'ltail="cluster_{_framed(source)}"']
            source = [each for each in picture.within(source) if not each.sign][-1].name
        if arrow.from_frame or source == _ANY:
            marks += ["style=dashed"]
        if arrow.said:
            marks += ["label=" + ('"' + r"\n".join(arrow.said) + '"' if text else blank(*arrow.said))]
        lines.append(f'    "{source}" -> "{arrow.target}" [{", ".join(marks)}]')
    return "\n".join([*lines, "}"]) + "\n"


def _waits(each: Box) -> bool:
    return each.frame in ("", _WAITS, _BESIDE)


def _node(each: Box, text: bool) -> str:
    words = f'"{each.words}"' if text else '""'
    marks = ", shape=plaintext" if each.sign else ""
    return f'"{each.name}" [width={width_of(each.words) / POINTS_PER_INCH:.2f}, label={words}{marks}]'


def _framed(frame: str) -> str:
    """What a frame is called beside boxes."""
    return f"in_{frame}".replace(" ", "_")
