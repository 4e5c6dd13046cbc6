"""What a certificate does not speak of: which joints a gap in the description concerns, and what is said beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from exciter.dynamics.model import DynamicModel
from exciter.excitation.certificate.adaptive import certify
from exciter.excitation.certificate.certificate import Certificate, LimitVerdict
from exciter.excitation.constraints.collision import Block, CapsuleDistance, Round, Wall
from exciter.excitation.constraints.constraint import AnyOf, Constraint
from exciter.excitation.constraints.ground import mounting_plane
from exciter.excitation.constraints.mesh import MeshDistance
from exciter.excitation.constraints.not_checked import unchecked
from exciter.excitation.constraints.torque_limits_and_bounds import TorqueLimits, torque_gaps
from exciter.excitation.constraints.workspace import HalfSpace
from exciter.notes import texts
from exciter.parameters.terms import Coulomb, RotorInertia, Viscous, declared_terms
from exciter.robot import Robot, load
from exciter.robot.geometry import Capsule, Shape
from exciter.robot.robot import Frame
from exciter.robot.spatial import transform_inertia
from support.robots import random_robot, states, with_default_accelerations

FRICTION = {"viscous": np.array([1.0, 2.0, 0.5]), "coulomb": np.array([3.0, 1.5, 4.0]), "rotor_inertia": [1.0, 0, 1.0]}


def described(**changes: object) -> Robot:
    """Three joints of which all is known: nothing is missing until it is taken away."""
    robot = replace(random_robot(4, 3, prismatic=0.0), friction=FRICTION).with_limits(torque=[50.0, 60.0, 70.0])
    return replace(robot, **changes)  # type: ignore[arg-type]


def bare(robot: Robot, *which: int) -> Robot:
    """Without the masses of these joints' bodies."""
    joints = [replace(j, inertia=np.zeros(10)) if k in which else j for k, j in enumerate(robot.joints)]
    return replace(robot, joints=tuple(joints))


def heavy(robot: Robot, which: int, mass: float) -> Robot:
    """With another mass [kg] of one body of unchanged shape; a negative one leaves the moments as they are."""
    inertias = np.array(robot.inertias)
    inertias[which] *= np.where(np.arange(10) > 0, abs(mass), mass) / inertias[which, 0]
    return robot.with_inertias(inertias)


def point_mass(robot: Robot, which: int, mass: float) -> Robot:
    inertias = np.array(robot.inertias)
    inertias[which] = [mass, *np.zeros(9)]
    return robot.with_inertias(inertias)


def weightless(robot: Robot, which: int) -> Robot:
    """One body has moments and no mass."""
    inertias = np.array(robot.inertias)
    inertias[which, 0] = 0.0
    return robot.with_inertias(inertias)


def flat(robot: Robot, which: int, excess: float = 0.5) -> Robot:
    """One body whose largest moment exceeds the sum of the others by a part of it; its centre is far from the joint."""
    own = np.array([2.0, 0, 0, 0, 1e-3, 0, 1e-3, 0, 0, 2e-3 * (1.0 + excess)])
    inertias = np.array(robot.inertias)
    inertias[which] = transform_inertia(own, np.eye(3), [0.5, 0.2, 0.1])
    return robot.with_inertias(inertias)


def gaps(robot: Robot, terms: Sequence[object] | None = None) -> dict[str, tuple[int, ...]]:
    model = DynamicModel(robot, declared_terms(robot) if terms is None else tuple(terms))  # type: ignore[arg-type]
    return dict(torque_gaps(model))


# -- torque -----------------------------------------------------------------------------------------------------------


def test_a_description_that_gives_all_has_no_gap() -> None:
    """Viscous and Coulomb friction of every joint; a joint without a rotor is one."""
    assert gaps(described()) == {}
    assert not any(row.assumed for row in TorqueLimits.of(described()).rows)
    assert TorqueLimits.of(described()).unchecked == ()


