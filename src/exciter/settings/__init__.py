"""Settings objects from YAML, flags or keywords: typed, checked once, one kind of message, written back as YAML."""

from exciter.settings.field_markers import (
    Amount,
    ByName,
    Fraction,
    Name,
    Names,
    NonNegative,
    Number,
    Numbers,
    OneWord,
    PerJointNumber,
    Place,
    Positive,
    Switch,
    Text,
    Vector,
    Whole,
)
from exciter.settings.fill import Settings, fill, keys_of, known_keys
from exciter.settings.registry import OneOf, Registry
from exciter.settings.write import written, yaml_text

__all__ = [
    "Amount",
    "ByName",
    "Fraction",
    "Name",
    "Names",
    "NonNegative",
    "Number",
    "Numbers",
    "OneOf",
    "OneWord",
    "PerJointNumber",
    "Place",
    "Positive",
    "Registry",
    "Settings",
    "Switch",
    "Text",
    "Vector",
    "Whole",
    "fill",
    "keys_of",
    "known_keys",
    "written",
    "yaml_text",
]
