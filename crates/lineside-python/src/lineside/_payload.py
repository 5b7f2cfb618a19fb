"""What a payload is: a dictionary of JSON whose fields are attributes as well.

It knows no point; those are in `points.py`, which is generated.
"""

from __future__ import annotations

from typing import Any, ClassVar, Mapping


class Payload(dict):  # type: ignore[type-arg]
    """The payload of an event: JSON, by the names of its fields.

    An optional field that is absent is `None` as an attribute, and no key of the dictionary. A field whose name Python or
    its dictionaries have taken has an underscore behind it as an attribute (`from_`, `keys_`).
    """

    point: ClassVar[str] = ""
    """The point."""
    amendable: ClassVar[tuple[str, ...]] = ()
    """The fields that a hook may amend."""
    fields: ClassVar[tuple[str, ...]] = ()
    """All fields that the point has."""

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "Payload":
        """The payload that a dictionary is."""
        payload = cls.__new__(cls)
        payload.update(fields)
        return payload

    def _add(self, optional: dict[str, Any]) -> None:
        for name, value in optional.items():
            if value is not None:
                self[name] = value

    def __getattr__(self, name: str) -> Any:
        field = name[:-1] if name in ("from_", "keys_") else name
        try:
            return self[field]
        except KeyError:
            if field in self.fields:
                return None
        known = ", ".join(self.fields) or "none"
        raise AttributeError(f"{self.point or 'the payload'} has no field `{name}`; it has: {known}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict.__repr__(self)})"


class Custom(Payload):
    """The payload of a point that a vendor has declared, `x.<vendor>.<point>`: any object."""

    def __init__(self, point: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.__dict__["point"] = point
