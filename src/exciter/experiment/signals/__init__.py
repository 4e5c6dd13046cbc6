"""From samples to motion: resampling, filters, derivatives, averages and noise."""
