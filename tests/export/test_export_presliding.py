"""Generated code of friction that remembers: the torques of whole motions, instant by instant, and what is left of them
without a state."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError
from exciter.export.generated_code import c_code, python_module
from exciter.export.mjcf import mjcf_text
from exciter.export.sdf import sdf_text
from exciter.export.urdf import identified_urdf
from exciter.export.write import CCode, PythonModule, Urdf, export_notes, write_model
from exciter.parameters.terms import (
    AsymmetricCoulomb,
    Coulomb,
    Dahl,
    DriveCoupling,
    GasSpring,
    LoadFriction,
    Offset,
    RotorInertia,
    Stribeck,
    Tanh,
    Viscous,
)
from exciter.robot import Motion
from support.compiled_code import C99, Compiled, compiled, imported, needs_gcc, needs_gpp
from support.export_cases import as_found, identified
from support.robots import CASES, smooth_motion

USUAL = (RotorInertia(), Viscous(), Offset())
SOME = ("joint_1", "joint_3")
GAS = GasSpring("joint_3", base_arm=0.5, link_arm=0.1, offset=0.2, volume=1e-3, area=1e-3)
#: all terms with memory, with one δ and with one for each joint, beside others without
MODELS = {
    "coulomb": ("puma560", Coulomb(Dahl(2e-3, start=0.4))),
    "some joints": (
        "kuka-ir361",
        Coulomb(Dahl({"joint_1": 1e-5, "joint_3": 0.05}), SOME),
        Coulomb(joints=("joint_2",)),
    ),
    "asymmetric": ("gautier-khalil", AsymmetricCoulomb(Dahl([1e-3, 1e-2, 0.1], start=[-0.5, 0.0, 1.0]))),
    "stribeck": ("ur10e", Coulomb(Dahl(5e-3)), Stribeck(Dahl(5e-3), velocity=0.3)),
    "load": ("kuka-ir361", Coulomb(Dahl(1e-3)), LoadFriction(Dahl(1e-2), springs=((GAS, 900.0),))),
    "sliding joints": ("gantry", Coulomb(Dahl(1e-3)), LoadFriction(Dahl(1e-3))),
    "coupled motor": ("tx40", DriveCoupling("joint_5", "joint_6", ratio=-0.7, shape=Dahl(3e-3, start=-0.2)), Coulomb()),
    "tree": ("random-tree", Coulomb(Dahl(1e-2)), Stribeck(Tanh(0.1), velocity=0.2)),
}


def paused(robot):
    """A motion with reversals, small and large steps, and a rest in the middle of a stroke."""
    time = np.concatenate([np.linspace(0.0, 1.5, 300), 1.5 + np.cumsum(np.geomspace(1e-6, 0.3, 60))])
    moved = smooth_motion(robot, time)
    rest = np.sort(np.r_[np.arange(len(time)), np.full(20, 150)])
    stands = np.r_[False, np.diff(rest) == 0][:, None]
    qd, qdd = (np.where(stands, 0.0, x[rest]) for x in (moved.qd, moved.qdd))
    return Motion(np.arange(len(rest)) * 1e-3, moved.q[rest], qd, qdd)


@dataclass(frozen=True, eq=False)
class Case:
    """A model with base values that no robot need have, and what must come out along a motion."""

    model: DynamicModel
    values: np.ndarray
    motion: Motion

    @cached_property
    def rows(self):
        return self.model.base.project(self.model.regressor(self.motion))

    @property
    def state(self):
        return self.motion.q, self.motion.qd, self.motion.qdd

    @property
    def size(self):
        """(N, 1) the largest term of each instant's sums, to which 1e-12 is relative."""
        return np.abs(self.rows * self.values).max(axis=(1, 2))[:, None]

    def torque(self, model=None):
        chi = np.zeros(len(self.model.standard))
        chi[self.model.base.independent] = self.values
        return (model or self.model).torque(self.motion, chi)

    def check(self, code):
        """torque and regressor along the motion, and in two pieces; gravity and inertia matrix have no friction."""
        tau = self.torque()
        assert (np.abs(code.torque(*self.state) - tau) <= 1e-12 * self.size).all()
        rows = code.regressor(*self.state)
        assert (np.abs(rows - self.rows) <= 1e-12 * np.abs(self.rows).max(axis=(1, 2), keepdims=True)).all()
        first, then = ([x[part] for x in self.state] for part in (slice(0, 123), slice(123, None)))
        state = code.state(first[0][0])
        pieces = [code.torque(*first, state=state), code.torque(*then, state=state)]
        assert (np.abs(np.concatenate(pieces) - tau) <= 1e-12 * self.size).all()
        again = [code.torque(*(x[-1:] for x in then), state=state) for _ in range(3)]
        assert_array_equal(again[1:], again[:2])
        assert (np.abs(again[0] - tau[-1]) <= 1e-12 * self.size[-1]).all()
        plain = DynamicModel(self.model.robot, without_friction(self.model.terms))
        named = dict(zip(self.model.base.names, self.values, strict=True))
        loose = np.array([named[name] for name in plain.base.names])
        smooth = imported(python_module(plain, loose))
        for function in ("gravity", "inertia_matrix"):
            found, wanted = (getattr(one, function)(self.motion.q) for one in (code, smooth))
            assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * self.size.max())


