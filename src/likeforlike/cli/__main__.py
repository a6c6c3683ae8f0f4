"""`python -m likeforlike.cli` is the command `likeforlike`."""

from likeforlike.cli import main

main()
