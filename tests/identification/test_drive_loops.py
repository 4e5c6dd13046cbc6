"""Closed loops of drives at their edges: friction that holds, commands that are held, gains that are not stable."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import exciter as ex
from exciter.errors import ExciterError
from exciter.identification.actuators.actuator_fit import cut, gains_of, whole
from exciter.identification.actuators.actuator_settings import PositionControl, SimulatorSettings
from exciter.identification.actuators.drive_numbers import drive_numbers
from exciter.identification.actuators.drive_simulator import drive_simulator, integrator_remark
from exciter.identification.actuators.shooting_fit import ShootingProblem
from support.driven_pendulum import ARMATURE, DAMPING, DOUBLE, FRICTION, RATE, noisy, settings


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("drives") / "double.xml"
    path.write_text(DOUBLE)
    return ex.load(path)


@pytest.mark.parametrize("integrator", ["implicitfast", "euler"])
@pytest.mark.parametrize("softness", [None, 0.1])
def test_slopes_are_as_exact_where_friction_holds(robot, integrator, softness):
    """Joints that stick for a third of the time, Kd that weighs as much as the rotor at this step: friction sees
    another acceleration than the step has (within 0.1 %; it was up to 10 %)."""
    kinds = ("armature", "damping", "friction", "kp", "kd", "mass")
    asked = settings(unknown=kinds, control=PositionControl(kp={"a": 60.0, "b": 25.0}, kd={"a": 5.0, "b": 2.0}))
    numbers = drive_numbers(robot, asked, gains_of(robot, asked))
    numbers = numbers.started({**numbers.start, "friction": np.array([3.0, 1.0])})
    simulator = drive_simulator(robot, SimulatorSettings(integrator=integrator, step=0.002), 1.0 / RATE)
    posed = ShootingProblem(simulator, numbers, cut(whole(noisy(1, seconds=2.0), 0), 2.0), None)
    x, states = posed.numbers.coordinates, posed.begin()
    by_theta, _ = posed.slopes(x, states, posed.simulate(x, states, softness), softness)
    for k, unknown in enumerate(posed.numbers.unknowns):
        step = np.zeros(len(x))
        step[k] = 1e-6
        central = (posed.simulate(x + step, states, softness)[0] - posed.simulate(x - step, states, softness)[0]) / 2e-6
        off = by_theta[0][:, :, k] - central
        assert np.linalg.norm(off) < 1e-3 * np.linalg.norm(central), unknown.name


@pytest.mark.parametrize("integrator", ["implicitfast", "euler"])
def test_drives_that_hold_their_commands(robot, integrator):
    """Rotors, friction and the delay, that of the loop's next whole step, within 4 σ where the law says so; on
    lines the delay has half a sample more, which a note says."""
    law = {"kp": {"a": 60.0, "b": 25.0}, "kd": {"a": 1.5, "b": 0.6}}
    log, more = noisy(1, held=True), {"unknown": ["armature", "damping", "friction", "delay"]}
    if integrator == "euler":  # the log's own loop is not
        more["simulator"] = {"integrator": "euler", "step": 0.0005}
    held, lines = (ex.actuators(robot, log, control={**law, **one}, **more) for one in ({"held": True}, {}))
    delays = [fit.parameters["delay"]["value"] for fit in (held, lines)]
    assert delays[1] - delays[0] == pytest.approx(0.5 / RATE - 0.5 * held.fit.simulator.step, abs=2e-4)
    assert held.fitted[0].total < lines.fitted[0].total
    subjects = [[one.subject for one in fit.fit.notes] for fit in (held, lines)]
    assert "delay" in subjects[1]
    assert "delay" not in subjects[0]
    if integrator == "euler":
        return
    assert delays[0] == pytest.approx(0.005, abs=4 * held.parameters["delay"]["std"])
    for word, true in (("armature", ARMATURE), ("damping", DAMPING), ("friction", FRICTION)):
        for joint, value in zip("ab", true, strict=True):
            found = held.parameters[f"{word} {joint}"]
            assert found["value"] == pytest.approx(value, abs=4 * found["std"], rel=0)


@pytest.mark.parametrize("kp", [1e5, 1e6])
def test_gains_of_another_unit_are_one_line(robot, kp, tmp_path, monkeypatch, capfd):
    """A loop that is not stable at this step ends in no table: it was one of σ of 1e-70, beside warnings of NumPy and
    MuJoCo and a file of MuJoCo's where one works."""
    monkeypatch.chdir(tmp_path)
    asked = {"control": {"kp": kp, "kd": 0}, "known": {"armature": 0.006}}
    with pytest.raises(ExciterError, match="not stable") as error, np.errstate(over="raise", invalid="raise"):
        ex.actuators(robot, noisy(1, seconds=2.0), {"actuators": asked})
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []
    assert "WARNING" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("held", [False, True])
