"""A robot while it works: parameters of a stream of samples, friction that drifts, an alarm when something touches."""

import numpy as np

import exciter as ex

robot = ex.load("gautier-khalil")
motion = ex.design(robot, ex.Fourier(period=5, harmonics=3), starts=1)
first, later = (ex.simulate(robot, motion, periods=k).recording for k in (3, 4))
equations = {"filter": {"cutoff": 10}, "route": {"method": "differences", "cutoff": 20}}
found = ex.identify(robot, first, estimator="wls", **equations)

torque = np.array(later.torque)
touched = (later.time > 12.0) & (later.time < 13.0)
torque[touched, 1] += 0.05 * np.abs(torque[:, 1]).max()  # 5 % of the largest torque, for a second
stream = ex.Recording.of(later.time, later.q, torque, joints=later.joints)

follower = ex.Follower(robot, start=found, drift={"friction": 0.5}, every=5.0)
for state in follower.states(stream.chunks(50)):  # pieces as they come, from a controller or a file
    k = follower.names.index("Fv2")
    print(f"{state.time:6.2f} s: Fv2 {state.values[k]:.4f} ± {state.std[k]:.4f}, {len(state.alarms)} alarms")
print(f"answers were {follower.latency:.2f} s behind their samples")
for alarm in follower.result.alarms:
    print(alarm.sentence)