@pytest.mark.parametrize(
    ("robot", "terms", "word", "joints"),
    [
        (described(nominal=True), None, "plausible", (0, 1, 2)),
        (described(lacking=("a spring is left out",)), None, "a spring is left out", (0, 1, 2)),
        (bare(described(), 0, 1, 2), None, "no link has a mass", (0, 1, 2)),
        (bare(described(), 2), None, "no mass for the bodies of j3", (0, 1, 2)),
        (bare(described(), 1), None, "no mass for the bodies of j2", (0, 1)),
        (bare(described(), 0), None, "no mass for the bodies of j1", (0,)),
        (described(friction={}), None, "declares no friction", (0, 1, 2)),
        (described(friction={"viscous": [1, 0, 1], "coulomb": [1, 0, 1]}), None, "declares no friction", (1,)),
        (described(friction={"viscous": [1, 2, 0], "coulomb": [1, 1, 0]}), None, "declares no friction", (2,)),
        (described(friction={"viscous": [1, 2, 3]}), None, "damping and no Coulomb friction", (0, 1, 2)),
        (described(friction={"viscous": [1, 2, 3], "coulomb": [1, 0, 1]}), None, "damping and no Coulomb", (1,)),
        (described(friction={"coulomb": [1, 2, 3]}), None, "Coulomb friction and no damping", (0, 1, 2)),
        (
            described(friction={"viscous": [1, 2, 0], "coulomb": [1, 2, 1]}),
            None,
            "Coulomb friction and no damping",
            (2,),
        ),
        (described(friction={**FRICTION, "viscous": [1, -2, 1]}), None, "negative friction", (1,)),
        (described(friction={**FRICTION, "coulomb": [-1, 2, 1]}), None, "negative friction", (0,)),
        (described(friction={**FRICTION, "rotor_inertia": [1, 1, -1]}), None, "negative friction", (2,)),
        (
            described(friction={"viscous": [1e-3, 1, 1e-3], "coulomb": [1e-2, 1e-2, 1]}).with_limits(velocity=3.0),
            None,
            "placeholder: at 1 rad/s or m/s it is below 0.1 % of the limit",
            (0,),
        ),
        (described(), (RotorInertia(), Coulomb()), "leaves out the viscous term", (0, 1, 2)),
        (described(), (RotorInertia(), Viscous()), "leaves out the coulomb term", (0, 1, 2)),
        (described(), (Viscous(), Coulomb()), "leaves out the rotor inertia term", (0, 2)),
        (heavy(described(), 2, 1e-6), None, "no mass for the bodies of j3 (1e-06 kg)", (0, 1, 2)),
        (heavy(described(), 1, 1e-6), None, "no mass for the bodies of j2 (1e-06 kg)", (0, 1)),
        (point_mass(described(), 1, 1e-6), None, "no mass for the bodies of j2 (1e-06 kg)", (0, 1)),
        (weightless(described(), 1), None, "no mass for the bodies of j2", (0, 1)),
        (described(friction={"viscous": [1e-9] * 3}), None, "damping and no Coulomb friction", (0, 1, 2)),
        (described(friction={"coulomb": [1e-9] * 3}), None, "Coulomb friction and no damping", (0, 1, 2)),
        (
            heavy(described(), 1, -0.5),
            None,
            "no body can have the inertia that the description gives those of j2",
            (0, 1),
        ),
        (flat(described(), 2), None, "no body can have the inertia that the description gives those of j3", (0, 1, 2)),
    ],
)
def test_torque_is_not_proved_where_something_is_missing(
    robot: Robot, terms: Sequence[object] | None, word: str, joints: tuple[int, ...]
) -> None:
    found = gaps(robot, terms)
    assert [(word in why, concerned) for why, concerned in found.items()] == [(True, joints)]
    limits = TorqueLimits(DynamicModel(robot, declared_terms(robot) if terms is None else tuple(terms)))  # type: ignore[arg-type]
    assert [row.assumed for row in limits.rows] == [j in joints for j in range(3)] * 2
    [told] = limits.unchecked
    where = "" if len(joints) == 3 else f" of {', '.join(f'j{j + 1}' for j in joints)}"
    assert told.startswith(f"torque{where}: ")
    taken_at_its_word = TorqueLimits(limits.model, limits.chi)
    assert not any(row.assumed for row in taken_at_its_word.rows)


def vertical(**changes: object) -> Robot:
    """The first axis along gravity, its body known by the moment of inertia about the axis alone (PUMA 560)."""
    robot = described(gravity=np.array([0.0, 0.0, -9.81]))
    first = {"rotation": np.eye(3), "axis": np.array([0.0, 0, 1]), "inertia": np.array([*np.zeros(9), 0.35])}
    return replace(robot, joints=(replace(robot.joints[0], **(first | changes)), *robot.joints[1:]))  # type: ignore[arg-type]


