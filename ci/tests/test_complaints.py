"""no_complaints of ci/lib.sh: consoles in, what it dies of out"""
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import ROOT

OOPS = ("[ 1.0] BUG: unable to handle page fault for address: 0\r\n"
        "[ 1.0] Oops: Oops: 0002 [#1] SMP\r\n[ 1.0] RIP: %s\r\n")


class Tests(unittest.TestCase):
    def said(self, console, check=""):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "console"
            if console is not None:
                path.write_text(console)
            result = subprocess.run(
                ["sh", "-euc", f'root={ROOT} self=test; . "$root/ci/lib.sh"; no_complaints "$@"',
                 "sh", path, check], text=True, stderr=subprocess.PIPE)
            self.assertEqual(result.returncode != 0, result.stderr != "")
            return result.stderr

    def test_none(self):
        self.assertEqual(self.said("[ 1.0] Linux\r\n"), "")

    def test_no_console(self):
        self.assertIn("cannot look for complaints", self.said(None))

    def test_complaints(self):
        for line in ("BUG: KASAN: use-after-free in f", "WARNING: at kernel/f.c", "UBSAN: shift",
                     "WARNING: suspicious RCU usage", "rcu: INFO: rcu_sched detected stalls",
                     "INFO: task f:1 blocked in I/O for more than 120 seconds",
                     "unchecked MSR access error: WRMSR"):
            self.assertIn(f"the kernel complains: [ 1.0] {line} (",
                          self.said(f"[ 0.1] Linux\r\n[ 1.0] {line}\r\n[ 1.1] BUG: second\r\n"))

    def test_known(self):
        warning = "WARNING: CPU: 0 at hrtimer_forward+0x1\r\n%s---[ end trace 0 ]---\r\n"
        self.assertEqual(self.said(warning % "dl_task_timer+0x1\r\n", "kselftest-f"), "")
        self.assertIn("hrtimer_forward", self.said(warning % "", "kselftest-f"))
        self.assertIn("hrtimer_forward", self.said(warning % "dl_task_timer+0x1\r\n", "f"))

    def test_data_races(self):
        race = "BUG: KCSAN: data-race in %s / g\r\n"
        self.assertEqual(self.said(race % "f"), "")
        self.assertIn("data-race in trap_exit", self.said(race % "trap_exit"))

    def test_oops_of_user_mode(self):
        self.assertEqual(self.said(OOPS % "0033:0x1", "loads-opcode"), "")
        self.assertIn("page fault", self.said(OOPS % "0010:f+0x1", "loads-opcode"))
        self.assertIn("page fault", self.said(OOPS % "0033:0x1", "loads-vm"))
