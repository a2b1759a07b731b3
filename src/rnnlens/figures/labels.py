"""Where to write a label so that it covers least. In pixels from a panel's lower left corner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

Pixel = tuple[float, float]
AROUND = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


def along(path: Sequence[Pixel], spacing: float = 4.0) -> list[Pixel]:
    """Points on a broken line, a few pixels apart."""
    points = list(path[-1:])
    for (x0, y0), (x1, y1) in pairwise(path):
        n = 1 + int(max(abs(x1 - x0), abs(y1 - y0)) / spacing)
        points += [(x0 + k / n * (x1 - x0), y0 + k / n * (y1 - y0)) for k in range(n)]
    return points


def box(centre: Pixel, size: Pixel) -> list[Pixel]:
    """The points that a label takes."""
    (x, y), (wide, high) = centre, (size[0] / 2, size[1] / 2)
    return [point for row in (y - high, y, y + high) for point in along([(x - wide, row), (x + wide, row)], 8.0)]


def covered(centre: Pixel, size: Pixel, taken: Iterable[Pixel]) -> int:
    """How many points a label of this size would cover there."""
    (x, y), (wide, high) = centre, (size[0] / 2, size[1] / 2)
    return sum(abs(x - a) <= wide and abs(y - b) <= high for a, b in taken)


def clearest(at: Pixel, size: Pixel, taken: Iterable[Pixel], room: Pixel, gap: float = 8.0) -> Pixel:
    """The shift from a point to the centre of its label, of those to all sides, where it covers least of what is taken
    and of the point itself; at a panel's edge the label is pushed back into the room (width, height)."""
    taken = [*taken, *[at] * 100]

    def within(value: float, half: float, end: float) -> float:
        return max(half, min(value, end - half))

    centres = [
        (
            within(at[0] + a * (size[0] / 2 + gap), size[0] / 2, room[0]),
            within(at[1] + b * (size[1] / 2 + gap), size[1] / 2, room[1]),
        )
        for a, b in AROUND
    ]
    x, y = min(centres, key=lambda centre: covered(centre, size, taken))
    return x - at[0], y - at[1]


def apart(a: Pixel, a_size: Pixel, b: Pixel, b_size: Pixel) -> bool:
    """Whether two labels, by centre and size, do not overlap."""
    return any(abs(a[i] - b[i]) >= (a_size[i] + b_size[i]) / 2 for i in (0, 1))


def spread(
    at: Sequence[Pixel],
    sizes: Sequence[Pixel],
    taken: Iterable[Pixel],
    room: Pixel,
    most: int | None = None,
    gap: float = 5.0,
    mark: float = 8.0,
) -> dict[int, Pixel]:
    """Shifts to the centres of many labels, the first first, by their place in `at`; one that would overlap another
    label, or the mark of one, wherever it is put, or leave the room, has none. most: so many at most.

    Close by is better than far, and the first points, which will have labels, are covered last."""
    taken = [*taken, *(point for point in at[:most] for _ in range(12))]
    found: dict[int, Pixel] = {}
    for i, ((x, y), (wide, high)) in enumerate(zip(at, sizes, strict=True)):
        if most is not None and len(found) >= most:
            break
        choices = {
            (x + a * (wide / 2 + gap), y + b * (high / 2 + further * gap)): cost
            for further, cost in ((3, 3), (1, 0))
            for a, b in AROUND
        }
        free = [
            c
            for c in choices
            if wide / 2 <= c[0] <= room[0] - wide / 2
            and high / 2 <= c[1] <= room[1] - high / 2
            and all(apart(c, (wide, high), (at[j][0] + s[0], at[j][1] + s[1]), sizes[j]) for j, s in found.items())
            and all(apart(c, (wide, high), at[j], (mark, mark)) for j in found)
        ]
        if free:
            centre = min(free, key=lambda c: choices[c] + covered(c, (wide + mark, high + mark), taken))
            found[i] = (centre[0] - x, centre[1] - y)
    return found
