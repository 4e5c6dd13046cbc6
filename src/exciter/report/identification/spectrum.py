"""Which frequencies the torque has, and which of them the model leaves in the residual."""

from __future__ import annotations

from exciter.report.identification.drawn import Drawn, per_joint
from exciter.report.joint_choice import joint_choice
from exciter.report.markup import number
from exciter.report.plot import Line, Plot
from exciter.report.section import Section


def spectrum_section(drawn: Drawn) -> Section | None:
    """None where the run is too short."""
    spectrum = drawn.found.spectrum
    if spectrum is None:
        return None
    measured, residual, last = spectrum.measured, spectrum.residual, spectrum.filled
    text = (
        f"Amplitude density of {drawn.name} ({drawn.kind}), measured and residual, as they enter the equations. A flat "
        "residual is noise; a peak in it is something that the model misses, such as an elastic joint or a ripple of "
        "the drive."
    )
    if last < len(measured.frequency):
        text += f" Above {number(float(measured.frequency[last - 1]), 3)} Hz filters left nothing to draw."
    plots = {
        j: Plot(
            name,
            measured.frequency[:last],
            "frequency [Hz]",
            f"density [{unit or 'unit'}/√Hz]",
            [Line("measured", measured.values[:last, j], unit), Line("residual", residual.values[:last, j], unit)],
            group=f"spectrum-{drawn.group}",
            log=True,
        ).html()
        for j, (name, unit) in enumerate(zip(spectrum.joints, spectrum.units, strict=True))
    }
    contents = (joint_choice(spectrum.joints), per_joint(plots))
    return Section("spectrum", "Spectrum of torque and residual", text, contents)
