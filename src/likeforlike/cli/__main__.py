"""`python -m likeforlike.cli` is the command `likeforlike`."""

from likeforlike.cli import main

if __name__ == "__main__":
    main()
