"""ci/mutants/report: lists and results in, page out"""
import os
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


class Staleness(unittest.TestCase):
    """ci/mutants/run --tools, with checks that fail for what is mutated"""
    CHECK = """#!/bin/sh
cd "$(dirname "$0")/../.."
! grep -q KILLED tools/trapstat/a.c || { echo 'test/cases: a check fails'; exit 1; }
"""
    LIST = """killed	tools/trapstat/a.c	trapstat -f cases	s{good}{KILLED}	a rule
survivor	tools/trapstat/b.c	trapstat -f cases	s{good}{harmless}	a rule	equivalent
"""
    FILES = {
        "ci/checks/trapstat": CHECK,
        "ci/mutants/tools.tsv": LIST,
        "ci/mutants/mutants.tsv": "",
        "selftests/invasive/Makefile": "",
        "tools/trapstat/a.c": "good\n",
        "tools/trapstat/b.c": "good\n",
        "tools/trapstat/test/cases": "",
        "tools/trapstat/test/lib.sh": "",
        "tools/trapstat/test/names": "",
    }

    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in self.FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        (self.root / "ci/checks/trapstat").chmod(0o755)
        for file in ("ci/lib.sh", "ci/mutants/report", "ci/mutants/rows", "ci/mutants/run"):
            shutil.copy(ROOT / file, self.root / file)
        for name in ("Documentation", "tools/libtraps", "tools/kernelshark"):
            (self.root / name).mkdir(exist_ok=True)
        for name in ("ci/mutants/results.tsv", ".gitignore"):
            (self.root / name).write_text("build/\n" if name == ".gitignore" else "")
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.mutants()

    def mutants(self, *arguments):
        env = {name: text for name, text in os.environ.items() if name != "KERNEL"}
        return subprocess.run([self.root / "ci/mutants/run", "--tools", *arguments], check=True,
                              text=True, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout

    def outdated_by(self, *names):
        for name in names:
            with open(self.root / name, "a") as file:
                file.write("changed\n")
        return int(self.mutants("--check").split()[2])

    def test_results(self):
        lines = (self.root / "ci/mutants/tools-results.tsv").read_text().splitlines()
        self.assertEqual([["killed", "cases"], ["survivor", "-"]],
                         [line.split("\t")[::2][:2] for line in lines])

    def test_nothing(self):
        self.assertEqual(0, self.outdated_by())

    def test_survivor_only(self):
        self.assertEqual(1, self.outdated_by("tools/trapstat/b.c", "tools/trapstat/test/names"))

    def test_killer(self):
        self.assertEqual(2, self.outdated_by("tools/trapstat/test/cases"))

    def test_in_common(self):
        self.assertEqual(2, self.outdated_by("tools/trapstat/test/lib.sh"))

    def test_code(self):
        self.assertEqual(2, self.outdated_by("tools/trapstat/a.c"))

    def test_emulator_failed(self):
        results = self.root / "ci/mutants/tools-results.tsv"
        before = results.read_text()
        (self.root / "ci/checks/trapstat").write_text(
            "#!/bin/sh\necho 'ci/vm/boot: qemu failed: no memory'\necho 'a check fails'\nexit 1\n")
        with self.assertRaises(subprocess.CalledProcessError):
            self.mutants("killed")
        self.assertEqual(before, results.read_text())
