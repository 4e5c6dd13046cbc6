"""Generated code, compiled and run: the torques and the regressor of the model it was made from."""

import ctypes
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pinocchio
import pytest
from numpy.testing import assert_allclose

from exciter.dynamics.model import DynamicModel
from exciter.errors import ExciterError, ParameterError
from exciter.export.generated_code import c_code, c_string, identifier, plain_text, python_module
from exciter.export.write import CCode, PythonModule
from exciter.parameters.terms import (
    AsymmetricCoulomb,
    Coulomb,
    CoupledSqrtViscous,
    DriveCoupling,
    GasSpring,
    GravitySpring,
    LoadFriction,
    Offset,
    Ripple,
    RotorInertia,
    Spring,
    SqrtViscous,
    Stribeck,
    Tanh,
    UserTerm,
    Viscous,
)
from exciter.robot import Motion, load
from exciter.robot.pinocchio_model import to_pinocchio
from support.compiled_code import C99, Compiled, compiled, imported, needs_gcc, needs_gpp
from support.export_cases import as_found
from support.paths import ROBOTS
from support.robots import CASES, states

USUAL = (RotorInertia(), Viscous(), Coulomb(), Offset())


def with_terms(name, *terms):
    return DynamicModel(CASES[name]() if name in CASES else load(ROBOTS / f"{name}.urdf"), terms)


def relieved(name):
    """Load friction with links that are not the description's, and springs of one and of two parameters."""
    gas = GasSpring("joint_3", base_arm=0.5, link_arm=0.1, offset=0.2, volume=1e-3, area=1e-3)
    spring = Spring("joint_2", base_arm=0.4, link_arm=0.15, offset=-0.3, free_length=0.2)
    links = np.random.default_rng(2).standard_normal((CASES[name]().n, 10))
    return LoadFriction(Tanh(0.1), links=links, springs=((gas, -30.0), (spring, (200.0, -5.0))))


