"""Barycentric parameters: torques by Pinocchio, counts of the base parameters, and the printed example of the ASME."""

import json

import numpy as np
import pinocchio
import pytest
from numpy.testing import assert_allclose

import exciter as ex
from exciter.cli import main
from exciter.errors import ExciterError, ParameterError
from exciter.robot.pinocchio_model import to_pinocchio
from exciter_papers.swevers_asme import model as asme
from exciter_papers.swevers_asme import set_up

TREE = """
<robot name="tree"><link name="base"/>
{links}
<joint name="a" type="revolute"><parent link="base"/><child link="la"/><origin xyz="0 0 .3"/><axis xyz="0 1 0"/>{limit}</joint>
<joint name="b" type="revolute"><parent link="la"/><child link="lb"/><origin xyz=".2 .1 .3" rpy=".3 0 .2"/><axis xyz="1 0 0"/>{limit}</joint>
<joint name="c" type="{kind}"><parent link="la"/><child link="lc"/><origin xyz="-.2 .1 .4" rpy="0 .4 0"/><axis xyz="0 0 1"/>{limit}</joint>
<joint name="d" type="continuous"><parent link="lc"/><child link="ld"/><origin xyz="0 .3 .1"/><axis xyz="0 .6 .8"/>{limit}</joint>
</robot>"""  # noqa: E501
LINK = """<link name="{name}"><inertial><origin xyz="{x} .05 .1" rpy=".1 .2 .3"/><mass value="{m}"/>
<inertia ixx=".3" ixy=".01" ixz=".02" iyy=".4" iyz=".03" izz=".2"/></inertial></link>"""


@pytest.fixture
def tree(tmp_path):
    def write(kind="revolute"):
        links = "".join(LINK.format(name=f"l{name}", x=0.1 * k, m=1.0 + k) for k, name in enumerate("abcd"))
        limit = '<limit lower="-1" upper="1" velocity="1" effort="10"/>'
        path = tmp_path / f"{kind}.urdf"
        path.write_text(TREE.format(links=links, limit=limit, kind=kind))
        return path

    return write


def robots(tree):
    return [*(ex.load(name) for name in ("puma560", "kuka-ir361", "lwr4", "ur10e", "gautier-khalil")), ex.load(tree())]


def test_torques_are_pinocchios_and_as_many_parameters_as_base_parameters(tree):
    rng = np.random.default_rng(0)
    for robot in robots(tree):
        found = ex.base(robot)
        theta, arm = found.barycentric.values(found.model.nominal), to_pinocchio(robot)
        data = arm.createData()
        motion = ex.Motion.at(*rng.standard_normal((3, 40, robot.n)))
        wide = [  # Pinocchio has cosine and sine for a joint without ends
            np.concatenate([[np.cos(x), np.sin(x)] if arm.nqs[j + 1] == 2 else [x] for j, x in enumerate(q)])
            for q in motion.q
        ]
        tau = np.array([pinocchio.rnea(arm, data, *one) for one in zip(wide, motion.qd, motion.qdd, strict=True)])
        rows = found.barycentric.project(found.model.regressor(motion))
        assert_allclose(rows @ theta, tau, atol=1e-9 * np.abs(tau).max())
        assert len(found.barycentric) == len(found.verdicts.base)
        assert np.linalg.matrix_rank(rows.reshape(-1, len(theta))) == len(theta)


def test_joint_terms_stay_beside_them():
    """A rotor of the first joint turns with the first body, as in the base parameters."""
    found = ex.base("puma560", [ex.RotorInertia(), ex.Viscous(), ex.Coulomb()])
    rng = np.random.default_rng(1)
    chi = rng.standard_normal(len(found.model.standard))
    motion = ex.Motion.at(*rng.standard_normal((3, 30, 6)))
    tau = found.model.torque(motion, chi)
    rows = found.barycentric.project(found.model.regressor(motion))
    assert_allclose(rows @ found.barycentric.values(chi), tau, atol=1e-9 * np.abs(tau).max())
    assert "Ia1" in found.barycentric.combination(found.barycentric.names.index("kzz1"))
    assert "Fs6" in found.barycentric.names
    assert len(found.barycentric) == len(found.verdicts.base)


def test_the_example_of_the_asme():
    """Nine printed parameters and six of friction: the paper's formulas, evaluated by its own names; the others, which
    bodies symmetric to the Y–Z plane do not have, are zero. Its X, Y, Z are y, z, x here."""
    found = ex.base(set_up.robot(), [ex.Viscous(), ex.Coulomb()])
    theirs = asme.AUGMENTED_BODY_NAMES
    ours = {name: value for name, _, value in found.barycentric_rows()}
    printed = dict(zip(asme.BARYCENTRIC_NAMES, asme.barycentric(set_up.robot()), strict=True))
    assert len(printed) == 15
    assert {name for name, value in ours.items() if abs(value) > 1e-12} == set(theirs.values())
    for name, value in printed.items():
        assert ours[theirs[name]] == pytest.approx(value, rel=1e-12)
    assert found.barycentric.expressions[1] == "kd2 = 0.5 XX2 - 0.5 YY2 - 0.1152 M3"


def test_by_command(capsys):
    with pytest.raises(SystemExit) as left:
        main(["base", "gautier-khalil", "--barycentric"])
    assert left.value.code == 0
    out = capsys.readouterr().out
    assert "15 barycentric parameters" in out
    assert "0.5 XX3 - 0.5 YY3" in out
    with pytest.raises(SystemExit):
        main(["base", "gautier-khalil", "--barycentric", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert len(data["barycentric"]) == 15
    assert data["barycentric"][1].keys() == {"name", "unit", "is", "value"}
    assert data["barycentric"][0]["unit"] == "kg·m²"


def test_what_slides_and_parts_of_a_model_are_refused(tree, capsys):
    with pytest.raises(ParameterError, match="joint 'c' slides"):
        _ = ex.base(tree("prismatic")).barycentric
    with pytest.raises(ExciterError, match="leave out only"):
        _ = ex.base("puma560", only="gravity").barycentric
    with pytest.raises(SystemExit) as left:
        main(["base", str(tree("prismatic")), "--barycentric"])
    assert left.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
