"""ci/checks/page.guest: the blocks of a page, and what is the same as on the page"""
import unittest

from program import load

page = load("ci/checks/page.guest")


class Blocks(unittest.TestCase):
    def test_output(self):
        self.assertEqual(page.blocks_of("# A\n\n```sh\necho a\necho b\n```\n```\na\nb\n```\n"),
                         [("A", "echo a\necho b\n", "a\nb\n")])

    def test_empty_line_between(self):
        self.assertEqual(page.blocks_of("```sh\necho a\n```\n\n```\na\n```\n"),
                         [("", "echo a\n", "a\n")])

    def test_text_between(self):
        self.assertEqual(page.blocks_of("```sh\ntrue\n```\ntext\n```\na\n```\n"),
                         [("", "true\n", "")])

    def test_language(self):
        self.assertEqual(page.blocks_of("```sh\ntrue\n```\n```c\na\n```\n```\nb\n```\n"),
                         [("", "true\n", "")])

    def test_headings(self):
        self.assertEqual(page.blocks_of("# A\n```\n# no heading\n```\n```sh\n# a comment\n```\n"
                                        "```sh\ntrue\n```\n## B\n```sh\nfalse\n```\n"),
                         [("A", "# a comment\n", ""), ("A", "true\n", ""), ("B", "false\n", "")])

    def test_no_commands(self):
        self.assertEqual(page.blocks_of("# A\n```sh\n```\n"), [("A", "", "")])


class Same(unittest.TestCase):
    def same(self, *lines):
        """All lines are the same one."""
        self.assertEqual(len(set(page.same("\n".join(lines)))), 1)

    def other(self, one, two):
        self.assertNotEqual(page.same(one), page.same(two))

    def test_ftrace(self):
        self.same(" raise-123     [000] d..1.   75.103123: trap_exit: ip=f+0x5/0x20 duration=557ns",
                  " raise-98765   [001] D.Zff  1175.103123: trap_exit: ip=f+0x15/0x30 duration=9ns")
        self.other(" raise-123     [000] d..1.   75.103123: trap_exit: vector=#GP",
                   " raise-123     [000] d..1.   75.103123: trap_exit: vector=#UD")

    def test_perf(self):
        self.same("raise   301 [000]   75.103123: traps:trap_exit: pid: 17",
                  "raise  1301 [001] 1175.003123: traps:trap_exit: pid: 4")
        self.same("  0.000 raise/301 traps:trap_exit()", " 10.500 raise/77 traps:trap_exit()")
        self.same("   7fe2 main+0x5 (/usr/bin/raise)", "   556a0 main+0x75 (/usr/bin/raise)")

    def test_flags(self):
        self.same("flags=0", "flags=PREEMPTED", "flags=MIGRATED", "flags=PREEMPTED|MIGRATED")
        self.same("flags=NESTED x", "flags=PREEMPTED|NESTED x", "flags=NESTED|MIGRATED x")
        self.same("#PF", "#PF PREEMPTED", "#PF PREEMPTED MIGRATED")
        self.other("flags=0", "flags=NESTED")

    def test_offsets(self):
        self.same("ip=main+0x5/0x20", "ip=main+0x15/0x30")
        self.same("    main+5", "    main+75")
        self.other("    main+5", "    sub+5")

    def test_pids(self):
        self.same("raise    12 SIGSEGV", "raise 4711 SIGSEGV")
        self.same("comm: raise [        12]", "comm: raise [      4711]")
        self.same("next_pid=12", "next_pid=4711")

    def test_numbers(self):
        self.same("0x7ffe12345678", "0x55d0a0000010")
        self.same("{ duration: ~ 2^9 }", "{ duration: ~ 2^12 }")
        self.same("duration: 12 max: 3", "duration: 9999 max: 4")
        self.same("@max[raise]: 12", "@max[raise]: 4711")
        self.same("a;main;PF 12", "a;main;PF 13")
        self.same("37 samples, 1.5 ms", "400 samples, 22.75 ms")
        self.same("10000 bytes", "123456 bytes")
        self.other("0x10", "0x20")
        self.other("1000 bytes", "2000 bytes")

    def test_histogram(self):
        self.same("[4, 8)          12 |@@@     |\n[8K, 16K)   1 |@|\nend", "[16, 32)  3 |@  |\nend")
        self.same("[256, 512)   12", "[1K, 2K) 12", "[0) 12")

    def test_trapnoise(self):
        self.same("  irq                  10         24.3   65.2", "  irq   7   4.0   5.2")
        self.same("  #BP (nmi)            10         24.3   65.2", "  #BP (nmi)   7   4.0   5.2")

    def test_space(self):
        self.same("a  b\tc", "", " ", " a b c ")


class Difference(unittest.TestCase):
    def test_same(self):
        self.assertEqual(page.difference("a\n\nb\n", "a\nb\n"), "")

    def test_any_lines(self):
        for expected in "...\n", "a\n...\n", "...\nc\n", "a\n...\nc\n":
            self.assertEqual(page.difference(expected, "a\nb\nc\n"), "", expected)
        self.assertEqual(page.difference("a\n...\nb\n...\n", "a\nb\n"), "")

    def test_not_on_the_page(self):
        self.assertEqual(page.difference("a\n", "a\nb\n"), "not on the page: b")
        self.assertEqual(page.difference("", "b\n"), "not on the page: b")
        self.assertEqual(page.difference("a\n...\nb\nd\n", "a\nx\nb\nc\n"), "not on the page: c")

    def test_only_on_the_page(self):
        self.assertEqual(page.difference("a\nb\n", "a\n"), "only on the page: b")
        self.assertEqual(page.difference("a\n...\nb\n", "a\nc\n"), "only on the page: b")


if __name__ == "__main__":
    unittest.main()
