"""Detects the parts of a page that its styles hide: a cascade over the few properties that can hide text.

Rules of ``<style>`` elements and ``style`` attributes count, by importance, specificity and order, as in a browser.
Style sheets that a page only links to are not fetched, animations are not run, and there is no layout: text that
another box covers is not found. Colours are compared where both are known; over a picture or gradient, they are not.
"""

from __future__ import annotations

import colorsys
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tooltrue_toolbox.web.css import Declaration, StyleRule, declarations

__all__ = ["TooMuch", "hidden_nodes"]

WORK = 60_000_000
"""The budget of steps for one page: one for each node that a selector is tested against, and 20 for each match."""
_PER_MATCH = 20

Node = Any
"""An element of selectolax, whose owner is ``html_reader``."""

Select = Callable[[str], Sequence[Node]]
"""Returns the nodes of a page that match a selector. ``ValueError`` for an invalid or unknown selector."""

Color = tuple[float, float, float, float]


class TooMuch(Exception):
    """The styles of a page exceed the budget of steps."""


class _Priority(NamedTuple):
    important: bool
    inline: bool
    specificity: tuple[int, int, int]
    order: int


Verdict = bool | Color | None
"""Whether the declaration hides; for a colour property the colour, ``None`` where it is unknown."""


# The effect of a declaration


_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)([a-z%]*)")
_PIXELS = {"": 1.0, "px": 1.0, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0,
           "cm": 37.8, "mm": 3.78, "q": 0.95, "vw": 12.8, "vh": 8.0, "vmin": 8.0, "vmax": 12.8, "%": 12.8}  # fmt: skip
_FAR = 500.0
"""Pixels to the left of or above a page at which a text is out of sight."""
_FAR_BEHIND = 9000.0
_SMALL = 2.0
"""The letter size in pixels below which text is unreadable."""
_FAINT = 0.1
_DISPLAYS = re.compile(
    r"block|inline|inline-(?:block|flex|grid|table)|flex|grid|flow-root|contents|list-item|ruby|run-in|-webkit-(?:box|flex)"
    r"|table|table-(?:row|cell|caption|column|row-group|header-group|footer-group)|revert|unset|initial|inherit"
)


def _pixels(value: str) -> float | None:
    match = _NUMBER.fullmatch(value)
    return float(match[1]) * _PIXELS[match[2]] if match and match[2] in _PIXELS else None


def _numbers(value: str) -> list[float]:
    return [float(match[1]) * _PIXELS.get(match[2], 1.0) for match in _NUMBER.finditer(value)]


def _display(value: str) -> bool | None:
    return True if value == "none" else False if _DISPLAYS.fullmatch(value.split(" ")[0]) else None


def _visibility(value: str) -> bool | None:
    return {"hidden": True, "collapse": True, "visible": False, "initial": False}.get(value)


def _opacity(value: str) -> bool | None:
    match = _NUMBER.fullmatch(value)
    if match is None or match[2] not in ("", "%"):
        return False if value in ("initial", "unset", "revert") else None
    return float(match[1]) / (100 if match[2] else 1) < _FAINT


def _font_size(value: str) -> bool | None:
    match = _NUMBER.fullmatch(value)
    if match is None:
        return False if value.endswith(("small", "medium", "large", "initial")) else None
    if match[2] in ("em", "%", "ex", "ch"):  # relative: it hides where it is tiny, and otherwise changes nothing
        return True if float(match[1]) * (1 if match[2] != "%" else 0.01) * 16 <= _SMALL else None
    size = _pixels(value)
    return None if size is None else size <= _SMALL


def _font(value: str) -> bool | None:
    sizes = [part.partition("/")[0] for part in value.split(" ") if _NUMBER.match(part)]
    verdicts = [size for part in sizes if (size := _font_size(part)) is not None and not part.isdigit()]
    return verdicts[0] if verdicts else None


def _place(value: str) -> bool | None:
    if value in ("auto", "initial", "unset"):
        return False
    distances = [size for part in value.replace("calc(", " ").replace(")", " ").split() if (size := _pixels(part))]
    return any(size <= -_FAR or size >= _FAR_BEHIND for size in distances)


