"""``python -m exciter``."""

from exciter.cli import main

if __name__ == "__main__":
    main()