def test_a_first_body_is_known_by_the_only_moment_that_matters() -> None:
    """With another axis, on a slide, or next to nothing, it is not; nor is a later one."""
    assert gaps(vertical()) == {}
    assert gaps(vertical(inertia=np.array([5.0, *np.zeros(8), 0.35]))) == {}
    tilted = gaps(vertical().with_gravity([0.0, 1e-3, -9.81]))
    small = gaps(vertical(inertia=np.array([*np.zeros(9), 1e-6])))
    placeholder = gaps(vertical(inertia=np.array([1e-6, *np.zeros(8), 1e-3])))
    slide = gaps(vertical(kind="prismatic"))
    for found in (tilted, small, placeholder, slide):
        assert [("no mass for the bodies of j1" in why, joints) for why, joints in found.items()] == [(True, (0,))]
    robot = vertical(inertia=described().inertias[0])  # a second vertical axis: the first one carries that body around
    second = replace(
        robot.joints[1], rotation=np.eye(3), axis=vertical().joints[0].axis, inertia=vertical().inertias[0]
    )
    carried = replace(robot, joints=(robot.joints[0], second, robot.joints[2]))
    assert list(gaps(carried).values()) == [(0, 1)]


def test_friction_is_compared_with_limits_that_are_there() -> None:
    slight = described(friction={"viscous": np.full(3, 1e-4), "coulomb": np.full(3, 1e-4)}).with_limits(velocity=1.0)
    assert list(gaps(slight).values()) == [(0, 1, 2)]
    assert list(gaps(slight.with_limits(torque={"j2": np.inf})).values()) == [(0, 2)]


@pytest.mark.parametrize("velocity", [1e-3, 1.0, 900.0, 1e9, np.inf])
def test_friction_that_is_none_is_found_whatever_stands_for_the_velocity_limit(velocity: float) -> None:
    """MJCF never has one: friction times a missing or made-up speed is as large as anybody likes."""
    slight = described(friction={"viscous": np.full(3, 1e-4), "coulomb": np.full(3, 1e-4)})
    [(why, joints)] = gaps(slight.with_limits(velocity=velocity)).items()
    assert "is a placeholder" in why
    assert joints == (0, 1, 2)
    viscous = described(friction={"viscous": np.full(3, 0.2), "coulomb": np.full(3, 1e-4)})
    assert bool(gaps(viscous.with_limits(velocity=velocity))) == (velocity < 0.1)  # which drags when it moves at all


def test_digits_that_were_rounded_make_no_inertia_unreal() -> None:
    for excess, said in ((0.0, 0), (1e-4, 0), (1e-2, 1), (0.5, 1)):
        assert len(gaps(flat(described(), 1, excess))) == said, excess


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_torque_limit_that_is_none_proves_nothing(kind: str) -> None:
    """Also where the parameters are one's own; a machine of tonnes really has such drives."""
    robot, unit = described(), "N·m" if kind == "revolute" else "N"
    robot = replace(robot, joints=tuple(replace(joint, kind=kind) for joint in robot.joints))  # type: ignore[arg-type]
    far = robot.with_limits(torque=[50.0, 1e6, 70.0])
    own = TorqueLimits(DynamicModel(far, declared_terms(far)), TorqueLimits.of(far).chi)
    for limits in (TorqueLimits.of(far), TorqueLimits.of(far, margin=0.5), own):
        assert [row.assumed for row in limits.rows] == [False, True, False] * 2
        [told] = limits.unchecked
        assert told.startswith(f"torque of j2: the limit of 1e+06 {unit} is a placeholder")
    geared = {**FRICTION, "coulomb": np.full(3, 2e3)}
    assert TorqueLimits.of(replace(robot.with_limits(torque=9e4), friction=geared)).unchecked == ()
    assert TorqueLimits.of(replace(robot.with_limits(torque=1e5), friction=geared)).unchecked != ()
    giant = replace(far, friction=geared).with_inertias(3e3 * far.inertias / far.inertias[:, :1])
    assert TorqueLimits.of(giant).unchecked == ()


def test_a_gap_concerns_joints_with_a_limit() -> None:
    """Rows and sentences are those of limited joints, in their order: upper ones, then lower ones."""
    robot = described().with_limits(torque=[50.0, np.inf, 70.0])
    model = DynamicModel(robot, declared_terms(robot))
    limits = TorqueLimits(model, gaps=(("one", (1,)), ("two", (1, 2)), ("all", (0, 1, 2))))
    assert [(row.where, row.limit, row.scale, row.upper, row.assumed) for row in limits.rows] == [
        ("j1", 50.0, 50.0, True, True), ("j3", 70.0, 70.0, True, True),
        ("j1", -50.0, 50.0, False, True), ("j3", -70.0, 70.0, False, True),
    ]  # fmt: skip
    assert limits.unchecked == ("torque of j3: two", "torque: all")
    one = TorqueLimits(model, gaps=(("two", (1, 2)),))
    assert [row.assumed for row in one.rows] == [False, True] * 2


