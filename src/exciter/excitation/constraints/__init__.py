"""What a motion must respect: limits of joints, torque, workspace and distances."""