def _margin(value: str) -> bool | None:
    return any(size <= -_FAR for part in value.split(" ") if "%" not in part and (size := _pixels(part)))


def _transform(value: str) -> bool | None:
    for name, inner in re.findall(r"([a-z0-9]+)\(([^()]*)\)", value):
        numbers = _numbers(inner)
        if name.startswith("scale") and any(abs(number) < 0.05 for number in numbers[:2]):
            return True
        if name.startswith("translate") and _place(inner.replace(",", " ").replace("%", "x")):
            return True
        if name in ("rotatex", "rotatey") and numbers and abs(numbers[0]) % 180 == 90:
            return True
        if name == "matrix" and len(numbers) == 6 and numbers[0] * numbers[3] == numbers[1] * numbers[2]:
            return True
    return False


def _scale(value: str) -> bool | None:
    return any(abs(number) < 0.05 for number in _numbers(value)[:2])


def _clip(value: str) -> bool | None:
    if not value.startswith("rect("):
        return False if value in ("auto", "initial", "unset") else None
    numbers = [float(match[1]) for match in _NUMBER.finditer(value)]
    return len(numbers) == 4 and numbers[2] - numbers[0] <= 1 and numbers[1] - numbers[3] <= 1


def _clip_path(value: str) -> bool | None:
    shape, _, inner = value.partition("(")
    first = _NUMBER.search(inner)
    if shape == "inset" and first:
        return first[2] == "%" and float(first[1]) >= 50
    if shape in ("circle", "ellipse") and first:
        return float(first[1]) == 0
    if shape == "polygon":
        points = {" ".join(point.split()) for point in inner.rstrip(")").split(",")}
        return len(points) == 1
    return False


def _overflow(value: str) -> bool | None:
    return any(part in ("hidden", "clip") for part in value.split(" "))


def _size(value: str) -> bool | None:
    size = _pixels(value)
    return size is not None and size <= 1


def _filter(value: str) -> bool | None:
    match = re.search(r"opacity\(([^()]*)\)", value)
    return bool(match and _opacity(match[1].strip()))


_OWN: Mapping[str, Callable[[str], bool | None]] = {
    "display": _display,
    "content-visibility": lambda value: value == "hidden",
    "opacity": _opacity,
    "filter": _filter,
    "transform": _transform,
    "scale": _scale,
    "translate": _place,
    "zoom": _scale,
    "clip": _clip,
    "clip-path": _clip_path,
    **dict.fromkeys(("left", "right", "top", "bottom", "inset", "inset-inline-start", "inset-block-start"), _place),
    **dict.fromkeys(("margin", "margin-left", "margin-top", "margin-right", "margin-inline-start"), _margin),
}
_BOXES: Mapping[str, Callable[[str], bool | None]] = {
    **dict.fromkeys(("overflow", "overflow-x", "overflow-y"), _overflow),
    **dict.fromkeys(("height", "max-height", "width", "max-width", "line-height", "block-size", "inline-size"), _size),
}
_CLIPS = ("overflow", "overflow-x", "overflow-y")
_PASSED_ON: Mapping[str, Callable[[str], bool | None]] = {
    "visibility": _visibility,
    "font-size": _font_size,
    "text-indent": _place,
    "letter-spacing": lambda value: _place(value) or _margin(value),
}
"""Inherited properties, which a child may override."""
_ALIKE = {"-webkit-transform": "transform", "-webkit-clip-path": "clip-path", "background-color": "background",
          "-webkit-filter": "filter", "-webkit-text-fill-color": "color", "-webkit-opacity": "opacity"}  # fmt: skip


def _verdicts(declared: Declaration, variables: Mapping[str, str]) -> Iterator[tuple[str, Verdict]]:
    """The verdicts of a declaration, by property; empty where a browser would reject its value."""
    name = _ALIKE.get(declared.name, declared.name)
    value = _without_variables(declared.value, variables)
    if name in ("color", "background", "background-image"):
        if name != "background-image":
            yield name, _color(value)
        elif value != "none":
            yield "background", None
    elif name == "font" and (size := _font(value)) is not None:
        yield "font-size", size
    elif (judge := _OWN.get(name) or _BOXES.get(name) or _PASSED_ON.get(name)) and (
        verdict := judge(value)
    ) is not None:
        yield name, verdict


