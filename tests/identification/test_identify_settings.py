"""Settings of an identification: every class of every family is filled, written and described by one mechanism."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Annotated, Any, get_args, get_type_hints

import numpy as np
import pytest
import yaml

from exciter.errors import ExciterError
from exciter.experiment.quality.prepare_log import ROUTES
from exciter.experiment.signals.differentiation import FilteredDifferences
from exciter.experiment.signals.equation_rows import ParallelFilter
from exciter.experiment.signals.low_pass_filter import Butterworth, SecondOrder
from exciter.experiment.virtual.control import LAWS, GravityPD
from exciter.identification.equation_filter import EquationFilter, EvaluationFilter
from exciter.identification.estimators.estimator import Estimator, completed
from exciter.identification.estimators.least_squares import WeightedLeastSquares
from exciter.identification.estimators.maximum_likelihood import MaximumLikelihood
from exciter.identification.estimators.physical import AUTO, PhysicallyConsistent, Prior
from exciter.identification.estimators.registry import ESTIMATORS
from exciter.identification.estimators.robust import LOSSES, Bisquare, Huber, IterativelyReweighted
from exciter.identification.estimators.simulated_motion import InstrumentalVariables
from exciter.identification.formulations import FORMULATIONS, with_filter
from exciter.identification.formulations.dynamic import FilteredDynamic, InverseDynamic
from exciter.identification.formulations.energy import Energy, Power
from exciter.identification.identify_config import (
    ERROR_MODELS,
    IdentifyConfig,
    IdentifySettings,
    IndependentErrors,
)
from exciter.identification.physical.bounds import CentreBox, CentreSphere, MassBound
from exciter.identification.physical.prior_metric import METRICS, Entropic
from exciter.identification.physical.prior_values import PRIOR_VALUES, UniformRods
from exciter.parameters.terms import Coulomb, Dahl, Offset, Viscous
from exciter.robot import embedded_robots as embedded
from exciter.settings import OneOf, Settings, fill, keys_of, written, yaml_text
from exciter.settings.field_markers import (
    ByName,
    Flag,
    Kind,
    ListOfTexts,
    Number,
    Numbers,
    OneWord,
    PerJointNumber,
    Text,
    Whole,
)
from exciter.settings.fill import json_schema

ROBOT = embedded.robot("kuka-ir361")
FAMILIES = (ESTIMATORS, FORMULATIONS, ROUTES, LAWS, ERROR_MODELS, LOSSES, METRICS, PRIOR_VALUES)
CLASSES = [pytest.param(family, cls, id=f"{family.what} {cls.word}") for family in FAMILIES for cls in family]
BOUNDS = (MassBound("elbow", 2.0), CentreSphere("wrist", (0.0, 0.0, 0.05), 0.03), MassBound(None, 10.0, 20.0))


def settings_of(cls: type[Settings]) -> dict[str, Any]:
    """Annotations of what files can give."""
    hints = get_type_hints(cls, include_extras=True)
    return {one.name: hints[one.name] for one in fields(cls) if one.init and one.name not in cls.inner}  # type: ignore[arg-type]


def kinds(hint: Any) -> list[Kind]:
    found = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Kind)]
    return found or [kind for inner in get_args(hint) for kind in kinds(inner)]


def settings_class(hint: Any) -> type[Settings] | None:
    """Where it is no choice among several."""
    found = [one for one in (hint, *get_args(hint)) if isinstance(one, type) and issubclass(one, Settings)]
    return found[0] if found and not kinds(hint) else None


def another(name: str, hint: Any, default: Any) -> Any:
    """A value that is allowed, and not the default."""
    if (cls := settings_class(hint)) is not None:
        return changed(cls)
    (kind,) = kinds(hint)
    if isinstance(kind, OneOf):
        return next(changed(one) for one in kind.known if not isinstance(default, one))
    if isinstance(kind, PerJointNumber | Numbers):
        return 0.7
    if isinstance(kind, ByName):
        return {"MX2": 0.25}
    for of, value in (
        (Number, 0.37 if default != 0.37 else 0.38),
        (Whole, 5 if default != 5 else 6),
        (Flag, not default),
        (ListOfTexts, ("Fv1", "off")),
        (Text, "flange"),
    ):
        if isinstance(kind, of):
            return value
    if isinstance(kind, OneWord):
        return next(word for word in kind.words if word != default)
    assert name == "bounds", f"no other value is known for {name}"
    return BOUNDS


def changed(cls: type[Settings]) -> Settings:
    """Every setting otherwise than by default; those that depend on each other one by one."""
    made = cls()
    for name, hint in settings_of(cls).items():
        made = replace(made, **{name: another(name, hint, getattr(made, name))})  # type: ignore[type-var]
    return made


@pytest.mark.parametrize(("family", "cls"), CLASSES)
def test_what_is_written_of_a_class_is_read_as_the_same(family, cls):
    one = Annotated[Any, OneOf(family, tag=cls.tag)]
    every = cls() if cls is Energy else changed(cls)
    single = [replace(cls(), **{name: getattr(every, name)}) for name in settings_of(cls)]
    for settings in (cls(), every, *single, *([Energy(0.5, 0.25, False)] if cls is Energy else [])):
        data = written(settings)
        assert fill(one, data, "again") == settings
        assert fill(one, yaml.safe_load(yaml_text({"a": data}))["a"], "again") == settings
    assert all(getattr(every, name) != getattr(cls(), name) for name in settings_of(cls)) or cls is Energy


@pytest.mark.parametrize(("family", "cls"), CLASSES)
def test_every_setting_says_what_it_may_be(family, cls):
    """Whoever adds a field says what a file may give for it, or that no file gives it."""
    for name, hint in settings_of(cls).items():
        assert settings_class(hint) is not None or len(kinds(hint)) == 1, f"{cls.__name__}.{name}"
    assert cls.title
    assert set(json_schema(cls)["properties"]) >= set(keys_of(cls))


def test_the_section_is_described_and_every_setting_of_it_marked():
    for name, hint in settings_of(IdentifySettings).items():
        assert settings_class(hint) is not None or len(kinds(hint)) == 1, name
    schema = json_schema(IdentifySettings)
    assert set(schema["properties"]) == set(settings_of(IdentifySettings))
    assert {"enum": ["none", "decimate"]} in schema["properties"]["filter"]["anyOf"]


WHOLE = IdentifySettings(
    automatic=True,
    formulation=FilteredDynamic(a=20.0),
    estimator=PhysicallyConsistent(Prior(Entropic(), UniformRods(12.0), AUTO, offset=0.03), BOUNDS, 1e-3),
    route=FilteredDifferences(20.0, measured_velocity=True, bands=5.0),
    filter=EquationFilter(10.0, 3, 4),
    dead_zone={"joint_1": 0.1, "joint_2": 0.1, "joint_3": 0.2},
    evaluation=EvaluationFilter(12.0),
    noise=(1.0, 2.0, 3.0),
    uncertainty=IndependentErrors(),
    folds=7,
    control=GravityPD(25.0, rate=500.0, stiffness=(1.0, 2.0, 3.0)),
    payload="flange",
    friction="choose",
    gains={"M3": (0.74, 0.0), "ZZR1": (1.2, 0.1)},
    current_map="cubic",
    accept_problems=True,
)


@pytest.mark.parametrize("name", [None, *settings_of(IdentifySettings)])
def test_settings_ask_for_the_same_again(name):
    some = WHOLE if name is None else replace(IdentifySettings(), **{name: getattr(WHOLE, name)})
    assert fill(IdentifySettings, written(some), "again", robot=ROBOT) == some
    config = IdentifyConfig(settings=some)
    again = IdentifyConfig.of(yaml.safe_load(yaml_text(config.to_dict())), "again")
    assert again.settings == some
    assert again.terms == config.terms_or_usual
    assert name is None or list(written(some)) == [name]


def test_gains_of_a_known_payload_are_asked_for_by_a_word():
    asked = fill(IdentifySettings, {"gains": "identify"}, "here")
    assert IdentifyConfig(settings=asked).known_parameters == ()
    assert written(asked) == {"gains": "identify"}
    assert IdentifyConfig().known_parameters is None


def test_a_result_of_an_earlier_version_asks_for_the_same():
    """As result.json had it when settings were kept as words."""
    settings = {
        "gravity": [0.1, 0.0, -9.8],
        "terms": ["viscous", {"coulomb": {"shape": {"dahl": {"delta": 0.001}}, "joints": ["joint_1"]}}, "offset"],
        "identify": {
            "uncertainty": "correlated",
            "automatic": False,
            "filter": {"cutoff": 7.25, "order": 4},
            "route": {"method": "differences", "cutoff": 12.5, "bands": 20.0, "measured_velocity": True},
            "estimator": {"consistent": {"values": "rods", "weight": 3.1622776601683795, "offset": 0.1}},
            "friction": "as-given",
            "gains": None,
            "dead_zone": {"joint_1": 0.0, "joint_2": 0.01, "joint_3": 0.0},
        },
    }
    config = IdentifyConfig.of(settings, "result.json")
    assert config.terms == (Viscous(), Coulomb(Dahl(0.001), ("joint_1",)), Offset())
    assert config.settings.filter == EquationFilter(7.25)
    assert config.route == FilteredDifferences(12.5, measured_velocity=True, bands=20.0)
    assert config.estimator(ROBOT) == PhysicallyConsistent(Prior(values=UniformRods(), weight=10**0.5, offset=0.1))
    assert not config.automatic
    assert config.known_parameters is None
    assert config.dead_zone(()) == {"joint_1": 0.0, "joint_2": 0.01, "joint_3": 0.0}


@pytest.mark.parametrize("word", ["none", "None"])
def test_no_filter_is_another_thing_than_one_left_open(word):
    found = fill(IdentifySettings, {"filter": word}, "here")
    assert found.filter == EquationFilter(None)
    assert found.filter.parallel is None
    assert written(found) == {"filter": "none"}
    assert fill(IdentifySettings, written(found), "again") == found
    assert IdentifySettings().filter is None


@pytest.mark.parametrize("word", ["consistent", "prior"])
def test_a_weight_that_is_not_given_one_to_be_chosen_and_a_number_are_three_things(word):
    def weight(given: dict[str, Any]) -> Any:
        estimator = fill(Annotated[Estimator, OneOf(ESTIMATORS)], {word: given}, "here")
        assert written(estimator) == ({word: given} if given else word)
        return estimator.prior.weight if isinstance(estimator, PhysicallyConsistent) else estimator.weight  # type: ignore[attr-defined]

    assert [weight({}), weight({"weight": "auto"}), weight({"weight": 0.0})] == [None, AUTO, 0.0]


def test_an_estimator_is_told_what_it_left_open():
    sigma = (1.0, 2.0)
    assert completed(WeightedLeastSquares(), noise=sigma, loop=None).noise == sigma
    assert completed(WeightedLeastSquares(3.0), noise=sigma).noise == 3.0
    assert completed(PhysicallyConsistent(margin=0.1), noise=sigma) == PhysicallyConsistent(
        Prior(noise=sigma), margin=0.1
    )
    assert completed(MaximumLikelihood(0.1), noise=sigma, torque_noise=sigma) == MaximumLikelihood(0.1, sigma)
    assert completed(InstrumentalVariables(), route=FilteredDifferences(5.0)).route == FilteredDifferences(5.0)
    assert completed(Huber(), noise=sigma) == Huber()


def test_noise_of_torques_reaches_the_estimator_joint_by_joint():
    noise = {"joint_3": 3.0, "joint_1": 1.0, "joint_2": 2.0}
    for given in (noise, [1.0, 2.0, 3.0]):
        config = IdentifyConfig.of({"identify": {"noise": given, "estimator": "sequential"}}, "here")
        config.refuse_early(ROBOT, planned=False)
        assert config.estimator(ROBOT).noise == (1.0, 2.0, 3.0)  # type: ignore[attr-defined]


def test_the_filter_of_both_sides_goes_where_none_was_given():
    both = ParallelFilter(Butterworth(7.0))
    assert with_filter(InverseDynamic(), both, 100.0) == InverseDynamic(both)
    assert with_filter(InverseDynamic(), None, 100.0) == InverseDynamic()
    assert with_filter(FilteredDynamic(), both, 100.0) == FilteredDynamic(both)
    assert with_filter(Power(even=False), None, 100.0) == Power(ParallelFilter(Butterworth(10.0)), even=False)
    assert with_filter(Energy(), both, 100.0) == Energy()
    assert with_filter(FilteredDynamic(ParallelFilter(factor=3)), both, 100.0) == FilteredDynamic(
        ParallelFilter(factor=3)
    )
    own = with_filter(FilteredDynamic(a=20.0), both, 100.0)
    assert own.parallel_filter == ParallelFilter(SecondOrder.of(20.0))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "formulation", [InverseDynamic(ParallelFilter()), InverseDynamic(dead_zone=0.1), Power(ParallelFilter(factor=2))]
)
def test_nothing_is_asked_for_that_would_not_be_written(formulation):
    """result.json would ask for something else again."""
    with pytest.raises(ExciterError, match="give them as filter and dead_zone"):
        IdentifySettings(formulation=formulation)
    for fine in (Power(), FilteredDynamic(), FilteredDynamic(a=3.0), InverseDynamic(), Energy()):
        assert fill(IdentifySettings, written(IdentifySettings(formulation=fine)), "again").formulation == fine


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"noise": [1, 2]}, "here: identify: noise has 2 numbers; the robot has 3 joints"),
        ({"dead_zone": {"knee": 1}}, "here: identify: dead_zone: unknown joint 'knee'"),
        ({"estimator": {"ml": {"position_noise": [1]}}}, "estimator: ml: position_noise has 1 numbers"),
        ({"control": {"stiffness": {"joint_1": 1}}}, "control: stiffness says nothing of joint 'joint_2'"),
        ({"payload": "moon"}, "moon"),
    ],
)
def test_what_the_robot_does_not_have_is_refused_before_logs_are_read(section, said):
    config = IdentifyConfig.of({"identify": section}, "here")
    with pytest.raises(ExciterError) as error:
        config.refuse_early(ROBOT, planned=False)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"filter": "low"}, "here: identify: filter is 'low'; give none, decimate, or {cutoff: …} [Hz]"),
        ({"filter": {"order": 3}}, "here: identify: filter has no cutoff; give a number > 0 [Hz], or none"),
        (
            {"filter": {"cutoff": 3, "order": 99}},
            "here: identify: filter: Butterworth(cutoff=3.0, order=99): the order",
        ),
        ({"evaluation": 10}, "here: identify: evaluation is 10; give a mapping with some of the keys cutoff, order"),
        ({"evaluation": {}}, "here: identify: evaluation has no cutoff; give a number > 0 [Hz]"),
        ({"route": {"method": "spline", "cutoff": 3}}, "route: unknown key 'cutoff'; valid names: knots_per_second"),
        ({"route": {"method": "fourier", "harmonics": 1.5}}, "harmonics is 1.5; give how many, or a list of those"),
        ({"route": {"method": "fourier", "harmonics": [1, 10**9]}}, "harmonics is 1000000000; give how many"),
        ({"gains": 3}, "here: identify: gains is 3; write identify, or parameters that are known: {M7: 0.74}"),
        ({"gains": {"M7": "heavy"}}, "here: identify: gains: M7 is 'heavy'; give a number"),
        ({"gains": {"M7": [1, 2, 3]}}, "here: identify: gains: M7 is [1, 2, 3]; give a number"),
        ({"uncertainty": "small"}, "uncertainty is 'small'; allowed are correlated, hac, independent"),
        ({"friction": "some"}, "here: identify: friction is 'some'; allowed are choose, as-given"),
        ({"folds": 1}, "here: identify: folds is 1; give a whole number ≥ 2, at most 1000"),
        ({"formulation": "base-wrench", "evaluation": {"cutoff": 5}}, "evaluation is of joint torques; base-wrench"),
        ({"estimator": {"tls": {"errors": 3}}}, "estimator: tls: errors is 3; give a mapping (parameter: value)"),
        ({"estimator": {"static": {"runs": []}}}, "estimator: static: runs is []; give a list of runs"),
        ({"estimator": {"consistent": {"bounds": [{"joint": "a"}]}}}, "bounds 1: it has neither a mass nor a centre"),
        (
            {"estimator": {"consistent": {"bounds": [{"mass": 3}, {"joint": "a", "centre": {"near": [0, 0, 0]}}]}}},
            "bounds 2: centre has near; give {lower: …, upper: …}, or {near: …, radius: …} [m]",
        ),
        ({"estimator": {"consistent": {"bounds": [{"mass": [1, 2, 3]}]}}}, "mass is [1, 2, 3]; give a mass [kg], or"),
    ],
)
def test_a_section_that_cannot_be_used_is_told_in_one_line(section, said):
    with pytest.raises(ExciterError) as error:
        IdentifyConfig.of({"identify": section}, "here")
    assert said in str(error.value)


def test_an_entry_may_bound_a_mass_and_a_centre():
    entry = {"joint": "a", "mass": 40, "centre": {"lower": [0, 0, None], "upper": [1, 1, 1]}}
    found = fill(PhysicallyConsistent, {"bounds": [entry]}, "here").bounds
    assert found == (MassBound("a", 39.6, 40.4), CentreBox("a", (0.0, 0.0, -np.inf), (1.0, 1.0, 1.0)))


def test_the_short_spelling_of_the_bisquare():
    for given in ({"c": 3}, {"loss": {"bisquare": {"c": 3}}}):
        found = fill(IterativelyReweighted, given, "here")
        assert found == IterativelyReweighted(Bisquare(3.0))
        assert written(found) == {"irls": {"c": 3.0}}


def test_a_word_of_the_command_line_keeps_the_settings_of_the_file():
    config = IdentifyConfig.of({"identify": {"estimator": {"huber": {"k": 2.0}}, "formulation": "energy"}}, "here")
    assert config.overridden(estimator="huber", formulation=None).settings == config.settings
    assert config.overridden(estimator="wls").settings.estimator == WeightedLeastSquares()
    with pytest.raises(ExciterError, match="--estimator is 'magic'; allowed are ols, wls"):
        config.overridden(estimator="magic")
