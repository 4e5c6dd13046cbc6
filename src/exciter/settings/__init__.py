"""Settings objects from YAML, flags or keywords: typed, checked once, one kind of message, written back as YAML."""

from exciter.settings.fill import Settings, fill, keys_of
from exciter.settings.kinds import (
    Amount,
    Fraction,
    Name,
    Names,
    NonNegative,
    Number,
    Numbers,
    OneWord,
    PerJointNumber,
    Positive,
    Switch,
    Text,
    Vector,
    Whole,
)
from exciter.settings.registry import OneOf, Registry
from exciter.settings.write import written, yaml_text

__all__ = [
    "Amount",
    "Fraction",
    "Name",
    "Names",
    "NonNegative",
    "Number",
    "Numbers",
    "OneOf",
    "OneWord",
    "PerJointNumber",
    "Positive",
    "Registry",
    "Settings",
    "Switch",
    "Text",
    "Vector",
    "Whole",
    "fill",
    "keys_of",
    "written",
    "yaml_text",
]
