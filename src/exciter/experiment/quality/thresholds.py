"""Thresholds of all checks, from which on a finding is a warning or a problem, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """Settings of all checks. Times in seconds, shares between 0 and 1."""

    #: σ of regular intervals over the nominal one: uniform time errs by jitter × q̇, beyond 5 % more than encoder noise.
    jitter: float = 0.05
    gap: float = 1.5  #: Nominal intervals beyond which a sample is missing (nearest whole number: two)
    missing: float = 0.005  #: Share of samples: at 0.5 % a filter on uniform time meets some ten jumps in 2000 samples
    long_gap: float = 0.05  #: [s] A longer hole is not interpolated: joints go a visible way and may turn around
    fewest_samples: int = 50  #: Fewer samples say nothing about a robot of some 60 parameters
    shortest: float = 1.0  #: [s] In less a drive turns around once at best, and any parameters explain its torque
    shortest_judged: float = 2.0  #: [s] In less a wrong column, sign or zero is no more likely than a wrong body
    slowest_rate: float = 5.0  #: [Hz] Robots are logged at 10 Hz … 20 kHz; rates far outside mean another unit of time
    fastest_rate: float = 100_000.0
    shortest_step: float = 1e-15  #: [s] Below it there is no time between samples in any unit
    longest_step: float = 10_000.0  #: [s] No motion pauses for hours: a longer step is another unit, clock or column

    #: Share of NaN in a channel: beyond it, or the longest run that may be interpolated, it is a burst, no lost value.
    nan_share: float = 0.05
    nan_run: float = 0.05  # [s]
    repeated_rows: float = 0.01  #: Share of rows that a moving robot repeats (a packet logged again) worth a warning
    held: float = 0.5  #: A channel that repeats more often while it moves by several steps is refreshed too slowly
    stuck: float = 0.1  #: [s] A channel that stops dead in mid-motion is stuck: no drive stops a link within one sample
    flat_samples: int = 20  #: At an extreme value, in plateaus of ``flat_run`` that are entered without slowing down
    flat_run: int = 5
    saturated_problem: float = 0.05  #: Share of samples cut off: some, or so many that the torque is no longer measured
    at_limit: float = 0.005  #: A value within this part of the description's limit is at it
    beyond_limit: float = 1.2  #: Beyond the limit by this factor the limit, the unit or a gain is wrong
    #: Robust σ, of the log and of the surroundings, above both neighbours: Gaussian noise passes 15 once in 10⁵⁰.
    spike: float = 15.0
    spike_share: float = 0.001  #: Of torque or velocity, worth a warning; drives make single peaks, positions have none
    impossible_speed: float = 3.0  #: Times the velocity limit, from one sample to the next: no motion
    jump: float = 0.01  #: … if it is at least this part of the joint's range: a late packet makes the next step longer

    #: [s] Of a joint at rest: window, and speed over the usual one (95 % quantile); no sine of ≥ 0.03 Hz looks so.
    rest_window: float = 0.25
    rest_speed: float = 0.005
    standstill: float = 0.5  #: [s] Standstill of the whole robot at the start or end that is reported
    rest_share: float = 0.25  #: Of the moving time, that a joint rests: sign(q̇) is meaningless for much of its data

    #: Correlation with the model, friction and rotor removed: gravity-loaded real joints 0.88 … 1.00, accidental 0.81.
    conclusive: float = 0.85
    driving_friction: float = 0.05  #: … its joint, over the spread of the torque: less may be a wrong model
    torque_scale: float = 20.0  #: Against the model; inertias of descriptions are rarely wrong by a factor of ten
    #: −2 ln of odds, 1 : 400, beyond chance of the best of all changes tried, that a log needs another order, sign,
    #: unit or zero; less is a warning. Healthy logs of random robots, as wrong as descriptions are, stay below chance.
    refusal: float = 12.0
    #: Share of torque, where a fit explains more: with inertias 20 % off 98 %, on real arms well described ≥ 83 %.
    explained_described: float = 0.7
    #: … that a fit of all parameters must explain: 99 % from models, 69 % and more of every joint of four real arms.
    explained: float = 0.6
    explained_problem: float = 0.5
    #: What another joint's motion may leave of a joint's residual power, and the other way round, before their drives
    #: are taken for coupled: 0.1 and 0.2 on a coupled wrist; else one of the two is above 0.6, on four real arms.
    coupled: float = 0.4
    velocity_factor: float = 0.05  #: Measured velocity over the derivative of position
    delay_samples: float = 1.0  #: Smaller delays [samples] are within what time stamps mean
    delay_errors: float = 3.0  #: Standard errors to be sure of a delay
    #: Change of the torque over its RMS, and what is left of the unexplained: less may be friction or poor excitation.
    delay_effect: float = 0.01
    delay_power: float = 0.9
    #: Planned against executed: RMS over the planned range. 5 % is a poorly tuned controller, 50 % another motion.
    planned: float = 0.05
    planned_other: float = 0.5

    #: [rad] Over an arc Δ an offset and the weight's cosine differ by 1 − cos(Δ/2): 12 % at 1 rad, 3 % at 0.5 rad.
    arc: float = 1.0
    #: With columns of unit length. The literature asks for ≲ 100; at 300 the weakest carries 10⁻⁵ of the information.
    condition: float = 300.0
    inflation: float = 30.0  #: σ of a parameter over that with all others known, beyond which it is poorly excited

    most_samples: int = 131_072  #: Samples the expensive checks look at, as evenly spread windows of ``window`` samples
    window: int = 4096
    most_rows: int = 3000  #: Rows of the regressor
