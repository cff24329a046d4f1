"""ci/kernel/callsites: C in, handlers and what records them out"""
import unittest

from program import load

callsites = load("ci/kernel/callsites")

HEADER = """
#define DEFINE_IDTENTRY(func, vector)	\\
	trap_begin(&rec);		\\
	__##func(regs);			\\
	trap_end(&rec)
#define DEFINE_IDTENTRY_SW	DEFINE_IDTENTRY
#define DEFINE_IDTENTRY_DEBUG	DEFINE_IDTENTRY_RAW
#define DEFINE_IDTENTRY_RAW(func)	__visible noinstr void func(struct pt_regs *regs)
#define DEFINE_FREDENTRY_RAW(func)	noinstr void fred_##func(struct pt_regs *regs)
#define DEFINE_IDTENTRY_NOIST(func)	noinstr void noist_##func(struct pt_regs *regs)
"""


def recorded_by(*sources, header=HEADER):
    """What records each handler of the sources, or of the header."""
    code = {f"{n}.c": callsites.code(text) for n, text in enumerate(sources)}
    return {handler: by for handler, _, by in callsites.handlers_of(callsites.code(header), code)}


class Macros(unittest.TestCase):
    def test_records(self):
        self.assertEqual(recorded_by("DEFINE_IDTENTRY(a, 0)\n{\n}\n"),
                         {"DEFINE_IDTENTRY(a)": "macro"})

    def test_made_of_one_that_records(self):
        self.assertEqual(recorded_by("DEFINE_IDTENTRY_SW(a, 0)\n{\n}\n"),
                         {"DEFINE_IDTENTRY_SW(a)": "macro"})

    def test_named_like_one_that_records(self):
        self.assertEqual(recorded_by("DEFINE_IDTENTRY_RAW(a)\n{\n}\n",
                                     "DEFINE_IDTENTRY_DEBUG(a)\n{\n}\n"),
                         {"DEFINE_IDTENTRY_RAW(a)": "-", "DEFINE_IDTENTRY_DEBUG(a)": "-"})

    def test_records_the_entry_only(self):
        header = "#define DEFINE_IDTENTRY(func) trap_begin(&rec)\n"
        self.assertEqual(recorded_by("DEFINE_IDTENTRY(a)\n{\n}\n", header=header),
                         {"DEFINE_IDTENTRY(a)": "-"})

    def test_one_of_two_records(self):
        header = """
#ifdef CONFIG_X86_64
#define DEFINE_IDTENTRY(func) record_trap(func)
#else
#define DEFINE_IDTENTRY(func) void func(void)
#endif
"""
        self.assertEqual(recorded_by("DEFINE_IDTENTRY(a)\n{\n}\n", header=header),
                         {"DEFINE_IDTENTRY(a)": "macro"})

    def test_declared_only(self):
        header = HEADER + "DECLARE_IDTENTRY_RAW(0,\ta);\nDECLARE_IDTENTRY_XENCB(OTHER,\tb);\n"
        self.assertEqual(recorded_by("DEFINE_IDTENTRY_RAW(a)\n{\n}\n", header=header),
                         {"DEFINE_IDTENTRY_RAW(a)": "-", "DECLARE_IDTENTRY_XENCB(b)": "-"})


class Calls(unittest.TestCase):
    def test_itself(self):
        self.assertEqual(recorded_by("DEFINE_IDTENTRY_RAW(a)\n{\n\trecord_trap(regs);\n}\n"),
                         {"DEFINE_IDTENTRY_RAW(a)": "itself"})

    def test_both_ends(self):
        both = "DEFINE_IDTENTRY_RAW(a)\n{\n\ttrap_begin(&rec);\n\ttrap_end(&rec);\n}\n"
        one = "DEFINE_IDTENTRY_RAW(b)\n{\n\ttrap_begin(&rec);\n}\n"
        self.assertEqual(recorded_by(both, one),
                         {"DEFINE_IDTENTRY_RAW(a)": "itself", "DEFINE_IDTENTRY_RAW(b)": "-"})

    def test_name_that_ends_so(self):
        self.assertEqual(recorded_by("DEFINE_IDTENTRY_RAW(a)\n{\n\tdo_not_record_trap(regs);\n}\n"),
                         {"DEFINE_IDTENTRY_RAW(a)": "-"})

    def test_functions_of_the_file_in_their_order(self):
        self.assertEqual(recorded_by("""
static void last(void)
{
	record_trap(regs);
}

static noinline bool
first(struct pt_regs *regs,
      int n)
{
	record_page_fault(regs);
}

static void between(void)
{
	if (n)
		first (regs, 1);
	between();
}

DEFINE_IDTENTRY_RAW(a)
{
	between();
	last();
	between();
}
"""), {"DEFINE_IDTENTRY_RAW(a)": "first last"})

    def test_function_of_another_file(self):
        self.assertEqual(recorded_by("DEFINE_IDTENTRY_RAW(a)\n{\n\tf();\n}\n",
                                     "void f(void)\n{\n\trecord_trap();\n}\n"),
                         {"DEFINE_IDTENTRY_RAW(a)": "-"})

    def test_declaration_is_no_body(self):
        self.assertEqual(recorded_by("""
static void f(void);
DEFINE_IDTENTRY_RAW(a)
{
	f();
}
static int record[] = {
	record_trap(0),
};
"""), {"DEFINE_IDTENTRY_RAW(a)": "-"})

    def test_two_handlers_in_one_file(self):
        self.assertEqual(recorded_by("""
DEFINE_IDTENTRY_RAW(a)
{
}
DEFINE_IDTENTRY_RAW(b)
{
	record_trap(regs);
}
"""), {"DEFINE_IDTENTRY_RAW(a)": "-", "DEFINE_IDTENTRY_RAW(b)": "itself"})

    def test_other_handlers(self):
        found = recorded_by("""
static void helper(void)
{
	fred_b();
}
DEFINE_IDTENTRY_RAW(a)
{
	noist_c();
	helper();
	c();
	noist_c();
}
""", "DEFINE_FREDENTRY_RAW(b)\n{\n}\nDEFINE_IDTENTRY_NOIST(c)\n{\n}\n")
        self.assertEqual(found["DEFINE_IDTENTRY_RAW(a)"], "noist_c fred_b")