MODELS = {
    "gautier-khalil": lambda: with_terms("gautier-khalil"),
    "kuka-ir361": lambda: with_terms(
        "kuka-ir361",
        *USUAL,
        Spring("joint_2", base_arm=0.4, link_arm=0.15, offset=-0.3, free_length=0.2),
        GasSpring("joint_3", base_arm=0.5, link_arm=0.1, offset=0.2, volume=1e-3, area=1e-3),
    ),
    "kuka-ir361-asme": lambda: with_terms("kuka-ir361-asme", GravitySpring("joint_2", offset=0.1), SqrtViscous()),
    "relieved gears": lambda: with_terms("kuka-ir361", *USUAL, Ripple(("joint_3", "joint_1")), relieved("kuka-ir361")),
    "puma560": lambda: with_terms("puma560", *USUAL, Stribeck(Tanh(0.05), velocity=0.3)),
    "tx40": lambda: with_terms(
        "tx40",
        *USUAL,
        DriveCoupling("joint_5", "joint_6", ratio=-0.7),
        CoupledSqrtViscous("joint_5", "joint_6", ratio=-0.7, width=0.2),
    ),
    "ur10e": lambda: with_terms("ur10e", RotorInertia(), Viscous(), AsymmetricCoulomb(), Stribeck(velocity=0.2)),
    "lwr4": lambda: with_terms("lwr4", *USUAL),
    "panda": lambda: with_terms("panda", RotorInertia(), Viscous(), Coulomb(Tanh(0.1)), Offset()),
    "two-arms": lambda: with_terms(
        "two-arms", Coulomb(Tanh({"waist": 0.1, "left_wrist": 0.3}), joints=("waist", "left_wrist"))
    ),
    "gantry": lambda: with_terms("gantry", *USUAL, LoadFriction()),
    "gripper_arm": lambda: with_terms("gripper_arm", RotorInertia(), Viscous(), Offset()),
    "random-tree": lambda: with_terms(
        "random-tree", RotorInertia(), SqrtViscous(width=0.2), AsymmetricCoulomb(Tanh(0.3))
    ),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A model, base values that no robot need have, motions with joints at rest, and what must come out."""

    model: DynamicModel
    values: np.ndarray
    motion: Motion

    @cached_property
    def chi(self):
        chi = np.zeros(len(self.model.standard))
        chi[self.model.base.independent] = self.values
        return chi

    @cached_property
    def expected(self):
        model, motion = self.model, self.motion
        still = Motion.at(motion.q)
        rows = model.base.project(model.regressor(motion))
        return rows, model.torque(motion, self.chi), model.torque(still, self.chi), self.inertia_matrices()

    def inertia_matrices(self):
        """Those of the bodies, and rotors by their names."""
        named = dict(zip(self.model.standard, self.chi, strict=True))
        matrices = self.model.dynamics.inertia_matrix(self.motion.q, self.chi[: self.model.inertial_size]).copy()
        for j in range(self.model.n):
            matrices[:, j, j] += named.get(f"Ia{j + 1}", 0.0)
        for term in self.model.terms:
            if isinstance(term, DriveCoupling):
                first, second = self.model.robot.index(term.first), self.model.robot.index(term.second)
                coupled = named[f"Iam{second + 1}"] * term.ratio
                matrices[:, first, second] += coupled
                matrices[:, second, first] += coupled
        return matrices

    def check(self, torque, gravity, regressor, inertia_matrix):
        """Functions of many instants; errors relative to the largest term of each instant's sums."""
        state = self.motion.q, self.motion.qd, self.motion.qdd
        rows, tau, still, matrices = self.expected
        size = np.abs(rows * self.values).max(axis=(1, 2))[:, None]
        assert (np.abs(torque(*state) - tau) <= 1e-12 * size).all()
        assert (np.abs(gravity(state[0]) - still) <= 1e-12 * size).all()
        for found, wanted in ((regressor(*state), rows), (inertia_matrix(state[0]), matrices)):
            assert found.shape == wanted.shape
            assert (np.abs(found - wanted) <= 1e-12 * np.abs(wanted).max(axis=(1, 2), keepdims=True)).all()


@pytest.fixture(params=list(MODELS), scope="module")
def case(request):
    model = MODELS[request.param]()
    rng = np.random.default_rng(5)
    motion = states(model.robot, 20)
    qd = motion.qd.copy()
    qd[:6] *= rng.choice([0.0, 1e-10, 1e-2], qd[:6].shape)  # at rest, below what counts as motion, slow
    return Case(model, rng.standard_normal(len(model.base)), Motion.at(motion.q, qd, motion.qdd))


# -- all of the model's functions --------------------------------------------------------------------------------------


@needs_gcc
def test_c_predicts_the_same(case, tmp_path):
    written = CCode().write(as_found(case.model, case.values), tmp_path / "robot.c")
    assert {path.name for path in written} == {"robot.c", "robot.h"}
    code = Compiled(compiled(tmp_path / "robot.c", *C99), case.model)
    case.check(code.torque, code.gravity, code.regressor, code.inertia_matrix)
    p = len(case.model.base)
    assert list((ctypes.c_double * p).in_dll(code.library, f"{code.prefix}_parameters")) == case.values.tolist()
    assert code.texts("parameter_names", p) == case.model.base.names
    assert code.texts("joint_names", case.model.n) == case.model.robot.joint_names


def test_python_predicts_the_same(case):
    text = python_module(case.model, case.values, std=np.abs(case.values))
    module = imported(text)
    case.check(module.torque, module.gravity, module.regressor, module.inertia_matrix)
    assert module.PARAMETERS.tolist() == case.values.tolist()
    assert tuple(module.PARAMETER_NAMES) == case.model.base.names
    assert tuple(module.JOINTS) == case.model.robot.joint_names
    state = case.motion.q[3], case.motion.qd[3], case.motion.qdd[3]  # one instant instead of many
    rows, tau, still, matrices = (wanted[3] for wanted in case.expected)
    assert_allclose(module.torque(*state), tau, atol=1e-10 * np.abs(rows).max())
    assert_allclose(module.gravity(state[0]), still, atol=1e-10 * np.abs(rows).max())
    assert module.regressor(*state).shape == rows.shape
    assert module.inertia_matrix(state[0]).shape == matrices.shape


# -- the text ----------------------------------------------------------------------------------------------------------


def test_the_module_needs_numpy_alone(tmp_path):
    """Run where exciter cannot be imported."""
    model = with_terms("kuka-ir361", *USUAL)
    values = model.base.base_values(model.nominal)
    (path,) = PythonModule().write(as_found(model, values), tmp_path / "kuka.py")
    script = (
        "import sys, numpy as np; sys.modules['exciter'] = None; import kuka; "
        "print(*kuka.torque([0.1, 0.2, 0.3], [1.0, -1.0, 0.0], [0.5, 0.5, 0.5]).tolist())"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    tau = model.torque(Motion.at([0.1, 0.2, 0.3], [1.0, -1.0, 0.0], [0.5, 0.5, 0.5]))[0]
    assert_allclose([float(word) for word in done.stdout.split()], tau, rtol=1e-11)
    assert "exciter" not in path.read_text().replace("Written by exciter", "")


@needs_gcc
def test_nominal_bodies_need_what_pinocchio_says(tmp_path):
    """The description's base parameters alone, against another library and its full set."""
    model = DynamicModel(load(ROBOTS / "two_arms.urdf"))
    CCode().write(as_found(model, model.base.base_values(model.nominal)), tmp_path / "arms.c")
    code, motion = Compiled(compiled(tmp_path / "arms.c", *C99), model), states(model.robot, 5)
    oracle = to_pinocchio(model.robot)
    data = oracle.createData()
    tau = [pinocchio.rnea(oracle, data, *state) for state in zip(motion.q, motion.qd, motion.qdd, strict=True)]
    assert_allclose(code.torque(motion.q, motion.qd, motion.qdd), tau, rtol=1e-9, atol=1e-9)


@needs_gpp
def test_any_name_and_cpp(tmp_path):
    """Names that would end a comment or a string, and the source as C++."""
    robot = CASES["kuka-ir361"]()
    names = ('a "quoted" */ joint', "??/ \\ end\\", "Gelenk für $n {n}")
    joints = [replace(joint, name=name) for joint, name in zip(robot.joints, names, strict=True)]
    robot = replace(
        robot, name='7 "axes" */ für alle', joints=tuple(joints), capsules=(), collision_pairs=(), shapes=()
    )
    model = DynamicModel(robot, (Viscous(),))
    values = model.base.base_values(model.nominal)
    CCode().write(as_found(model, values), tmp_path / "any.c")
    code = Compiled(compiled(tmp_path / "any.c", "g++", "-x", "c++", "-std=c++11"), model)
    assert code.prefix == "robot_7_axes_f_r_alle"
    assert code.texts("joint_names", 3) == names
    module = imported(python_module(model, values))
    assert tuple(module.JOINTS) == names
    motion = states(robot, 3)
    state = motion.q, motion.qd, motion.qdd
    assert_allclose(code.torque(*state), module.torque(*state), rtol=1e-12, atol=1e-12)


def test_the_text_is_the_same_every_time_and_says_what_stands_in_it():
    model = with_terms("kuka-ir361", *USUAL)
    values = model.base.base_values(model.nominal)
    one, two = (c_code(model, values, std=0.1 * np.abs(values), header="a.h") for _ in range(2))
    assert one == two
    assert one.source.isascii()
    assert one.header.isascii()
    assert '#include "a.h"' in one.source
    for name, expression in zip(model.base.names, model.base.expressions, strict=True):
        assert f'"{name}"' in one.source
        assert f": {expression} [" in one.source
    for text in (
        "0: joint_1, position [rad], torque [N*m]",
        "KUKA_IR361_JOINTS 3",
        "kuka_ir361_torque(const double q[]",
    ):
        assert text in one.header
    assert "malloc" not in one.source
    assert max(len(line) for line in one.header.splitlines()) <= 120
    sliding = c_code(with_terms("gantry"), np.zeros(len(with_terms("gantry").base))).header
    assert "position [m], torque [N]" in sliding


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Panda", "panda"),
        ("KUKA IR361-asme", "kuka_ir361_asme"),
        ("7dof", "robot_7dof"),
        ("__", "robot"),
        ("ü", "robot"),
    ],
)
def test_names_become_identifiers(name, wanted):
    assert identifier(name) == wanted
    assert identifier(name).isidentifier()


