"""The report about pay: a page, files to hand in, and plain values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from likeforlike._lazy import extra
from likeforlike._text import visible
from likeforlike.document import Finding, Outcome, PlainValues, json_text, plain
from likeforlike.errors import InputError
from likeforlike.files import write_whole
from likeforlike.payroll import _words as words
from likeforlike.payroll._results import PayCategory, PayDocument, PayGap

SCHEMA_FILE = "likeforlike.pay.schema.json"
"""Its name in the package; `tools/schema.py` writes it."""

_HEADINGS = (
    *("article", "category", "figure", "per", "average", "women", "men", "pay_women", "pay_men"),
    *("gap_percent", "range_low", "range_high", "women_percent", "men_percent", "others_percent"),
    *("standing", "p_adjusted", "least_cost_per_year", "note"),
)
# As `categoryFileHandler` of SocialGouv/egapro reads them; it refuses a file without one of them.
_EGAPRO = (
    *("Libellé de la catégorie", "Annuel effectif femmes", "Annuel effectif hommes"),
    *("Horaire effectif femmes", "Horaire effectif hommes"),
    *("Annuel base femmes (€)", "Annuel base hommes (€)"),
    *("Annuel variable femmes (€)", "Annuel variable hommes (€)"),
    *("Horaire base femmes (€)", "Horaire base hommes (€)"),
    *("Horaire variable femmes (€)", "Horaire variable hommes (€)"),
)
# A cell that begins so is taken for a formula by programs for tables.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class PayReport:
    """The pay of women and men: figures with ranges, categories, and files to hand in.

    Attributes
    ----------
    document : everything that was found.
    """

    document: PayDocument

    @property
    def finding(self) -> Finding:
        """What the figures say."""
        return self.document.finding

    @property
    def gaps(self) -> tuple[PayGap, ...]:
        """Gaps of all women and men."""
        return self.document.gaps

    @property
    def categories(self) -> tuple[PayCategory, ...]:
        """Categories with women and men."""
        return self.document.categories

    @property
    def verdict(self) -> Outcome:
        """Say whether categories reach the trigger.

        "fail" if one does by more than chance, "pass" if all were compared and are below, else
        "investigate".
        """
        standings = {each.standing for each in self.categories}
        if "beyond chance" in standings:
            return "fail"
        settled = standings == {"below the trigger"} and not self.document.unlisted_categories
        return "pass" if settled else "investigate"

    def __str__(self) -> str:
        """Write the finding, and the categories that reach the trigger."""
        reached = [each for each in self.categories if each.standing != "below the trigger"]
        lines = [self.finding.headline, *self.finding.sentences]
        lines += [
            f"{each.name}: {words.percent(each.gaps[0].percent)} ({words.between(each.gaps[0])}), "
            f"{words.standing(each)}"
            for each in reached
        ]
        lines += [*(f"Note: {each}" for each in self.finding.cautions), words.LEGAL]
        return visible("\n".join(lines), keep="\n")

    def _repr_html_(self) -> str:
        from likeforlike.payroll._page import summary

        return summary(self.document)

    def to_dict(self) -> PlainValues:
        """Return plain values, as JSON has them."""
        values: PlainValues = plain(self.document)
        return values

    def to_json(self) -> str:
        """Write JSON; `likeforlike schema pay` prints its schema."""
        return json_text(self.to_dict())

    def to_html(self) -> str:
        """Write one page that needs no network, to be read on a phone or printed."""
        from likeforlike.payroll._page import page

        return page(self.document)

    def to_csv(self, path: str | Path) -> None:
        """Write all figures as CSV, one line each."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_HEADINGS)
        writer.writerows([_safe(each) for each in line] for line in self._lines())
        write_whole(path, text.getvalue())

    def to_xlsx(self, path: str | Path) -> None:
        """Write all figures as an Excel file, the finding on its first sheet."""
        with extra("excel"):
            import xlsxwriter

        file = io.BytesIO()
        with xlsxwriter.Workbook(file, {"in_memory": True, "strings_to_formulas": False}) as book:
            bold, wrap = book.add_format({"bold": True}), book.add_format({"text_wrap": True})
            formats = {
                "percent": book.add_format({"num_format": '0.0"%"'}),
                "money": book.add_format({"num_format": "#,##0.00"}),
            }
            front = book.add_worksheet("Summary")
            front.set_column(0, 0, 100, wrap)
            finding = self.finding
            for row, said in enumerate(
                (finding.headline, *finding.sentences, *finding.cautions, words.LEGAL)
            ):
                front.write_string(row, 0, said, bold if row == 0 else wrap)
            sheet = book.add_worksheet("Figures")
            sheet.freeze_panes(1, 3)
            sheet.write_row(0, 0, _HEADINGS, bold)
            for row, line in enumerate(self._lines(), start=1):
                for column, value in enumerate(line):
                    _write_cell(sheet, row, column, value, formats)
            sheet.set_column(0, 0, 9)
            sheet.set_column(1, 2, 28)
        write_whole(path, file.getvalue())

    def to_egapro(self, path: str | Path) -> None:
        """Write the categories as the file that France's egapro imports.

        It holds exact averages of every category with women and men, so it takes a report with
        `suppress_below=None`. Check it on the portal: the columns change.
        """
        if self.document.request.suppress_below is not None:
            raise InputError(
                "the file for egapro holds exact averages of every category: compute the report "
                "with suppress_below=None (--suppress-below 0), and pass the file on to the "
                "authority only."
            )
        text = io.StringIO()
        writer = csv.writer(text, delimiter=";", lineterminator="\n")
        writer.writerow(_EGAPRO)
        for category in self.categories:
            paid = {(gap.part, gap.per): gap for gap in category.gaps}
            found = [
                paid.get((part, per)) for per in ("year", "hour") for part in ("base", "variable")
            ]
            counted = [paid.get(("base", per)) for per in ("year", "hour")]
            people = [n for gap in counted for n in (("", "") if gap is None else gap.people)]
            pay = [
                "" if gap is None or gap.pay is None else f"{each:.2f}"
                for gap in found
                for each in ((0.0, 0.0) if gap is None or gap.pay is None else gap.pay)
            ]
            writer.writerow([_safe(category.name), *people, *pay])
        write_whole(path, "\ufeff" + text.getvalue())

    def _lines(self) -> Iterator[tuple[Any, ...]]:
        """List all figures, by the columns of `_HEADINGS`."""
        document = self.document
        empty = (None,) * 3
        for gap in document.gaps:
            yield (words.article(gap), "", *_figures(gap), *empty, None, None, None, gap.note)
        for sex, gap in document.others.items():
            yield ("", f"{sex} and men", *_figures(gap), *empty, None, None, None, gap.note)
        if document.receiving is not None:
            yield (
                words.RECEIVING,
                "",
                "receive variable pay",
                *(None,) * 9,
                *document.receiving,
                *(None,) * 5,
            )
        for bands in document.bands:
            for name, *shares in zip(
                words.QUARTERS, bands.women, bands.men, bands.others, strict=True
            ):
                yield (words.BANDS, "", name, bands.per, *(None,) * 8, *shares, *(None,) * 4)
        for category in document.categories:
            for place, gap in enumerate(category.gaps):
                more = (
                    (words.standing(category), category.p_adjusted, category.cost)
                    if place == 0
                    else empty
                )
                yield (words.CATEGORY, category.name, *_figures(gap), *empty, *more, gap.note)
        for gap in document.fifths:
            line = _figures(gap)
            yield ("", "within categories", gap.note, *line[1:], *empty, *empty, None)


def _figures(gap: PayGap) -> tuple[Any, ...]:
    name = words.PARTS[gap.part] + (" of those who receive it" if gap.receivers else "")
    pay, ends = gap.pay or (None, None), gap.interval or (None, None)
    return (name, gap.per, words.AVERAGES[gap.average], *gap.people, *pay, gap.percent, *ends)


def _safe(value: object) -> object:
    """Write a value for CSV: names cannot be formulas, numbers have no powers of ten."""
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def _write_cell(sheet: Any, row: int, column: int, value: object, formats: dict[str, Any]) -> None:  # noqa: ANN401
    heading = _HEADINGS[column]
    if isinstance(value, str):
        sheet.write_string(row, column, value)
    elif isinstance(value, int | float):
        percent = "percent" in heading or heading.startswith("range")
        money = heading.startswith(("pay_", "least_"))
        sheet.write_number(
            row,
            column,
            value,
            formats["percent" if percent else "money"] if percent or money else None,
        )


def pay_schema() -> str:
    """Return the JSON schema (draft 2020-12) of what `PayReport.to_json` writes."""
    return (resources.files("likeforlike.payroll") / SCHEMA_FILE).read_text("utf-8")