class Text(unittest.TestCase):
    def test_comments(self):
        self.assertEqual(recorded_by("""
DEFINE_IDTENTRY_RAW(a)
{
	/* record_trap(regs); **/
	// record_trap(regs);
	/*
	 * record_trap(regs);
}
	 */
}
/*
DEFINE_IDTENTRY_RAW(b)
{
}
*/
"""), {"DEFINE_IDTENTRY_RAW(a)": "-"})

    def test_strings(self):
        self.assertEqual(recorded_by(r"""
DEFINE_IDTENTRY_RAW(a)
{
	pr_info("/* \"http://record_trap(regs)");
	c = '"', record_trap(regs), c = '"';
}
DEFINE_IDTENTRY_RAW(b)
{
	pr_info("record_trap(regs)");
}
"""), {"DEFINE_IDTENTRY_RAW(a)": "itself", "DEFINE_IDTENTRY_RAW(b)": "-"})

    def test_ifdef(self):
        self.assertEqual(recorded_by("""
#ifdef CONFIG_X86_64
DEFINE_IDTENTRY_NOIST(a)
{
	f();
}
#ifdef CONFIG_SMP
static void f(int cpu)
#else
static void f(void)
#endif
{
	record_trap(regs);
}
#else
DEFINE_IDTENTRY_RAW(a)
{
	f();
}
static void f(void)
{
}
#endif
"""), {"DEFINE_IDTENTRY_NOIST(a)": "f", "DEFINE_IDTENTRY_RAW(a)": "f"})

    def test_place(self):
        text = "/*\n */\n#define A \"a\\\nb\"\nDEFINE_IDTENTRY_RAW(a)\n{\n}\n"
        (_, place, _), = callsites.handlers_of(HEADER, {"a.c": callsites.code(text)})
        self.assertEqual(place, "a.c:5")


class List(unittest.TestCase):
    def wrong(self, listed, *handlers):
        """What is wrong with handlers of the file "a.c:1"."""
        handlers = [(handler, "a.c:1", by) for handler, by in handlers]
        return callsites.compare(handlers, callsites.listed_in(listed), "LIST")

    def test_right(self):
        self.assertEqual(self.wrong("# A comment\n\nA(x)\t\titself\nA(*)\t- not an exception\n",
                                    ("A(x)", "itself"), ("A(y)", "-"), ("B(z)", "macro")), [])

    def test_not_recorded(self):
        self.assertEqual(self.wrong("", ("A(x)", "-")),
                         ["a.c:1: A(x) is not recorded, and not listed with a reason"])

    def test_not_listed(self):
        self.assertEqual(self.wrong("", ("A(x)", "f")),
                         ["a.c:1: A(x) is not listed, recorded by f"])

    def test_recorded_by_another(self):
        self.assertEqual(self.wrong("A(x)\tf\n", ("A(x)", "g")),
                         ["a.c:1: A(x) is recorded by g, listed is f"])

    def test_recorded_in_spite_of_a_reason(self):
        self.assertEqual(self.wrong("A(x)\t- a reason\n", ("A(x)", "macro")),
                         ["a.c:1: A(x) is recorded by macro, listed is - a reason"])

    def test_first_line_that_fits(self):
        self.assertEqual(self.wrong("A(*)\t- a reason\nA(x)\tf\n", ("A(x)", "-")),
                         ["LIST: A(x) is not in the tree"])

    def test_no_reason(self):
        self.assertEqual(self.wrong("A(x)\t-\n", ("A(x)", "-")),
                         ["LIST: A(x): neither functions nor a reason after a -"])


if __name__ == "__main__":
    unittest.main()
