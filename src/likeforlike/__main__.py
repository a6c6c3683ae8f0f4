"""`python -m likeforlike` is the command `likeforlike`."""

from likeforlike.cli import main

main()
