"""ci/bench/results.py: numbers in, text out"""
import sys
import tempfile
import unittest

from program import ROOT

sys.path.append(str(ROOT / "ci/bench"))
from results import Results  # noqa: E402

MEASURED = """# gcc 12
vanilla	off	read	1000.00	1010.00
vanilla-Os	off	read	900.00	900.00
vanilla	event	read	1500.00	1600.00
patched	off	read	999.60	1000.00
patched	exit	read	1750.00	1800.00
patched-Os	exit	read	1900.00	1900.00
"""


class Fill(unittest.TestCase):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(MEASURED)
            file.flush()
            self.results = Results(file.name)

    def expect(self, field, text):
        self.assertEqual(self.results.fill(f"<{{{field}}}>"), f"<{text}>")

    def test_number(self):
        self.expect("vanilla:off:read", "1000")

    def test_mean(self):
        self.expect("vanilla:off:read:mean", "1010")

    def test_cost(self):
        self.expect("+ patched:exit:read", "750")

    def test_cost_is_over_the_same_optimization(self):
        self.expect("+ patched-Os:exit:read", "1000")

    def test_difference_without_minus_zero(self):
        self.expect("- patched:off:read; vanilla:off:read", "0")

    def test_ratio_of_costs(self):
        self.expect("/ patched:exit:read; vanilla:event:read", "1.50")

    def test_ratio(self):
        self.expect(": patched:exit:read; vanilla:off:read", "1.75")

    def test_percent(self):
        self.expect("% patched:exit:read; vanilla:off:read", "75.00")

    def test_not_measured(self):
        with self.assertRaisesRegex(KeyError, "patched:exit:write was not measured"):
            self.results.fill("{patched:exit:write}")