_VARIABLE = re.compile(r"var\(\s*(--[^\s,()]+)\s*(?:,([^()]*))?\)")


def _without_variables(value: str, variables: Mapping[str, str]) -> str:
    for _ in range(4):
        if "var(" not in value or len(value) > 1000:
            break
        value = _VARIABLE.sub(lambda match: variables.get(match[1], match[2] or "?").strip(), value)
    return value


# Colours


_NAMES = {
    "white": "ffffff", "black": "000000", "red": "ff0000", "blue": "0000ff", "green": "008000", "yellow": "ffff00",
    "gray": "808080", "grey": "808080", "silver": "c0c0c0", "lime": "00ff00", "navy": "000080", "aqua": "00ffff",
    "cyan": "00ffff", "snow": "fffafa", "ivory": "fffff0", "azure": "f0ffff", "ghostwhite": "f8f8ff",
    "whitesmoke": "f5f5f5", "floralwhite": "fffaf0", "mintcream": "f5fffa", "transparent": "00000000",
    "orange": "ffa500", "purple": "800080", "maroon": "800000", "teal": "008080", "olive": "808000",
    "lightgray": "d3d3d3", "lightgrey": "d3d3d3", "darkgray": "a9a9a9", "gainsboro": "dcdcdc", "canvas": "ffffff",
}  # fmt: skip
_FUNCTION = re.compile(r"(rgba?|hsla?)\(([^()]*)\)")
_WHITE: Color = (255.0, 255.0, 255.0, 1.0)
_CLOSE = 10.0
"""Out of 255: colours that differ by less look alike."""


def _color(value: str) -> Color | None:
    """The colour; ``None`` for a value that is not a plain colour, such as a picture."""
    value = value.strip()
    if value in _NAMES:
        value = "#" + _NAMES[value]
    if re.fullmatch(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})", value):
        digits = value[1:] if len(value) > 5 else "".join(digit * 2 for digit in value[1:])
        parts = [int(digits[at : at + 2], 16) for at in range(0, len(digits), 2)]
        return (parts[0], parts[1], parts[2], parts[3] / 255 if len(parts) > 3 else 1.0)
    match = _FUNCTION.fullmatch(value)
    return _color_of_function(match[1], match[2]) if match else None


def _color_of_function(kind: str, inner: str) -> Color | None:
    parts = [part for part in re.split(r"[\s,/]+", inner.strip()) if part]
    numbers = [_NUMBER.fullmatch(part) for part in parts]
    if len(parts) not in (3, 4) or not all(numbers):
        return None
    read = [(float(number[1]), number[2]) for number in numbers if number]
    alpha = (read[3][0] / (100 if read[3][1] == "%" else 1)) if len(read) > 3 else 1.0
    if kind.startswith("rgb"):
        red, green, blue = (number * (2.55 if unit == "%" else 1) for number, unit in read[:3])
        return red, green, blue, alpha
    red, green, blue = colorsys.hls_to_rgb(read[0][0] % 360 / 360, read[2][0] / 100, read[1][0] / 100)
    return 255 * red, 255 * green, 255 * blue, alpha


def _alike(text: Color, behind: Color) -> bool:
    return all(abs(one - other) * text[3] <= _CLOSE for one, other in zip(text[:3], behind[:3], strict=True))


# The cascade


