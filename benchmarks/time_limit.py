"""Is the time that a user gives kept? Limit and seconds of the whole command, on arms of seven and thirty joints.

    python benchmarks/time_limit.py [--limits 5,20,100] [--joints 7,30] [--jobs 1,2]

Serial arms with masses, capsules, torque limits and friction, written as URDF and designed with far more starts than
any limit allows. The command runs in a process of its own, so that importing, reading the robot, deriving its base
parameters, the search, the certificate, the files and the report all count. A first, short run leaves the compiled
kernels on disk. Exit 2 with the line of "no motion was found in time" is an answer too; it is printed as such.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LENGTH, RADIUS = 0.2, 0.05  # [m] of a link


LINK = """<link name="link_{k}">
  <inertial><origin xyz="0 0.01 {middle}"/><mass value="{mass}"/>
    <inertia ixx="{across}" ixy="0" ixz="0" iyy="{across}" iyz="0" izz="{along}"/></inertial>
  <collision><origin xyz="0 0 {middle}"/><geometry><cylinder radius="{radius}" length="{length}"/></geometry>
  </collision></link>
<joint name="joint_{k}" type="revolute"><parent link="{parent}"/><child link="link_{k}"/><origin xyz="0 0 {above}"/>
  <axis xyz="{axis}"/><limit lower="-1.2" upper="1.2" effort="{effort}" velocity="2"/>
  <dynamics damping="0.5" friction="0.5"/></joint>
"""


def serial_arm(joints: int) -> str:
    """URDF of a serial arm: axes z, y, x in turn, links that become lighter, capsules, torque and friction."""
    links = []
    for k in range(joints):
        mass = 4.0 * 0.9**k + 0.2
        link = LINK.format(
            k=k,
            middle=LENGTH / 2,
            mass=mass,
            across=mass * (LENGTH**2 / 12 + RADIUS**2 / 4),
            along=mass * RADIUS**2 / 2,
            radius=RADIUS,
            length=LENGTH - 2 * RADIUS,
            parent="base" if k == 0 else f"link_{k - 1}",
            above=0.0 if k == 0 else LENGTH,
            axis=("0 0 1", "0 1 0", "1 0 0")[k % 3],
            effort=400.0 * 0.9**k + 20.0,
        )
        links.append(link)
    return '<robot name="serial"><link name="base"/>' + "".join(links) + "</robot>"


def seconds(robot: Path, folder: Path, limit: float, jobs: int) -> tuple[float, int, str]:
    """Of the whole command, with its exit code and the last line for people."""
    words = ["design", str(robot), "-o", str(folder), "--starts", "100000", "--time-limit", f"{limit:g}"]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "exciter", *words, "--jobs", str(jobs)], capture_output=True, text=True, check=False
    )
    said = (done.stderr or done.stdout).strip().splitlines()
    return time.monotonic() - began, done.returncode, said[-1] if said else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limits", default="5,20,100")
    parser.add_argument("--joints", default="7,30")
    parser.add_argument("--jobs", default="1,2")
    arguments = parser.parse_args()
    given = (arguments.joints, arguments.jobs, arguments.limits)
    joints, jobs, limits = ([float(word) for word in words.split(",")] for words in given)
    print(f"{'joints':>6} {'jobs':>4} {'limit [s]':>9} {'used [s]':>9} {'exit':>4}")
    with tempfile.TemporaryDirectory() as place:
        for count in map(int, joints):
            robot = Path(place) / f"serial_{count}.urdf"
            robot.write_text(serial_arm(count), encoding="utf-8")
            seconds(robot, Path(place) / "first", 1.0, 1)
            for processes in map(int, jobs):
                for limit in limits:
                    used, code, said = seconds(robot, Path(place) / "out", limit, processes)
                    words = f"{count:6} {processes:4} {limit:9g} {used:9.1f} {code:4}"
                    print(f"{words}  {said if code else ''}", flush=True)


if __name__ == "__main__":
    main()
