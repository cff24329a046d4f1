"""ci/checks/page.guest: the blocks of a page, and what is not the same as on the page"""
import unittest

from program import load

page = load("ci/checks/page.guest")


class Page(unittest.TestCase):
    def test_blocks(self):
        for text, *blocks in (
                ("# A\n\n```sh\necho a\necho b\n```\n```\na\nb\n```\n",
                 ("A", "echo a\necho b\n", "a\nb\n")),
                ("```sh\necho a\n```\n\n```\na\n```\n", ("", "echo a\n", "a\n")),
                ("```sh\ntrue\n```\ntext\n```\na\n```\n", ("", "true\n", "")),
                ("```sh\ntrue\n```\n```c\na\n```\n```\nb\n```\n", ("", "true\n", "")),
                ("# A\n```\n# no heading\n```\n```sh\n# a comment\n```\n"
                 "```sh\ntrue\n```\n## B\n```sh\n```\n",
                 ("A", "# a comment\n", ""), ("A", "true\n", ""), ("B", "", ""))):
            self.assertEqual(page.blocks_of(text), blocks)

    # That what differs from run to run is the same, the pages themselves show.
    def test_not_the_same(self):
        for one, two in (
                (" raise-1 [000] d..1. 75.103123: trap_exit: vector=#GP",
                 " raise-1 [000] d..1. 75.103123: trap_exit: vector=#UD"),
                ("flags=0", "flags=NESTED"), ("flags=PREEMPTED|NESTED", "flags=MIGRATED"),
                ("    main+5", "    sub+5"), ("0x10", "0x20"), ("1000 bytes", "2000 bytes"),
                ("raise 12 SIGSEGV", "raise 12 SIGBUS"), ("a;main;PF 12", "a;sub;PF 12"),
                ("@max[raise]: 1", "@max[cat]: 1"), ("a b", "ab")):
            self.assertNotEqual(page.same(one), page.same(two))

    def test_flags(self):
        for flags in "PREEMPTED", "MIGRATED", "PREEMPTED|MIGRATED":
            self.assertEqual(page.same(f"flags={flags}"), ["flags=0"])
            self.assertEqual(page.same(f"flags={flags}|NESTED"), ["flags=NESTED"])

    def test_difference(self):
        for expected, printed, said in (
                ("a\n\nb\n", "a\nb\n", ""),
                ("...\n", "a\nb\n", ""), ("a\n...\n", "a\nb\n", ""), ("...\nb\n", "a\nb\n", ""),
                ("a\n...\nb\n...\n", "a\nb\n", ""),
                ("a\n", "a\nb\n", "not on the page: b"), ("", "b\n", "not on the page: b"),
                ("a\n...\nb\nd\n", "a\nx\nb\nc\n", "not on the page: c"),
                ("a\nb\n", "a\n", "only on the page: b"),
                ("a\n...\nb\n", "a\nc\n", "only on the page: b")):
            self.assertEqual(page.difference(expected, printed), said)
