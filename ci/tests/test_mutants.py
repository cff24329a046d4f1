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


class Sources(unittest.TestCase):
    FILES = {
        "a/a_test.c": '#include "trace.h"\n',
        "a/b_test.c": '#include "trace.h"\n#include "memory.h"\n',
        "a/trace.h": '#include "memory.h"\n',
        "a/trace.c": "",
        "a/memory.h": "",
        "a/other.c": "",
        "t/names": '. "$(dirname "$0")/lib.sh"; cases\n',
        "t/cases": "",
        "t/lib.sh": '"$here/lie"\n',
        "t/lie": "",
    }

    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in self.FILES.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(text)

    def sources(self, *names):
        sums = subprocess.run(["sha256sum", *self.FILES], check=True, cwd=self.root,
                              stdout=subprocess.PIPE).stdout
        made_of = subprocess.run([ROOT / "ci/mutants/sources", *names], check=True, input=sums,
                                 cwd=self.root, stdout=subprocess.PIPE).stdout.decode()
        return sorted(line.split()[1] for line in made_of.splitlines())

    def test_headers(self):
        self.assertEqual(["a/a_test.c", "a/memory.h", "a/trace.c", "a/trace.h"],
                         self.sources("a_test"))

    def test_scripts(self):
        self.assertEqual(["t/lib.sh", "t/lie", "t/names"], self.sources("names"))

    def test_unknown(self):
        self.assertEqual([], self.sources("boot"))
