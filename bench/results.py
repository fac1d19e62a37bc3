"""What the systems have shown in all turns."""

from attrs import frozen

from bench.shapes import Shape


@frozen
class Results:
    """All that was measured: seconds by system and shape, one for each turn."""

    shapes: tuple[Shape, ...]
    systems: tuple[str, ...]
    seconds: dict[str, dict[str, list[float]]]

    def of(self, system: str, shape: Shape) -> list[float]:
        return self.seconds[system][shape.name]
