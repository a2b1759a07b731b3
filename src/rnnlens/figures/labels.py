"""Where to write labels so that they cover little. Positions are in pixels from a panel's lower left corner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

Pixel = tuple[float, float]
AROUND = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


def pixel(at: Sequence[float], view: Sequence[Sequence[float]], panel: Pixel) -> Pixel:
    """The position of a point in a panel (width, height) whose axes have the ranges in `view`."""
    x, y = ((at[i] - view[i][0]) / (view[i][1] - view[i][0]) * panel[i] for i in (0, 1))
    return x, y


def along(path: Sequence[Pixel], spacing: float = 4.0) -> list[Pixel]:
    """Points along a polyline, at most `spacing` pixels apart."""
    points = list(path[-1:])
    for (x0, y0), (x1, y1) in pairwise(path):
        n = 1 + int(max(abs(x1 - x0), abs(y1 - y0)) / spacing)
        points += [(x0 + k / n * (x1 - x0), y0 + k / n * (y1 - y0)) for k in range(n)]
    return points


def box(centre: Pixel, size: Pixel) -> list[Pixel]:
    """Points that represent the area of a label."""
    (x, y), (wide, high) = centre, (size[0] / 2, size[1] / 2)
    return [point for row in (y - high, y, y + high) for point in along([(x - wide, row), (x + wide, row)], 8.0)]


def covered(centre: Pixel, size: Pixel, taken: Iterable[Pixel]) -> int:
    """How many of the points a label at this place would cover."""
    (x, y), (wide, high) = centre, (size[0] / 2, size[1] / 2)
    return sum(abs(x - a) <= wide and abs(y - b) <= high for a, b in taken)


def clearest(at: Pixel, size: Pixel, taken: Iterable[Pixel], room: Pixel, gap: float = 8.0) -> Pixel:
    """The shift from a point to the center of its label: of the eight around the point, the one whose label covers
    fewest of the `taken` points and not the point itself. Labels are moved to stay within the room (width, height)."""
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
    """Whether two labels, by center and size, do not overlap."""
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
    """Shifts from points to the centers of their labels, by index in `at`; earlier points are placed first. A point
    gets no label if every place for it overlaps another label or a labeled mark, or leaves the room (width, height).

    most: the largest number of labels. gap: pixels between point and label. mark: size of a point's mark in pixels.
    Places near the point are preferred, and so are places that do not cover the first `most` points.
    """
    taken = [*taken, *(point for point in at[:most] for _ in range(12))]
    shifts: dict[int, Pixel] = {}
    for i, ((x, y), (wide, high)) in enumerate(zip(at, sizes, strict=True)):
        if most is not None and len(shifts) >= most:
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
            and all(apart(c, (wide, high), (at[j][0] + s[0], at[j][1] + s[1]), sizes[j]) for j, s in shifts.items())
            and all(apart(c, (wide, high), at[j], (mark, mark)) for j in shifts)
        ]
        if free:
            centre = min(free, key=lambda c: choices[c] + covered(c, (wide + mark, high + mark), taken))
            shifts[i] = (centre[0] - x, centre[1] - y)
    return shifts
