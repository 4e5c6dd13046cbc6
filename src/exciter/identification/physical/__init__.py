"""What physically meaningful estimates share: full sets of standard parameters, bodies to start from, cones."""