@dataclass(slots=True)
class _Styles:
    """The winning declarations so far, by property and element."""

    select: Select
    nodes: int
    names: frozenset[str]
    work: int = WORK
    won: dict[str, dict[int, tuple[_Priority, Verdict]]] = field(
        default_factory=lambda: defaultdict[str, dict[int, tuple[_Priority, Verdict]]](dict)
    )
    nodes_by_selector: dict[str, Sequence[Node]] = field(default_factory=dict[str, Sequence[Node]])

    def put(self, node: Node, priority: _Priority, kind: str, verdict: Verdict) -> None:
        won = self.won[kind]
        if node.mem_id not in won or won[node.mem_id][0] <= priority:
            won[node.mem_id] = priority, verdict

    def get(self, node: Node, kind: str) -> tuple[bool, Verdict]:
        """Whether any declaration applies, and its verdict."""
        entry = self.won[kind].get(node.mem_id)
        return (False, None) if entry is None else (True, entry[1])

    def matches(self, selector: str) -> Sequence[Node]:
        """The nodes of the page that match a selector; empty for an unknown selector."""
        if selector in self.nodes_by_selector:
            self._spend(_PER_MATCH * len(self.nodes_by_selector[selector]))
            return self.nodes_by_selector[selector]
        last = _LAST.search(selector)
        if last is not None and last[1].lower() not in self.names:
            return ()
        self._spend(self.nodes)
        try:
            matching = self.select(selector)
        except ValueError:
            matching = ()
        self._spend(_PER_MATCH * len(matching))
        self.nodes_by_selector[selector] = matching
        return matching

    def _spend(self, steps: int) -> None:
        self.work -= steps
        if self.work < 0:
            raise TooMuch


_LAST = re.compile(r"(?<!\\)[.#]([A-Za-z_][\w-]*)(?=$|:[a-z-]+$)")
"""A plain class or id at the end of a selector: most rules match no element of the page."""
_STATES = re.compile(r":(?:defined|read-only|scope|dir\(\s*\w+\s*\))(?![\w-])|(?<![\w\]])\*\|", re.IGNORECASE)
_LINKS = re.compile(r":(?:any-link|link)(?![\w-])", re.IGNORECASE)
_ANY = re.compile(r":(?:-webkit-any|-moz-any|matches)\(", re.IGNORECASE)
_WHERE = re.compile(r":where\([^()]*\)|\[[^\]]*\]|::?[\w-]+|[.#][^\s.#:>+~\[\](),]+|[A-Za-z][\w-]*", re.IGNORECASE)


def _static_selector(selector: str) -> str:
    """The equivalent selector for a static page, in the syntax that the parser knows."""
    return _ANY.sub(":is(", _LINKS.sub("[href]", _STATES.sub("", selector)))


def _specificity(selector: str) -> tuple[int, int, int]:
    ids = classes = names = 0
    for part in _WHERE.findall(selector):
        if part[0] == "#":
            ids += 1
        elif part[0] in ".[" or (part[0] == ":" and part[:2] != "::" and part.lower() not in _NEUTRAL):
            classes += not part.lower().startswith(":where(")
        else:
            names += part[0] != ":" or part[:2] == "::"
    return ids, classes, names


_NEUTRAL = frozenset((":is", ":not", ":has", ":where"))


def hidden_nodes(select: Select, rules: Sequence[StyleRule], *, is_linked: bool) -> tuple[list[Node], list[Node]]:
    """The invisible elements, and those whose own text alone is invisible. ``is_linked``: the page also has external
    style sheets, so that its background is unknown. ``TooMuch`` where the styles cost too much."""
    every = select("*")
    names = frozenset(
        name for node in every for key in ("class", "id") for name in (node.attributes.get(key) or "").lower().split()
    )
    styles = _Styles(select, len(every), names)
    variables = _variables(rules)
    _cascade(styles, rules, variables)
    for node in every:
        _attributes(styles, node, variables)
    whole = [node for node in every if _is_hidden(styles, node)]
    return whole, _silent(styles, every, is_linked)


def _variables(rules: Sequence[StyleRule]) -> dict[str, str]:
    """The custom properties of the page; those of its root take precedence."""
    variables: dict[str, str] = {}
    for root in (False, True):
        for rule in rules:
            if root == any(selector in (":root", "html", "body", "*") for selector in rule.selectors):
                variables |= {each.name: each.value for each in rule.declarations if each.name.startswith("--")}
    return variables


