"""ci/mutants/report: lists and results in, page out"""
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import ROOT

LIST = """# name	file	check	change	rule	reason
killed	a.c	kselftest	s{a}{b}	a rule
changed	a.c	kselftest	s{a}{c}	a rule
new	a.c	kselftest	s{a}{d}	a rule
survivor	a.c	kselftest	s{a}{e}	a rule	equivalent
"""


class Tests(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for file in ("ci/lib.sh", "ci/mutants/report", "ci/mutants/rows"):
            to = self.root / file
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, to)
        (self.root / "Documentation").mkdir()
        for name in ("mutants", "tools"):
            (self.root / f"ci/mutants/{name}.tsv").write_text(LIST)
        sums = dict(line.split("\t") for line in self.run_program("rows", "mutants.tsv").split("\n")
                    if line)
        sums["changed"] = "0"
        for name in ("results", "tools-results"):
            (self.root / f"ci/mutants/{name}.tsv").write_text("".join(
                f"{mutant}\tstate\t{killer}\tsaid\t{sums[mutant]}\n" for mutant, killer in
                (("killed", "traps_test"), ("changed", "traps_test"), ("survivor", "-"))))

    def run_program(self, name, *arguments):
        return subprocess.run([self.root / "ci/mutants" / name, *arguments], check=True, text=True,
                              cwd=self.root / "ci/mutants", stdout=subprocess.PIPE).stdout

    def test_changed_row(self):
        self.run_program("report")
        page = (self.root / "Documentation/mutants.md").read_text()
        self.assertIn("**Of 3 defects 1 are killed**, and 2 have not been run. "
                      "Equivalent to the original, and not counted: 1.", page)