def without_friction(terms):
    """Motors that turn with two joints keep their rotors."""
    return [
        replace(term, shape=Tanh(1.0)) if isinstance(term, DriveCoupling) else term
        for term in terms
        if not isinstance(getattr(term, "shape", None), Dahl) or isinstance(term, DriveCoupling)
    ]


@pytest.fixture(params=list(MODELS), scope="module")
def case(request):
    name, *terms = MODELS[request.param]
    model = DynamicModel(CASES[name](), (*USUAL, *terms))
    return Case(model, np.random.default_rng(5).standard_normal(len(model.base)), paused(model.robot))


def in_c(model, values, folder, compiler=C99, **options):
    CCode(**options).write(as_found(model, values), folder / "robot.c")
    return Compiled(compiled(folder / "robot.c", *compiler), model)


def in_python(model, values, **options):
    module = imported(python_module(model, values, **options))
    module.state = getattr(module, "State", None)
    return module


# -- with a state ------------------------------------------------------------------------------------------------------


@needs_gcc
def test_c_remembers_the_same(case, tmp_path):
    case.check(in_c(case.model, case.values, tmp_path))


@needs_gpp
def test_cpp_remembers_the_same(case, tmp_path):
    case.check(in_c(case.model, case.values, tmp_path, ("g++", "-x", "c++", "-std=c++11")))


def test_python_remembers_the_same(case):
    module = in_python(case.model, case.values)
    case.check(module)
    state = module.State(case.motion.q[0])
    one_by_one = [module.torque(*now, state) for now in zip(*case.state, strict=True)]
    assert (np.abs(one_by_one - case.torque()) <= 1e-12 * case.size).all()
    for function in (module.torque, module.regressor):
        with pytest.raises(ValueError, match="state=State"):
            function(*(x[0] for x in case.state))


@needs_gcc
def test_friction_turns_round_as_dahl_says(tmp_path):
    """The closed form, in steps of any size: from full friction one way, z = 1 - 2 e^(-x/delta) after x the other."""
    robot = CASES["one-joint"]()
    model = DynamicModel(replace(robot, gravity=np.zeros(3)), (Coulomb(Dahl(1e-2, start=-1.0)),))
    values = np.where([name.startswith("Fs") for name in model.base.names], 3.0, 0.0)
    for code in (in_c(model, values, tmp_path), in_python(model, values)):
        way = np.r_[0.0, np.geomspace(1e-9, 1.0, 50)][:, None]
        tau = code.torque(0.3 + way, np.zeros_like(way), np.zeros_like(way))
        assert_allclose(tau, 3.0 * (1.0 - 2.0 * np.exp(-way / 1e-2)), atol=1e-12)
        assert code.gravity(way[:1]) == 0.0


def test_terms_that_slide_alike_share_a_contact():
    model = DynamicModel(CASES["kuka-ir361"](), (Coulomb(Dahl(1e-3)), Stribeck(Dahl(1e-3), velocity=0.2)))
    text = c_code(model, np.ones(len(model.base))).header
    assert "KUKA_IR361_CONTACTS 3" in text
    other = DynamicModel(CASES["kuka-ir361"](), (Coulomb(Dahl(1e-3)), Stribeck(Dahl(2e-3), velocity=0.2)))
    assert "KUKA_IR361_CONTACTS 6" in c_code(other, np.ones(len(other.base))).header


def test_the_text_shows_how_a_state_is_used():
    model = DynamicModel(CASES["panda"](), (Coulomb(Dahl(1e-3)),))
    values = np.ones(len(model.base))
    code, module = c_code(model, values), python_module(model, values)
    for line in ("panda_state state;", "panda_state_init(&state, q);", "panda_torque(&state, q, qd, qdd, tau);"):
        assert f" {line}\n" in code.header
    for line in ("state = State(q)", "tau = torque(q, qd, qdd, state)"):
        assert line in module
    for text in (*code, module):
        assert text.isascii()
    assert max(len(line) for line in code.header.splitlines()) <= 120
    assert "malloc" not in code.source


