"""ci/bench/results.py and ci/checks/quotes: numbers in, text out"""
import sys
import tempfile
import unittest

from program import ROOT, load

sys.path.append(str(ROOT / "ci/bench"))
from results import Results  # noqa: E402

quotes = load("ci/checks/quotes")
MEASURED = """# gcc 12
# queue of May 2026
vanilla	off	read	1000.00	1010.00
vanilla-Os	off	read	900.00	900.00
vanilla	event	read	1500.00	1600.00
patched	off	read	999.60	1000.00
patched	exit	read	1750.00	1800.00
patched-Os	exit	read	1900.00	1900.00
"""


class Measured(unittest.TestCase):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(MEASURED)
            file.flush()
            self.results = Results(file.name)


class Fill(Measured):
    def test_fields(self):
        for field, text in (
                ("vanilla:off:read", "1000"),
                ("vanilla:off:read:mean", "1010"),
                ("+ patched:exit:read", "750"),
                # over the same optimization
                ("+ patched-Os:exit:read", "1000"),
                # without a minus before zero
                ("- patched:off:read; vanilla:off:read", "0"),
                ("/ patched:exit:read; vanilla:event:read", "1.50"),
                ("% patched:exit:read; vanilla:off:read", "75.00"),
                ("queue", "queue of May 2026")):
            self.assertEqual(self.results.value(field), text, field)

    def test_not_measured(self):
        with self.assertRaisesRegex(KeyError, "patched:exit:write was not measured"):
            self.results.value("patched:exit:write")


class Quotes(Measured):
    QUOTED = """# a comment
page.md
\tIt takes {vanilla:off:read} instructions, measured with the {queue}.
\t|@| {vanilla:$:read} |@|
\t\toff | event
\tMore.
""".splitlines()
    PAGE = """# Page

It takes 1000 instructions, measured with the queue of May 2026.

| 4 KiB | 1000 | b |
| longer | 1500 | |

More.
"""

    def compare(self, *change, filled=None):
        lines = self.PAGE.replace(*change).splitlines()
        wrong, new = quotes.compare("page.md", lines, quotes.quoted(self.QUOTED)["page.md"],
                                    self.results)
        self.assertEqual(new, self.PAGE.splitlines() if filled is None else lines)
        return wrong

    def test_same(self):
        self.assertEqual(self.compare("", ""), [])

    def test_other_number(self):
        self.assertEqual(self.compare("1500", "-1.5"), [
            'page.md:6: "| longer | -1.5 | |" should be "| longer | 1500 | |"'])

    def test_other_queue(self):
        self.assertIn('queue of June 2025." should be', self.compare("May 2026", "June 2025")[0])

    def test_row_missing(self):
        self.assertEqual(self.compare("| longer | 1500 | |\n", "", filled=False), [
            'page.md:6: from here on there is no "|@| {vanilla:event:read} |@|"'])

    def test_line_missing(self):
        self.assertIn('there is no "More."', self.compare("More.", "Less.", filled=False)[0])

    def test_not_quoted(self):
        self.assertEqual(self.compare("More.", "More.\nIt takes 3 instructions.", filled=False), [
            'page.md:9: "It takes 3 instructions." is not in ci/bench/quoted'])