def test_a_margin_is_kept_free_of_every_limit() -> None:
    robot = described()
    motion = states(robot, 5)
    for margin in (0.0, 0.25):
        limits = TorqueLimits.of(robot, margin=margin)
        free = (1.0 - margin) * np.array([50.0, 60.0, 70.0])
        tau = limits.model.torque(motion, limits.chi).T
        expected = np.concatenate([1.0 - tau / free[:, None], 1.0 + tau / free[:, None]])
        np.testing.assert_allclose(limits.values(motion), expected, rtol=1e-12)
        np.testing.assert_allclose(limits.linearised(motion).values, expected, rtol=1e-9, atol=1e-12)
        assert [row.unit for row in limits.rows] == ["N·m"] * 6
    sliding = random_robot(4, 2, prismatic=1.0).with_limits(torque=9.0)
    assert {row.unit for row in TorqueLimits.of(sliding).rows} == {"N"}


# -- everything else --------------------------------------------------------------------------------------------------


def told(robot: Robot, constraints: Sequence[Constraint], certificate: Certificate | None = None) -> list[str]:
    known = certify_still(robot) if certificate is None else certificate
    return [sentence.partition(":")[0] for sentence in texts(unchecked(robot, constraints, known))]


def certify_still(robot: Robot) -> Certificate:
    from exciter.excitation.trajectories.curve import Curve
    from exciter.excitation.trajectories.polynomial_piece import PolynomialPiece

    return certify(robot, Curve((PolynomialPiece([0.0, 1.0], np.zeros((robot.n, 1, 2))),)))


def shaped() -> Robot:
    """Base and links with a capsule each, every pair of them to be kept apart."""
    capsules = tuple(Capsule(f"c{j + 1}", j, np.zeros(3), np.array([0.1, 0.0, 0.0]), 0.05) for j in range(-1, 3))
    return described(capsules=capsules, collision_pairs=tuple(combinations(("c0", "c1", "c2", "c3"), 2)))


def test_nothing_is_said_where_all_is_covered() -> None:
    robot = shaped()
    mounted, people = "what the robot is mounted on", "people and whatever stands around"
    floor = Wall("floor", np.array([0.0, 0.0, 1.0]), -0.06)
    ball = Round.sphere("ball", np.array([9.0, 0, 0]), 0.1)
    torque, apart = TorqueLimits.of(robot), CapsuleDistance(robot)
    around = CapsuleDistance(robot, (), obstacles=(floor, ball))
    assert told(robot, [torque, apart, around]) == []
    assert told(robot, [AnyOf((torque, AnyOf((apart, around))))]) == []  # also within alternatives
    assert told(robot, [torque, apart]) == [mounted, people]
    assert told(robot, [torque, CapsuleDistance(robot, obstacles=(ball,))]) == [mounted]
    assert told(robot, [torque, CapsuleDistance(robot, obstacles=(floor,))]) == [people]
    border = HalfSpace(robot, "j3", np.array([0.0, 0.0, 1.0]), -2.0)  # of a frame: other bodies may go anywhere
    assert told(robot, [torque, apart, border]) == [mounted, people]
    ground = mounting_plane(robot, -0.06)
    assert ground is not None
    assert told(robot, [torque, apart, ground]) == [people]
    assert told(robot, [torque, ground]) == ["self-collision", people]  # a ground is no pair of bodies
    assert told(robot, [apart, around]) == ["torque"]
    assert told(robot, []) == ["torque", "self-collision", mounted, people]
    assert "no pair of bodies" in " ".join(
        texts(unchecked(replace(robot, collision_pairs=()), [], certify_still(robot)))
    )


@pytest.mark.parametrize(
    ("normal", "offset", "against", "takes_its_place"),
    [
        ((0, 0, 1), -2.9, None, True),
        ((0, 0.1, 1), 0.0, None, True),
        ((0, 0, 1), -3.1, None, False),  # too far away to carry anything
        ((0.8, 0, 0.6), 0.0, None, False),
        ((0, 0, -1), 2.0, None, False),
        ((0, 0, 1), 0.0, ("c3",), False),  # for one body only
    ],
)
def test_only_a_level_half_space_takes_the_place_of_the_ground(
    normal: tuple[float, ...], offset: float, against: tuple[str, ...] | None, takes_its_place: bool
) -> None:
    robot = shaped()
    wall = CapsuleDistance(robot, obstacles=(Wall("wall", np.array(normal), offset, against),))
    expected = "people and whatever stands around" if takes_its_place else "what the robot is mounted on"
    found = told(robot, [TorqueLimits.of(robot), wall])
    assert [sentence for sentence in found if not sentence.startswith("what carries")] == [expected]


