"""Settings objects from YAML, flags or keywords: typed, checked once, one kind of message, written back as YAML."""

from exciter.settings.field_markers import Amount as Amount
from exciter.settings.field_markers import ByName as ByName
from exciter.settings.field_markers import Fraction as Fraction
from exciter.settings.field_markers import Name as Name
from exciter.settings.field_markers import Names as Names
from exciter.settings.field_markers import NonNegative as NonNegative
from exciter.settings.field_markers import Number as Number
from exciter.settings.field_markers import Numbers as Numbers
from exciter.settings.field_markers import OneWord as OneWord
from exciter.settings.field_markers import PerJointNumber as PerJointNumber
from exciter.settings.field_markers import Place as Place
from exciter.settings.field_markers import Positive as Positive
from exciter.settings.field_markers import Switch as Switch
from exciter.settings.field_markers import Text as Text
from exciter.settings.field_markers import Vector as Vector
from exciter.settings.field_markers import Whole as Whole
from exciter.settings.fill import Settings as Settings
from exciter.settings.fill import fill as fill
from exciter.settings.fill import keys_of as keys_of
from exciter.settings.fill import known_keys as known_keys
from exciter.settings.registry import OneOf as OneOf
from exciter.settings.registry import Registry as Registry
from exciter.settings.write import written as written
from exciter.settings.write import yaml_text as yaml_text
