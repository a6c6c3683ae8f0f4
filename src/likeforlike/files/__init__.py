"""Files: who opens them, how a CSV is read, and how results are written whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._columns import column_key as column_key
    from ._columns import column_names_of as column_names_of
    from ._columns import drop_duplicate_columns as drop_duplicate_columns
    from ._columns import find_column as find_column
    from ._columns import is_polars as is_polars
    from ._columns import pick_column as pick_column
    from ._columns import places_of as places_of
    from ._columns import take_columns as take_columns
    from ._columns import tell_apart as tell_apart
    from ._csv import NUMBER as NUMBER
    from ._csv import SAY_DECIMAL as SAY_DECIMAL
    from ._csv import SAY_ENCODING as SAY_ENCODING
    from ._csv import USUAL_NULLS as USUAL_NULLS
    from ._csv import CsvOptions as CsvOptions
    from ._csv import Decimal as Decimal
    from ._csv import ReadTexts as ReadTexts
    from ._csv import TextTable as TextTable
    from ._csv import are_numbers as are_numbers
    from ._csv import check_decimal as check_decimal
    from ._csv import csv_options as csv_options
    from ._csv import decision_note as decision_note
    from ._csv import decision_words as decision_words
    from ._csv import is_ambiguous as is_ambiguous
    from ._csv import is_currency as is_currency
    from ._csv import number_column as number_column
    from ._csv import read_texts as read_texts
    from ._csv import refuse_texts as refuse_texts
    from ._csv import text_column as text_column
    from ._files import open_file as open_file
    from ._files import readable as readable
    from ._writing import check_writable as check_writable
    from ._writing import read_with_notes as read_with_notes
    from ._writing import replace_whole as replace_whole
    from ._writing import write_whole as write_whole
    from ._writing import write_with_notes as write_with_notes

attach(__name__)
