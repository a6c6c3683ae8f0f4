"""The pictures of the documentation, computed by the library from real numbers.

    python -m tools.pictures docs/pictures

writes them all; `tests/docs/test_pictures.py` holds the files to what this command makes.
"""

from tools.pictures.bins import bins
from tools.pictures.chance import chance
from tools.pictures.dcfr import dcfr
from tools.pictures.frontier import frontier
from tools.pictures.layers import layers
from tools.pictures.loans import loans
from tools.pictures.measures import measures
from tools.pictures.nested import nested
from tools.pictures.slopes import slopes
from tools.pictures.transport import transport

__all__ = ["PICTURES"]

PICTURES = {
    "loans": loans,
    "transport": transport,
    "measures": measures,
    "nested": nested,
    "chance": chance,
    "bins": bins,
    "dcfr": dcfr,
    "slopes": slopes,
    "frontier": frontier,
    "layers": layers,
}
"""What draws each picture, by the name of its file."""
