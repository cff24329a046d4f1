"""ci/coverage/report: logs in, cells and sections of the page out"""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from program import load

report = load("ci/coverage/report")


def read(*lines):
    return report.read_logs(["\n".join(lines)])


class Tests(unittest.TestCase):
    def test_double_fault_missing(self):
        with tempfile.TemporaryDirectory() as logs, mock.patch.object(report, "LOGS", Path(logs)):
            (Path(logs) / "kselftest-i386-bochs.log").write_text("tests")
            self.assertEqual(report.logs_of("i386-bochs"), [])
            (Path(logs) / "ci-doublefault-i386-bochs.log").write_text("doublefault")
            self.assertEqual(report.logs_of("i386-bochs"), ["tests", "doublefault"])

    def test_mode_and_vector(self):
        for test, program, cell in (
                ("trap.gp_umip.recorded", "trap_test", ("user", "#GP")),
                ("trap.de.recorded", "trap_test_32", ("user32", "#DE")),
                ("trap.old_mf.recorded", "trap_test", ("user", "OLD_MF")),
                ("kernel.nm.recorded", "kernel_test_32", ("kernel", "#NM")),
                ("kernel_pf.spurious.recorded", "kernel_test", ("kernel", "#PF")),
                ("fault.read_absent.recorded", "memory_test", ("user", "#PF")),
                ("fault.kernel_read.recorded", "memory_test", ("kernel", "#PF")),
                ("several.swapped.recorded", "system_test", ("user", "#PF")),
                ("nmi.user.recorded", "nmi_test", ("user", "NMI")),
                ("nmi.kernel.recorded", "nmi_test", ("kernel", "NMI")),
                ("double_fault.kernel_df", "", ("kernel", "#DF")),
                ("handler.vc_cpuid.recorded", "coco_test_32", ("user32", "#VC")),
                ("handler.kernel_ve_cpuid.recorded", "coco_test", ("kernel", "#VE")),
                ("trap.sys64_midr.recorded", "vectors_arm64_test", ("user", "SYS64")),
                ("trap.pc_align.recorded", "vectors_arm64_test", ("user", "PC_ALIGN")),
                ("trap.kernel_watchpt_cur.recorded", "vectors_arm64_test",
                 ("kernel", "WATCHPT_CUR")),
                ("aarch32.bkpt32.recorded", "aarch32_test", ("user32", "BKPT32")),
                ("aarch32.pf_read.recorded", "aarch32_test", ("user32", "#PF")),
                ("bp_in_pf.recorded", "nested_test", None),
                ("perf record: filter", "tools_test", None)):
            with self.subTest(test):
                self.assertEqual(report.raised_by(test, program), cell)

    def test_no_vector(self):
        with self.assertRaisesRegex(ValueError, "no vector is known for trap.xy.recorded"):
            report.raised_by("trap.xy.recorded", "trap_test")


class Logs(unittest.TestCase):
    def test_passed(self):
        passed, skipped = read("# test traps:trap_test_32", "ok 1 trap.de.a", "ok 2 trap.de.b",
                               "# test traps:trap_test", "ok 1 trap.de.a", "ok 2 other.b")
        self.assertEqual(passed, {("user32", "#DE"), ("user", "#DE")})
        self.assertEqual(skipped, {})

    def test_program_of_another_log(self):
        passed, _ = report.read_logs(["# test traps:trap_test_32\n", "ok 1 trap.de.a\n"])
        self.assertEqual(passed, {("user", "#DE")})

    def test_skipped(self):
        passed, skipped = read("# a:1:b:result MINOR", "ok 1 trap.ac.a # SKIP no CPU checks it",
                               "ok 2 other.kmmio # SKIP lockdep")
        self.assertEqual(passed, set())
        self.assertEqual(skipped, {("user", "#AC"): "no CPU checks it"})

    def test_failed(self):
        with self.assertRaisesRegex(ValueError, "fault.read.recorded failed"):
            read("not ok 1 fault.read.recorded")

    def test_results(self):
        passed, _ = read("# a.h:1:b:result MINOR", "# a.h:1:b:result MINOR",
                         "# a.h:1:b:result MAJOR", "ok 1 other.a",
                         "# a text with result OOM", "# a.h:1:b:result OOM or so", "ok 2 other.b",
                         "# a.h:1:b:result MINOR", "ok 3 other.c")
        self.assertEqual(passed, {("result", "MINOR"), ("result", "MAJOR")})


