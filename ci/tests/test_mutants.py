"""ci/mutants/run on a small tree, with checks that fail for what is mutated"""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import ROOT

CHECK = """#!/bin/sh
cd "$(dirname "$0")/../.."
echo "${0##*/} $*" >>build/calls
[ "${0##*/}" = trapstat ] && tree=. || tree=build/$KERNEL/linux
! grep -rqs KILLED "$tree/mm" "$tree/tools/trapstat" || { echo 'a check fails'; exit 1; }
"""
LIST = """killed	tools/trapstat/a.c	trapstat -f cases	s{good}{KILLED}	one
survivor	tools/trapstat/b.c	trapstat -f cases	s{good}{harmless}	two	equivalent
kernel	mm/c.c	kselftest -f some_test x86_64-qemu	s{good}{KILLED}	three
"""
BUILD = """#!/bin/sh
cd "$(dirname "$0")/../../build"
[ ! -f full ] || ! grep KILLED "$1/linux/mm/c.c"
"""
VANILLA = """#!/bin/sh
cd "$(dirname "$0")/../../build"
rm -rf "7.3-$2"
mkdir "7.3-$2"
cp -r 7.3/linux "7.3-$2/"
"""
HARMLESS = ("a\tmm/c.c\tkselftest -c x86_64-nohz -f some_test x86_64-qemu\t"
            "s{good}{harmless}\tb\tno CPU\n")
PATCH = "--- a/mm/c.c\n+++ b/mm/c.c\n@@ -1 +1 @@\n-bad\n+good\n"
FILES = {
    ".gitignore": "build/\n",
    "NEWS": "Traps 1\n",
    "build/7.3/linux/mm/c.c": "good\n",
    "ci/checks/kselftest": CHECK,
    "ci/checks/trapstat": CHECK,
    "ci/kernel/build": BUILD,
    "ci/kernel/regenerate": "#!/bin/sh\n",
    "ci/kernel/vanilla": VANILLA,
    "ci/mutants/mutants.tsv": LIST,
    "patches/7.3/mm/0001-c.patch": PATCH,
    "patches/7.3/series": "mm/0001-c.patch\n",
    "tools/trapstat/a.c": "good\n",
    "tools/trapstat/b.c": "good\n",
}


class Tests(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in FILES.items():
            self.write(name, text)
        for name in ("ci/lib.sh", "ci/mutants/run"):
            shutil.copy(ROOT / name, self.root / name)
        self.git("init", "-q")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
                       check=True, cwd=self.root, stdout=subprocess.DEVNULL)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "c")

    def mutants(self, *arguments, status=0, **environment):
        env = {name: text for name, text in os.environ.items()
               if name not in ("KERNEL", "SINCE", "ALL")}
        done = subprocess.run([self.root / "ci/mutants/run", *arguments], text=True,
                              env=env | environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual(status, done.returncode, done.stdout)
        return done.stdout

    def test_all(self):
        said = self.mutants()
        self.assertIn("survives: survivor: two (equivalent)\n3 defects, 2 are killed\n", said)

    def test_no_reason(self):
        self.write("ci/mutants/mutants.tsv", LIST.replace("\tequivalent", ""))
        self.assertIn("survives: survivor: two\n", self.mutants(status=1))

    def test_killed_in_spite_of_a_reason(self):
        self.write("ci/mutants/mutants.tsv", LIST.replace("three", "three\tno CPU"))
        self.assertIn("in spite of a reason: kernel: a check fails", self.mutants(status=1))

    def test_since(self):
        self.assertIn("\n0 defects", self.mutants(SINCE="HEAD"))
        self.write("tools/trapstat/b.c", "good enough\n")
        self.assertIn("\n1 defects, 0 are killed", self.mutants(SINCE="HEAD"))
        self.commit()
        self.write("patches/7.3/mm/0001-c.patch", "new\n" + PATCH)
        self.assertIn("\n1 defects, 1 are killed", self.mutants(SINCE="HEAD"))
        self.assertIn("\n2 defects, 1 are killed", self.mutants(SINCE="HEAD~", ALL="1"))

    def test_goes_on(self):
        self.write("build/full", "")
        self.mutants("killed", "kernel", status=1)
        (self.root / "build/full").unlink()
        said = self.mutants("killed", "kernel")
        self.assertIn("goes on with what is in build/mutants/", said)
        self.assertNotIn("  killed ", said)
        self.assertIn("\n2 defects, 2 are killed", said)
        self.assertNotIn("goes on", self.mutants("killed", "kernel"))

    def test_goes_on_not_on_another_tree(self):
        self.write("build/full", "")
        self.mutants("killed", "kernel", status=1)
        self.write("tools/trapstat/b.c", "good enough\n")
        self.assertNotIn("goes on", self.mutants("killed", "kernel", status=1))
        self.commit()
        self.assertNotIn("goes on", self.mutants("killed", "kernel", status=1))

    def test_fails_without(self):
        self.write("tools/trapstat/d.c", "KILLED\n")
        self.assertIn("without a defect: trapstat -p cases failed",
                      self.mutants("killed", status=1))
        (self.root / "tools/trapstat/d.c").unlink()
        self.mutants("killed")
        self.write("ci/checks/trapstat", "#!/bin/sh\n[ $1 = -p ] || { echo no; exit 1; }\n")
        self.assertIn("without a defect: trapstat -f cases failed",
                      self.mutants("killed", status=1))

    def test_fails_once(self):
        self.write("ci/mutants/mutants.tsv", HARMLESS)
        self.write("ci/checks/kselftest", '#!/bin/sh\ncd "${0%/*}/../../build"\n'
                   "! grep -q harmless $KERNEL/linux/mm/c.c || [ $2 != 150 ] ||\n"
                   "{ echo 'a check fails'; exit 1; }\n")
        self.assertIn("\n1 defects, 0 are killed", self.mutants())

    def test_cannot_run(self):
        self.write("ci/checks/kselftest", "#!/bin/sh\necho 'skipped: no Bochs'\nexit 4\n")
        self.assertIn("kernel is left out: skipped: no Bochs", self.mutants("kernel"))

    def test_emulator_failed(self):
        self.mutants("killed")
        self.write("ci/checks/trapstat", "#!/bin/sh\n! grep -q KILLED "
                   '"${0%/*}/../../tools/trapstat/a.c" || {\n'
                   "echo 'ci/vm/run: qemu failed: no memory'\necho 'a check fails'\nexit 1\n}\n")
        self.assertIn("killed failed: ", self.mutants("killed", status=1))

    def test_limits(self):
        self.write("ci/mutants/mutants.tsv", HARMLESS)
        self.mutants()
        self.assertIn("kselftest -t 150 -c x86_64-nohz -p some_test x86_64-qemu\n"
                      "kselftest -t 2400 -c x86_64-nohz -f some_test x86_64-qemu\n",
                      (self.root / "build/calls").read_text())

    def test_change_fits(self):
        self.assertEqual("3 defects\n", self.mutants("--check"))
        self.write("tools/trapstat/a.c", "good good\n")
        self.assertIn("killed: the change does not match once", self.mutants("--check", status=1))
        self.write("ci/mutants/mutants.tsv", LIST.replace("mm/c.c", "mm/d.c"))
        self.write("tools/trapstat/a.c", "good\n")
        self.assertIn("kernel: mm/d.c is not ours", self.mutants("--check", status=1))