def test_what_carries_a_robot_above_its_ground_is_named() -> None:
    """From the ground to where the capsules of the base end, or to its origin; unless the user knows what is there."""
    robot = shaped()  # its base ends 5 cm below the origin

    def carried(robot: Robot, height: float, *others: Round) -> list[str]:
        ground = mounting_plane(robot, height)
        assert ground is not None
        parts = [ground, *([CapsuleDistance(robot, (), obstacles=others)] if others else [])]
        return [s for s in texts(unchecked(robot, parts, certify_still(robot))) if s.startswith("what carries")]

    [sentence] = carried(robot, -0.7)
    assert sentence.startswith("what carries the robot between z = -0.7 and -0.05 m of the base")
    assert carried(robot, -0.09) == []
    assert len(carried(robot, -0.11)) == 1
    assert carried(robot, -0.7, Round.sphere("pedestal", np.array([0.0, 0.0, -0.4]), 0.1)) == []
    beside = Round("rail", np.array([1.0, -9.0, -0.375]), np.array([1.0, 9.0, -0.375]), 0.75)
    assert carried(robot, -0.7, beside) == []  # 0.25 m from the axis, at half the height
    assert len(carried(robot, -0.7, replace(beside, radius=0.65))) == 1  # 0.35 m: something else
    for far in (-3.5, -1000.0):  # however far the ground is, something carries the robot
        assert len(carried(robot, far)) == 1
        assert len(carried(robot, far, Round.sphere("table", np.array([8.0, 8.0, -1.0]), 0.5))) == 1
    assert carried(robot, -1000.0, Round.sphere("head", np.array([0.0, 0.0, -1.0]), 0.1)) == []
    level = CapsuleDistance(robot, (), obstacles=(Wall("floor", np.array([0.0, 0.0, 1.0]), -2.9),))
    assert [s for s in texts(unchecked(robot, [level], certify_still(robot))) if "-2.9 and -0.05 m" in s]
    box = Block("pedestal", np.array([0.0, 0.0, -1.5]), np.array([0.2, 0.2, 2.8]))
    column = CapsuleDistance(robot, (), obstacles=(*level.obstacles, box))
    assert not [s for s in texts(unchecked(robot, [column], certify_still(robot))) if s.startswith("what carries")]
    bare = replace(robot, capsules=robot.capsules[1:], collision_pairs=())
    assert "-0.7 and 0 m" in carried(bare, -0.7)[0]
    assert "-0.7 and -0.3 m" in carried(replace(bare, base_bottom=-0.3), -0.7)[0]
    assert carried(replace(bare, base_bottom=-0.7), -0.7) == []
    post = Capsule("post", -1, np.array([0.0, 9.0, -0.1]), np.array([0.0, -9.0, -0.4]), 0.05)
    upside_down = replace(post, start=post.end, end=post.start)
    for foot in (post, upside_down):
        for capsules in ((foot, robot.capsules[0]), (robot.capsules[0], foot)):
            stands = replace(robot, capsules=(*capsules, *robot.capsules[1:]))
            assert "-0.7 and -0.45 m" in carried(stands, -0.7)[0]
    two = [mounting_plane(robot, height) for height in (-0.7, -0.3)]
    told_of_two = [
        s for s in texts(unchecked(robot, [t for t in two if t], certify_still(robot))) if s.startswith("what carr")
    ]
    assert "between z = -0.3 and" in told_of_two[0]
    near = [t for t in (mounting_plane(robot, -0.7), mounting_plane(robot, -0.06)) if t]
    assert not [s for s in texts(unchecked(robot, near, certify_still(robot))) if s.startswith("what carries")]


def test_what_constraints_say_themselves_is_passed_on_once() -> None:
    robot = replace(shaped(), nominal=True)
    torque = TorqueLimits.of(robot)
    [sentence] = torque.unchecked
    for constraints in ([torque], [AnyOf((torque, CapsuleDistance(robot)))], [torque, torque]):
        assert texts(unchecked(robot, constraints, certify_still(robot))).count(sentence) == 1