def test_strings_and_comments():
    assert c_string('a"b\\c??') == '"a\\"b\\\\c\\?\\?"'
    assert c_string("é") == '"\\303\\251"'
    assert plain_text("a */ b\n/* c \\ é") == "a * / b / * c / _"


# -- what cannot be exported -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [c_code, python_module])
def test_terms_that_are_refused(write):
    class Soft(Tanh):
        """A shape of one's own."""

    cubic = UserTerm("Kc2", "joint_2", lambda q, qd, qdd: q**3)
    for term, words in (
        (Coulomb(Soft(1e-3)), r"friction shape Soft of joint_1.*your own.*export yaml"),
        (DriveCoupling("joint_1", "joint_2", shape=Soft(1e-3)), r"friction shape Soft of joint_2"),
        (cubic, r"UserTerm.*of your own.*export yaml"),
        ((LoadFriction(joints=("joint_1",)), replace(relieved("kuka-ir361"), joints=("joint_2",))), "one set of links"),
    ):
        model = with_terms("kuka-ir361", *(term if isinstance(term, tuple) else (term,)))
        with pytest.raises(ParameterError, match=words):
            write(model, np.zeros(len(model.base)))


def test_values_that_are_refused(tmp_path):
    model = with_terms("gautier-khalil")
    good = np.ones(len(model.base))
    with pytest.raises(ParameterError, match="shape"):
        c_code(model, good[1:])
    with pytest.raises(ParameterError, match="NaN or infinity"):
        c_code(model, np.where(np.arange(good.size) == 2, np.nan, good))
    for form, name in ((CCode(), "robot.h"), (PythonModule(), "robot.c")):
        with pytest.raises(ExciterError, match="must end in"):
            form.write(as_found(model, good), tmp_path / name)
    with pytest.raises(ExciterError, match="include"):
        CCode().write(as_found(model, good), tmp_path / 'a"b.c')
    with pytest.raises(ExciterError, match="cannot write"):
        PythonModule().write(as_found(model, good), tmp_path / "missing" / "robot.py")
    assert not list(tmp_path.iterdir())
