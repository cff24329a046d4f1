"""tools/lastboot: what was read is kept or named, however it ends"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# lastboot with another tracefs and another /proc, and what is to happen before a CPU is read
PROGRAM = """
import os, pathlib, sys
from program import load
lastboot = load("tools/lastboot/lastboot")
root = pathlib.Path(sys.argv.pop(1))
lastboot.TRACING = root / "tracing"
lastboot.Path = lambda name: root / name[1:] if name.startswith("/proc/") else pathlib.Path(name)
save = lastboot.save
lastboot.save = lambda *args: os.system(os.environ["READING"]) or save(*args)
lastboot.main()
"""
TRACE_CMD = """#!/bin/sh
case $* in *' -i '*) eval "$LAST" ;; *) eval "$FIRST" ;; esac
while [ "$1" != -o ]; do shift; done
echo written >"$2"
"""
FILES = {
    "bin/trace-cmd": TRACE_CMD,
    "out/other": "",
    "proc/kallsyms": "ffffffff81000000 T _text\nffffffffc0000000 t f [mod]\n",
    "proc/modules": "mod 4096 0 - Live 0xffffffffc0000000\n",
    "tracing/instances/last/last_boot_info": "ffffffff82000000 [kernel]\nffffffffc0001000 mod\n",
    "tracing/instances/last/per_cpu/cpu0/trace_pipe_raw": "a page",
    "tracing/instances/last/trace": "",
}


class Lastboot(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.output = self.root / "out" / "trace.dat"
        for name, text in FILES.items():
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (self.root / "bin/trace-cmd").chmod(0o755)

    def run_it(self, first="", reading="", last=""):
        """The exit status, what it says, and the directories that it leaves."""
        done = subprocess.run([sys.executable, "-c", PROGRAM, self.root, "-o", self.output, "last"],
                              cwd=Path(__file__).parent, text=True, stderr=subprocess.PIPE,
                              env={"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
                                   "PYTHONDONTWRITEBYTECODE": "1",
                                   "FIRST": first, "READING": reading, "LAST": last})
        return done.returncode, done.stderr, list(self.output.parent.glob("lastboot-*"))

    def expect_kept(self, status, said, **when):
        """What was read is kept, and where it is is said first."""
        code, text, (work,) = self.run_it(**when)
        self.assertEqual((work / "cpu0").read_text(), "a page")
        self.assertEqual((code, text), (status, f"lastboot: what was read is in {work}\n{said}"))

    def test_writes(self):
        self.assertEqual(self.run_it(), (0, "", []))
        self.assertEqual(self.output.read_text(), "written\n")
        (self.root / "proc/modules").unlink()
        self.assertEqual(self.run_it(), (0, "", []))

    def test_addresses_are_hidden(self):
        (self.root / "proc/kallsyms").write_text("0000000000000000 T _text\n")
        self.assertEqual(self.run_it(), (1, "lastboot: /proc/kallsyms shows no addresses: "
                                            "set kernel.kptr_restrict to 1\n", []))

    def test_fails_at_first(self):
        self.assertEqual(self.run_it(first="echo no; exit 1"),
                         (1, "lastboot: trace-cmd restore: no\n", []))
        self.assertEqual(self.run_it(first="kill -TERM $PPID; sleep 1"), (143, "", []))

    def test_ends_while_it_reads(self):
        self.expect_kept(143, "", reading="kill -TERM $PPID")

    def test_fails_at_last(self):
        self.expect_kept(1, "lastboot: trace-cmd restore: no\n", last="echo no; exit 1")

    def test_ends_at_last(self):
        for number, name in (143, "TERM"), (129, "HUP"), (130, "INT"):
            self.setUp()
            self.expect_kept(number, "", last=f"kill -{name} $PPID; sleep 1")
