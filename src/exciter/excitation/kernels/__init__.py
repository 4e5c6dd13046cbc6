"""Compiled kernels of the constraints: one sample at a time, all rows and their derivatives."""

POINT_SEGMENT_M2 = 1e-30  #: [m²] a segment shorter than the root of this is a point
UNBOUNDED_M = 1e300  #: [m] farther than anything; finite, for kernels that may not know of infinity
LEAST_MEAN_NORMAL = 0.1  #: length of the sum of two unit normals below which it has no useful direction
PARALLEL_SINE_SQUARED = 1e-8  #: sin² of the angle below which the crossing point of two lines is mostly rounding
