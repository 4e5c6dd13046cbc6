"""How rows add up: the problem, its rows compressed, square-root information, estimates and their covariance."""