def test_bodies_that_have_no_capsule_are_told_where_capsules_are_asked() -> None:
    """By pairs or by obstacles; a ground speaks for itself, and takes their frames."""
    robot = shaped()
    robot = replace(robot, capsules=tuple(c for c in robot.capsules if c.name != "c2"))
    wall = Wall("wall", np.array([0.0, 0.0, 1.0]), -9.0)
    robot = replace(robot, collision_pairs=(("c0", "c1"), ("c0", "c3"), ("c1", "c3")))
    sentence = "collisions of the bodies of j2: no capsule stands for them"
    assert CapsuleDistance(robot).unchecked == (sentence,)
    baseless = replace(robot, capsules=robot.capsules[1:], collision_pairs=(("c1", "c3"),))
    assert CapsuleDistance(baseless).unchecked == (
        "collisions of the bodies of j2 and the base: no capsule stands for them",
    )
    assert CapsuleDistance(baseless, (), obstacles=(wall,)).unchecked == (sentence,)  # the base does not move into it
    floor = mounting_plane(robot, -9.0)
    assert floor is not None
    both = CapsuleDistance(robot, (), obstacles=(*floor.obstacles, wall), points=floor.points)
    assert sentence in both.unchecked  # one obstacle that does not speak for itself is enough
    links = replace(robot, unshaped=("flange",), frames=(Frame("flange", 1, np.eye(3), np.zeros(3)),))
    alone = mounting_plane(links, -9.0)
    assert alone is not None
    assert [text for text in alone.unchecked if "flange" in text] == []  # told with the whole body, which has no shape
    assert CapsuleDistance(robot, (), obstacles=(wall,)).unchecked == (sentence,)
    ground = mounting_plane(robot, -9.0)
    assert ground is not None
    assert sentence not in ground.unchecked
    assert CapsuleDistance(shaped(), obstacles=(wall,)).unchecked == ()


def test_pairs_of_bodies_that_nothing_keeps_apart_are_named() -> None:
    """Neighbours, which touch at their joint, and pairs that a description or a configuration leaves out; by capsules
    and by shapes alike."""
    robot = shaped()
    neighbours = "self-collision of neighbours, c0 – c1, c1 – c2, c2 – c3"
    far = [("c0", "c2"), ("c0", "c3"), ("c1", "c3")]
    assert told(robot, [CapsuleDistance(robot, far)])[1:-2] == [neighbours]
    assert told(robot, [CapsuleDistance(robot, far[1:])])[1:-2] == [neighbours, "self-collision of c0 – c2"]
    some = [CapsuleDistance(robot, [*far, ("c2", "c1")])]
    assert told(robot, some)[1:-2] == ["self-collision of neighbours, c0 – c1, c2 – c3"]
    box = Shape("box", 0, (0.1, 0.1, 0.1), np.eye(3), np.zeros(3))
    solid = replace(robot, shapes=tuple(replace(box, joint=j) for j in (0, 1, 2)), capsules=robot.capsules[:1])
    assert told(solid, [MeshDistance(solid, [("j1", "j3")])])[1:-2] == [
        "self-collision of neighbours, c0 – j1, j1 – j2, j2 – j3",
        "self-collision of c0 – j2, c0 – j3",
        "collisions of the base",
    ]
    looks = replace(solid, shapes=(*solid.shapes[:1], replace(solid.shapes[1], role="visual"), solid.shapes[2]))
    assert told(looks, [MeshDistance(looks, [("j1", "j3")])])[1:-2] == [
        "self-collision of neighbours, c0 – j1",
        "self-collision of c0 – j3",
        "collisions of the bodies of j2 and the base",
    ]
    twice = replace(robot, capsules=(*robot.capsules, replace(robot.capsules[-1], name="c3'")))  # on the same body
    pairs = [pair for pair in combinations([c.name for c in twice.capsules], 2) if pair != ("c3", "c3'")]
    assert told(twice, [CapsuleDistance(twice, pairs)])[1:-2] == []
    eight = replace(robot, capsules=tuple(replace(robot.capsules[j % 3 + 1], name=f"p{j}") for j in range(6)))
    [neighbours, _] = told(eight, [CapsuleDistance(eight, [("p0", "p2"), ("p0", "p5"), ("p2", "p3"), ("p3", "p5")])])[
        1:3
    ]
    assert (neighbours.count("–"), "more" in neighbours) == (8, False)
    many = replace(robot, capsules=tuple(replace(robot.capsules[j % 2 + 1], name=f"p{j}") for j in range(8)))
    sentence = told(many, [CapsuleDistance(many, [("p0", "p1")])])[1]
    assert sentence.count("–") == 8
    assert sentence.endswith(" and 7 more")


def check_told(robot: Robot, links: Sequence[str]) -> None:
    """By obstacles, and by the ground, which takes their frames."""
    names, wall = ", ".join(links), Wall("wall", np.array([0.0, 0.0, 1.0]), -9.0)
    [sentence] = CapsuleDistance(robot, (), obstacles=(wall,)).unchecked
    assert sentence == f"collisions of the links {names}: no capsule stands for them"
    ground = mounting_plane(robot, -9.0)
    assert ground is not None
    assert f"the links {names} beyond the origins of their frames" in ground.unchecked[0]