class Cells(unittest.TestCase):
    impossible = report.impossible_for("here-a", "# A comment\n"
                                       "*\tuser,user32\t#DB,#DF\tcannot\n"
                                       "there\tuser\t#AC\tthere only\n"
                                       "*\t*\t#MC\tnot recorded\n"
                                       "here\tuser\t*\tnot of here-a\n"
                                       "here-*\tuser\t*\tflaky\n")

    def says(self, mode, vector, passed=(), skipped=()):
        return report.says((mode, vector), passed, dict(skipped), self.impossible)

    def test_what_counts(self):
        df, passed = ("kernel", "#DF"), {("kernel", "#DF")}
        self.assertEqual(self.says(*df, passed), "passed")
        self.assertEqual(self.says(*df, passed, {df: "no CPU"}), "passed")
        self.assertEqual(self.says("user", "#DF", (), {("user", "#DF"): "no CPU"}), "no CPU")
        # the first line that fits
        self.assertEqual(self.says("user", "#DF"), "cannot")
        self.assertEqual(self.says("user", "#AC"), "flaky")
        self.assertEqual(self.says("kernel", "#MC"), "not recorded")

    def test_neither(self):
        with self.assertRaisesRegex(ValueError, "#AC: kernel: no test and no reason"):
            self.says("kernel", "#AC")

    def test_both(self):
        with self.assertRaisesRegex(ValueError, "#AC: user: passed, and impossible says: flaky"):
            self.says("user", "#AC", {("user", "#AC")})


class Page(unittest.TestCase):
    def test_machine(self):
        for line, name in (
                ("QEMU emulator version 7.2.22 (Debian 1:7.2+d), tcg, CPU max; Linux 7.3.4 i686",
                 "QEMU 7.2, tcg, CPU max; Linux 7.3 i686"),
                ("Bochs 3.0+dfsg-1, CPU corei7_skylake_x; Linux 7.3 i686",
                 "Bochs 3.0, CPU corei7_skylake_x; Linux 7.3 i686")):
            self.assertEqual(report.machine_of(f"built\n# machine: {line}\nok 1 trap.de\n"), name)

    def test_section(self):
        log = "# machine: Bochs 3.0, CPU x; Linux 7.3 i686\n# a:1:b:result MAJOR\nok 1 trap.db.a\n"
        rest = [("user", vector) for vector in report.VECTORS.values() if vector != "#DB"]
        rest += [("result", result) for result in report.RESULTS if result != "MAJOR"]
        impossible = "".join(f"*\t{mode}\t{what}\tno\n" for mode, what in [("kernel", "*"), *rest])
        lines = report.section("i386-bochs", [log], impossible).splitlines()
        self.assertEqual(lines[:6], ["## Bochs 3.0, CPU x; Linux 7.3 i686", "",
                                     "| vector | | program | kernel |", "| --- | --- | --- | --- |",
                                     "| 0 | #DE | no | no |", "| 1 | #DB | passed | no |"])
        self.assertEqual(lines[28:32], ["", "Ended with MAJOR.", "", "- MINOR: no"])
        self.assertEqual(len(lines), 51)

    def test_stand_in(self):
        log = "# machine: Q; Linux 7.3 x86_64\n"
        for program, mode in ("coco_test", ""), ("coco_test_32", ""), ("coco_test", "kernel_"):
            for name in "ve_a", "vc_a":
                log += f"# test i:{program}\n# a:1:b:result FIXUP\nok 1 handler.{mode}{name}.x\n"
        lines = report.section("x86_64-qemu-coco", [log], "*\t*\t*\tno\n").splitlines()
        self.assertEqual(lines[0], "## Q; Linux 7.3 x86_64; a module stands in for the CPU")
        self.assertEqual(lines[4:], ["| 20 | #VE | passed | passed | passed |",
                                     "| 29 | #VC | passed | passed | passed |", "",
                                     "Ended with FIXUP."])

    def test_compare(self):
        page = "# Page\n\n## A\n\none\n\n## A B\n\ntwo\n"
        report.compare("## A\n\none\n", page)
        report.compare("## A B\n\ntwo\n", page)
        for new in "## A\n\ntwo\n", "## C\n\none\n":
            with contextlib.redirect_stdout(io.StringIO()), \
                    self.assertRaisesRegex(SystemExit, "coverage.md is stale for"):
                report.compare(new, page)