# -- without -----------------------------------------------------------------------------------------------------------


def slid(model):
    """The same model with tanh at a hundredth of the velocity limits, 1 without one, for pre-sliding."""
    robot, names = model.robot, model.robot.joint_names
    speed = {name: 0.01 * min(joint.limits.velocity, 1e9) for name, joint in zip(names, robot.joints, strict=True)}
    speed = {name: one if one < 1e6 else 0.01 for name, one in speed.items()}
    terms = []
    for term in model.terms:
        if isinstance(term, DriveCoupling):
            term = replace(term, shape=Tanh(abs(term.ratio) * speed[term.first] + speed[term.second]))
        elif isinstance(getattr(term, "shape", None), Dahl):
            term = replace(term, shape=Tanh(speed))
        terms.append(term)
    return DynamicModel(robot, terms)


@needs_gcc
def test_stateless_code_is_the_direction_of_motion(case, tmp_path):
    wanted, still = case.torque(slid(case.model)), np.zeros_like(case.motion.q)
    for code in (
        in_c(case.model, case.values, tmp_path, stateless=True),
        in_python(case.model, case.values, stateless=True),
    ):
        assert not getattr(code, "contacts", 0)
        assert (np.abs(code.torque(*case.state) - wanted) <= 1e-12 * case.size).all()
        assert_array_equal(code.torque(case.motion.q, still, still), code.gravity(case.motion.q))  # nothing holds


def test_it_tends_to_that_once_it_slides():
    """After ten times the travel at a good part of the fastest speed both agree."""
    model = DynamicModel(CASES["panda"](), (Coulomb(Dahl(1e-3)),))
    values = np.ones(len(model.base))
    travel = np.linspace(0.0, 1e-2, 30)[:, None] * np.array([1, -1, 1, -1, 1, -1, 1])
    speed = np.tile(0.1 * model.robot.limit("velocity") * np.sign(travel[-1]), (30, 1))
    state = travel, speed, np.zeros_like(speed)
    kept, lost = (in_python(model, values, stateless=stateless).torque(*state) for stateless in (False, True))
    assert_allclose(np.abs(kept[-1] - lost[-1]), np.exp(-10.0), rtol=1e-3)
    assert_allclose(np.abs(kept[0] - lost[0]), 1.0, rtol=1e-3)


def test_files_and_notes_say_what_is_lost(tmp_path):
    model = DynamicModel(CASES["kuka-ir361"](), (Coulomb(Dahl(1e-3), SOME), Viscous()))
    found = as_found(model, np.ones(len(model.base)))
    written = [
        *CCode(stateless=True).write(found, tmp_path / "a.c"),
        *PythonModule(True).write(found, tmp_path / "a.py"),
    ]
    for path in written:
        text = " ".join(path.read_text().replace("\n *", " ").split())
        if path.suffix != ".c":
            assert "joint_1 0.001, joint_3 0.001" in text
            assert "left out on request" in text
            assert "Lost are the friction that holds a joint at rest" in text
        assert "state_init" not in text
    kept, lost = (str(*export_notes(found, "c", stateless=stateless)) for stateless in (False, True))
    for text, words in ((kept, "take a state"), (lost, "left out")):
        assert "joint_1, joint_3" in text
        assert words in text
    assert not export_notes(found, "yaml")
    plain = as_found(DynamicModel(model.robot, (Coulomb(),)), found.values)
    assert not export_notes(plain, "c", stateless=True)
    assert c_code(plain.model, found.values[: len(plain.model.base)], stateless=True) == c_code(
        plain.model, found.values[: len(plain.model.base)]
    )


def test_only_code_has_a_state(tmp_path):
    model = DynamicModel(CASES["kuka-ir361"](), (Coulomb(Dahl(1e-3)),))
    with pytest.raises(ExciterError, match=r"stateless was asked of urdf.*c and python"):
        write_model(as_found(model, np.ones(len(model.base))), tmp_path / "a.urdf", Urdf.word, stateless=True)
    assert not list(tmp_path.iterdir())


def test_descriptions_say_that_friction_pre_slides():
    """Where Fs has a place and the travel has none."""
    model, chi = identified(CASES["tx40"](), (RotorInertia(), Viscous(), Coulomb(Dahl(2e-3), SOME)))
    for text in (identified_urdf(model, chi), mjcf_text(model, chi), sdf_text(model, chi)):
        assert "short travel [rad or m], which has no place here: joint_1 0.002, joint_3 0.002." in text
    plain, chi = identified(CASES["tx40"](), (Viscous(), Coulomb()))
    assert "short travel" not in identified_urdf(plain, chi)