def test_a_link_with_a_mass_but_without_a_shape_hides_behind_no_other(tmp_path: Path) -> None:
    """A tool fixed on a link that has a shape, a link whose tool has one, a mesh that is not there, a <collision> that
    is empty; a frame with no
    mass, or with the least that some tools demand, is nothing that could hit."""
    solid = "<collision><geometry><sphere radius='0.1'/></geometry></collision>"
    empty = ["<collision><geometry/></collision>", "<collision/>"]
    lost = "<collision><geometry><mesh filename='lost.stl'/></geometry></collision>"
    weight = "<inertial><mass value='{}'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    parts = {
        "base": solid,
        "arm": solid + weight.format(2),
        "tool": weight.format(1),
        "tip": "",
        "dot": weight.format(1e-6),
        "fore": weight.format(3),
        "hand": solid + weight.format(1),
        "cam": lost + weight.format(1),
        "half": solid + empty[0] + weight.format(1),
        "grip": empty[1] + solid,
        "cover": empty[0],
    }
    links = "".join(f"<link name='{name}'>{inside}</link>" for name, inside in parts.items())
    turns = ["base arm", "arm fore"]
    fixed = ["arm tool", "tool tip", "tip dot", "fore hand", "hand cam", "hand half", "hand grip", "hand cover"]
    limit = "<axis xyz='0 1 0'/><limit lower='-1' upper='1' effort='1' velocity='1'/>"
    joints = "".join(
        f"<joint name='{ends}' type='{'revolute' if ends in turns else 'fixed'}'><parent link='{ends.split()[0]}'/>"
        f"<child link='{ends.split()[1]}'/>{limit if ends in turns else ''}</joint>"
        for ends in (*turns, *fixed)
    )
    (tmp_path / "r.urdf").write_text(f"<robot name='r'>{links}{joints}</robot>")
    robot = load(str(tmp_path / "r.urdf"))
    assert set(robot.unshaped) == {"tool", "fore", "cam", "half", "grip", "cover"}
    assert any("without a shape on 'half', 'grip', 'cover':" in note for note in texts(robot.notes))
    check_told(robot, robot.unshaped)


def test_a_shape_that_cannot_be_measured_hides_behind_no_other(tmp_path: Path) -> None:
    """Meshes that MJCF writes out or moves, height fields: beside a shape that is measured, too. What is only drawn
    counts where nothing collides, and what stands still is told as such."""
    ball, drawn = '<geom size="0.1" mass="1" {}/>', 'contype="0" conaffinity="0"'
    written = '<geom type="mesh" mesh="{}" mass="0" {}/>'
    (tmp_path / "m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n")
    bodies = {
        "measured": ball.format("") + written.format("file", ""),
        "vertices": ball.format("") + written.format("inline", ""),
        "moved": ball.format("") + written.format("moved", ""),
        "hills": ball.format("") + '<geom type="hfield" hfield="h" mass="0"/>',
        "looks": ball.format("") + written.format("inline", drawn),
        "only_drawn": ball.format(drawn) + written.format("inline", drawn),
        "hidden": ball.format("") + written.format("inline", f'{drawn} group="3"'),
    }
    hinge = '<body name="{0}"><joint name="j_{0}" axis="0 1 0"/>{1}</body>'
    path = tmp_path / "m.xml"
    path.write_text(
        '<mujoco><asset><mesh name="inline" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><mesh name="file" file="m.obj"/>'
        '<mesh name="moved" file="m.obj" refpos="1 0 0"/><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>'
        f'<worldbody><body name="post">{written.format("inline", "")}</body>'
        f"{''.join(hinge.format(*item) for item in bodies.items())}</worldbody></mujoco>"
    )
    robot = load(str(path))
    assert set(robot.unshaped) == {"vertices", "moved", "hills", "only_drawn", "post"}
    check_told(robot, [link for link in robot.unshaped if link != "post"])
    assert "what stands still, post" in told(robot, [])


def test_a_point_of_a_mass_is_a_mass() -> None:
    robot = described()
    point = replace(robot.joints[1], inertia=np.array([2.0, *np.zeros(9)]))
    assert gaps(replace(robot, joints=(robot.joints[0], point, robot.joints[2]))) == {}