def _cascade(styles: _Styles, rules: Sequence[StyleRule], variables: Mapping[str, str]) -> None:
    entries = [
        (order, rule, each.important, kind, verdict)
        for order, rule in enumerate(rules)
        for each in rule.declarations
        for kind, verdict in _verdicts(each, variables)
        if rule.sure or verdict is True
    ]
    matter = {kind for *_, kind, verdict in entries if verdict is not False}
    for order, rule, important, kind, verdict in entries:
        if kind not in matter and kind not in _PASSED_ON:
            continue
        for selector in map(_static_selector, rule.selectors):
            priority = _Priority(important, False, _specificity(selector), order)
            for node in styles.matches(selector):
                styles.put(node, priority, kind, verdict)


def _attributes(styles: _Styles, node: Node, variables: Mapping[str, str]) -> None:
    """The declarations of ``style``, and of presentational attributes."""
    for name, kind in (("bgcolor", "background"), ("color", "color"), ("text", "color"), ("background", "background")):
        if (value := node.attributes.get(name)) and (name not in ("color", "text") or node.tag in ("font", "body")):
            color = _color(value.lower()) if name != "background" else None
            styles.put(node, _Priority(False, False, (-1, 0, 0), 0), kind, color)
    if style := node.attributes.get("style"):
        for each in declarations(style[:10_000]):
            for kind, verdict in _verdicts(each, variables):
                styles.put(node, _Priority(each.important, True, (0, 0, 0), 0), kind, verdict)


def _is_hidden(styles: _Styles, node: Node) -> bool:
    if any(styles.get(node, kind)[1] is True for kind in _OWN if kind in styles.won):
        return True
    clips = any(styles.get(node, kind)[1] is True for kind in _CLIPS if kind in styles.won)
    return clips and any(styles.get(node, kind)[1] is True for kind in _BOXES if kind not in _CLIPS)


@dataclass(frozen=True, slots=True)
class _Look:
    """The look of an element's text, inherited from its ancestors."""

    hiding: frozenset[str] = frozenset()
    text: Color | None = (0.0, 0.0, 0.0, 1.0)
    behind: Color | None = _WHITE
    is_picture: bool = False
    """Whether a picture or gradient is behind the text, which may also fill transparent letters."""
    is_set: bool = False
    """Whether a text colour was declared: links and buttons have other default colours."""


def _silent(styles: _Styles, every: Sequence[Node], is_linked: bool) -> list[Node]:
    if not any(styles.won.get(kind) for kind in (*_PASSED_ON, "color", "background")):
        return []
    looks: dict[int, _Look] = {}
    silent: list[Node] = []
    for node in every:  # parents stand before their children
        around = looks.get(node.parent.mem_id) if node.parent is not None else None
        look = looks[node.mem_id] = _look(styles, node, around or _Look(behind=None if is_linked else _WHITE))
        if look.hiding or _is_unseen(look):
            silent.append(node)
    return silent


def _look(styles: _Styles, node: Node, around: _Look) -> _Look:
    hiding = set(around.hiding)
    for kind in _PASSED_ON:
        is_said, verdict = styles.get(node, kind)
        if is_said:
            (hiding.add if verdict else hiding.discard)(kind)
    is_set, text = styles.get(node, "color")
    has_ground, behind = styles.get(node, "background")
    is_picture = has_ground and behind is None
    if has_ground and isinstance(behind, tuple) and behind[3] < 1:
        has_ground, behind = behind[3] > 0, None  # a translucent background lets the one behind it show through
    if not (frozenset(hiding) != around.hiding or is_set or has_ground):
        return around
    return _Look(
        frozenset(hiding),
        text if is_set and not isinstance(text, bool) else around.text,
        behind if has_ground and not isinstance(behind, bool) else around.behind,
        is_picture or (around.is_picture and not has_ground),
        is_set or around.is_set,
    )


def _is_unseen(look: _Look) -> bool:
    if look.text is None or not look.is_set:
        return False
    if look.text[3] < _FAINT:
        return not look.is_picture
    return look.behind is not None and _alike(look.text, look.behind)