def test_friction_is_scaled_as_in_the_file(tmp_path, held):
    """Joints whose zero is another posture than the file's (``ref``): MuJoCo scales friction by the inertia in the
    file's, which roll-outs have, too (1e-9; they were off by 1e-6), with a joint that follows and without."""
    text = DOUBLE.replace('name="a"', 'name="a" ref="-25"').replace('name="b"', 'name="b" ref="50"')
    if held:
        body = '<body pos="0.2 0 0"><joint name="c" axis="0 1 0"/><inertial pos="0 0 0.1" mass="0.3" '
        body += 'diaginertia="0.001 0.001 0.001"/></body></body></body></worldbody>'
        text = text.replace("</body></body></worldbody>", body)
        text = text.replace("</mujoco>", '<equality><joint joint1="c" joint2="b" polycoef="0 1"/></equality></mujoco>')
    path = tmp_path / "double.xml"
    path.write_text(text)
    robot, log = ex.load(path), noisy(1, seconds=2.0)
    numbers = drive_numbers(robot, asked := settings(), gains_of(robot, asked)).start
    simulator, stretch = drive_simulator(robot, SimulatorSettings(), 1.0 / RATE), whole(log, 0)
    found = simulator.roll(
        simulator.with_numbers(numbers), numbers, np.concatenate([stretch.q[0], [0.0, 0.0]])[None], [stretch]
    )[0]

    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.iterations, model.opt.tolerance = 100, 1e-12
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    for j in range(2):
        model.dof_armature[j], model.dof_damping[j] = numbers["armature"][j], numbers["damping"][j]
        model.dof_frictionloss[j] = numbers["friction"][j]
        model.actuator_gainprm[j, 0], model.actuator_biasprm[j, :3] = numbers["kp"][j], np.zeros(3)
        model.actuator_biasprm[j, 1:3] = -numbers["kp"][j], -numbers["kd"][j]
    data, apart = mujoco.MjData(model), round(1.0 / RATE / model.opt.timestep)
    mujoco.mj_setConst(model, data)
    mujoco.mj_resetData(model, data)
    data.qpos[:2], data.qvel[:], there = stretch.q[0], 0.0, list[np.ndarray]()
    if held:
        data.qpos[2] = data.qpos[1] + model.qpos0[2] - model.qpos0[1]
    for tick in range(apart * len(log.time)):
        if tick % apart == 0:
            there.append(data.qpos[:2].copy())
        data.ctrl[:] = [np.interp(tick * model.opt.timestep, log.time, log.command[:, j]) for j in range(2)]
        mujoco.mj_step(model, data)
    assert np.abs(found - np.array(there)).max() < 1e-9


@pytest.mark.parametrize("stated", ["RK4", "implicit", "implicitfast", "Euler"])
def test_an_integrator_that_is_not_simulated_is_told(tmp_path, stated):
    path = tmp_path / "double.xml"
    path.write_text(DOUBLE.replace('"implicitfast"', f'"{stated}"'))
    robot = ex.load(path)
    told = list(integrator_remark(robot, drive_simulator(robot, SimulatorSettings(), 1.0 / RATE)))
    assert [stated in one.text for one in told] == ([True] if stated in ("RK4", "implicit") else [])
    path.write_text(path.read_text().replace("<worldbody>", '<option><flag eulerdamp="disable"/></option><worldbody>'))
    without = list(integrator_remark(robot := ex.load(path), drive_simulator(robot, SimulatorSettings(), 1.0 / RATE)))
    assert any("Euler without eulerdamp" in one.text for one in without) == (stated == "Euler")
    other = drive_simulator(robot, SimulatorSettings(integrator="implicitfast"), 1.0 / RATE)
    assert bool(list(integrator_remark(robot, other))) == (stated != "implicitfast")