def test_limits_that_are_missing_are_named_with_their_joints() -> None:
    robot = shaped()
    floor, ball = Wall("floor", np.array([0.0, 0.0, 1.0]), -0.06), Round.sphere("ball", np.array([9.0, 0, 0]), 0.1)
    constraints = [TorqueLimits.of(robot), CapsuleDistance(robot, obstacles=(floor, ball))]
    free = [5.0, np.inf, 5.0]
    assert told(robot.with_limits(velocity=free), constraints) == ["velocity of j2"]
    assert told(robot.with_limits(acceleration=free), constraints) == ["acceleration of j2"]
    assert told(robot.with_limits(upper=free), constraints) == ["position of j2"]
    assert told(robot.with_limits(lower=-np.array(free)), constraints) == ["position of j2"]
    assert told(robot.with_limits(jerk=free), constraints) == []  # a choice
    assert told(robot.with_limits(torque=free), constraints) == ["torque of j2"]
    assert told(robot.with_limits(torque=np.inf), constraints) == ["torque"]
    everywhere = robot.with_limits(velocity=np.inf)
    assert told(everywhere, constraints) == ["velocity of all joints"]
    turning = replace(robot, joints=(*robot.joints[:2], replace(robot.joints[2], kind="continuous")))
    assert told(turning.with_limits(lower=[-2, -2, -np.inf], upper=[2, 2, np.inf]), constraints) == []
    assert told(robot, constraints, Certificate((), 1.0, 0))[0] == "any limit"


def test_limits_that_are_none_are_kept_and_prove_nothing() -> None:
    def doubted(robot: Robot) -> list[str]:
        return [sentence for sentence in texts(unchecked(robot, [], certify_still(robot))) if "placeholder" in sentence]

    robot = shaped()
    for which, what, value in (
        ("lower", "position", -1e9), ("upper", "position", 1e3), ("velocity", "velocity", 1e3),
        ("acceleration", "acceleration", 1e6),
    ):  # fmt: skip
        near = np.full(3, np.copysign(3.0, value))
        far = robot.with_limits(**{which: np.where(np.arange(3) == 0, value, near)})
        [told] = doubted(far)
        assert told.startswith(f"{what} of j1: {abs(value):.4g} rad")
        [limit] = certify_still(far).assumed
        assert (limit.what, limit.where, limit.limit) == (what, "j1", value)
        assert not certify_still(robot.with_limits(**{which: near})).assumed
        assert not doubted(robot.with_limits(**{which: near}))
    jerk = robot.with_limits(jerk=1e9)
    assert not certify_still(jerk).assumed  # a choice
    slides = replace(robot, joints=(replace(robot.joints[0], kind="prismatic"), *robot.joints[1:]))
    [told] = doubted(slides.with_limits(velocity=2e3))
    assert told.startswith("velocity of all joints: 2000 rad/s, 2000 m/s is a placeholder")
    fast = with_default_accelerations(robot.with_limits(acceleration=np.inf, velocity=1e6))  # 2e6 rad/s², assumed
    assert sum(s.startswith("acceleration") for s in texts(unchecked(fast, [], certify_still(robot)))) == 1


@pytest.mark.parametrize(
    ("velocity", "words"),
    [
        ([1.0, 1.0, 1.0], "acceleration of all joints: 2 rad/s² were assumed"),
        ([1.0, 1.0, 3.0], "acceleration of all joints: 2 … 6 rad/s² were assumed"),
        ([np.inf, 1.0, np.inf], "acceleration of j2: 2 rad/s² was assumed"),
    ],
)
def test_accelerations_that_were_assumed_are_told(velocity: list[float], words: str) -> None:
    robot = with_default_accelerations(shaped().with_limits(acceleration=np.inf, velocity=velocity))
    assert any(sentence.startswith(words) for sentence in texts(unchecked(robot, [], certify_still(robot))))
    slides = replace(robot, joints=(replace(robot.joints[0], kind="prismatic"), *robot.joints[1:]))
    if np.isfinite(velocity[0]):
        assert any("2 m/s² were" in s for s in texts(unchecked(slides, [], certify_still(robot))))


def test_ends_that_are_broken_limits_are_not_told_twice() -> None:
    robot = shaped()
    certificate = replace(certify_still(robot), starts_at_rest=False)
    assert "the way from rest and back" in told(robot, [], certificate)
    jump = LimitVerdict.jump("velocity from rest", "j1", "rad/s", allowed=1e-6, size=1.0, at=0.0)
    judged = replace(certificate, limits=(*certificate.limits, jump))
    assert "the way from rest and back" not in told(robot, [], judged)


@pytest.mark.parametrize(
    ("starts", "ends", "words"),
    [(True, True, None), (False, True, "starts"), (True, False, "ends"), (False, False, "starts and ends")],
)
def test_the_way_to_a_motion_that_does_not_rest_is_not_checked(starts: bool, ends: bool, words: str | None) -> None:
    robot = shaped()
    certificate = replace(certify_still(robot), starts_at_rest=starts, ends_at_rest=ends)
    found = [s for s in texts(unchecked(robot, [], certificate)) if s.startswith("the way from rest")]
    expected = f"the way from rest and back: the motion {words} with a velocity or an acceleration; add ramps"
    assert found == ([] if words is None else [expected])
