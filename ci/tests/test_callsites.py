"""ci/kernel/callsites: C in, handlers and what records them out"""
import unittest

from program import load

callsites = load("ci/kernel/callsites")

HEADER = """
#define DEFINE_IDTENTRY(func, vector)	\\
	record_trap_entry(&rec);	\\
	__##func(regs);			\\
	record_trap_exit(&rec)
#define DEFINE_IDTENTRY_SW	DEFINE_IDTENTRY
#define DEFINE_IDTENTRY_DEBUG	DEFINE_IDTENTRY_RAW
#define DEFINE_IDTENTRY_RAW(func)	__visible noinstr void func(struct pt_regs *regs)
#define DEFINE_FREDENTRY_RAW(func)	noinstr void fred_##func(struct pt_regs *regs)
#define DEFINE_IDTENTRY_NOIST(func)	noinstr void noist_##func(struct pt_regs *regs)
#define DEFINE_IDTENTRY_BEGIN(func)	record_trap_entry(&rec)
#ifdef CONFIG_X86_64
#define DEFINE_IDTENTRY_IF(func)	record_trap(func)
#else
#define DEFINE_IDTENTRY_IF(func)	void func(void)
#endif
DECLARE_IDTENTRY_RAW(0,\ta);
DECLARE_IDTENTRY_XENCB(OTHER,\tdeclared);
"""


def raw(name, *body):
    return "\n".join([f"DEFINE_IDTENTRY_RAW({name})", "{", *body, "}", ""])


def recorded_by(*sources):
    """What records each handler of the sources, without that which is only declared."""
    code = {f"{n}.c": callsites.code(text) for n, text in enumerate(sources)}
    found = {handler: by for handler, _, by in callsites.handlers_of(callsites.code(HEADER), code)}
    assert found.pop("DECLARE_IDTENTRY_XENCB(declared)") == "-"
    return found


class Handlers(unittest.TestCase):
    def test_macros(self):
        for macro, by in (("", "macro"), ("_SW", "macro"), ("_IF", "macro"), ("_RAW", "-"),
                          ("_DEBUG", "-"), ("_BEGIN", "-")):
            self.assertEqual(recorded_by(f"DEFINE_IDTENTRY{macro}(a, 0)\n{{\n}}\n"),
                             {f"DEFINE_IDTENTRY{macro}(a)": by})

    def test_body(self):
        for by, *body in (
                ("itself", "\trecord_trap(regs);"),
                ("itself", "\trecord_trap_entry(&rec);", "\trecord_trap_exit(&rec);"),
                ("-", "\trecord_trap_entry(&rec);"),
                ("-", "\tdo_not_record_trap(regs);"),
                ("-", "\t/* record_trap(regs); **/", "\t// record_trap(regs);",
                 "\t/*\n\t * record_trap(regs);\n}\n\t */"),
                ("itself", r'	pr_info("/* \"http://record_trap(regs)");',
                 """\tc = '"', record_trap(regs), c = '"';"""),
                ("-", '\tpr_info("record_trap(regs)");')):
            self.assertEqual(recorded_by(raw("a", *body)), {"DEFINE_IDTENTRY_RAW(a)": by}, body)

    def test_two_in_one_file(self):
        self.assertEqual(recorded_by("/*\n" + raw("c") + "*/\n" + raw("a") +
                                     raw("b", "\trecord_trap(regs);")),
                         {"DEFINE_IDTENTRY_RAW(a)": "-", "DEFINE_IDTENTRY_RAW(b)": "itself"})

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
""" + raw("a", "\tbetween();\n\tlast();\n\tbetween();")), {"DEFINE_IDTENTRY_RAW(a)": "first last"})

    def test_no_function_of_the_file(self):
        self.assertEqual(recorded_by(
            "static void f(void);\n" + raw("a", "\tf();") +
            "static int record[] = {\n\trecord_trap(0),\n};\n",
            "void f(void)\n{\n\trecord_trap();\n}\n"), {"DEFINE_IDTENTRY_RAW(a)": "-"})

    def test_other_handlers(self):
        found = recorded_by("static void helper(void)\n{\n\tfred_b();\n}\n" +
                            raw("a", "\tnoist_c();\n\thelper();\n\tc();\n\tnoist_c();"),
                            "DEFINE_FREDENTRY_RAW(b)\n{\n}\nDEFINE_IDTENTRY_NOIST(c)\n{\n}\n")
        self.assertEqual(found["DEFINE_IDTENTRY_RAW(a)"], "noist_c fred_b")

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
""" + raw("a", "\tf();") + "static void f(void)\n{\n}\n#endif\n"),
            {"DEFINE_IDTENTRY_NOIST(a)": "f", "DEFINE_IDTENTRY_RAW(a)": "f"})

    def test_place(self):
        text = '/*\n */\n#define A "a\\\nb"\n' + raw("a")
        (_, place, _), *_ = callsites.handlers_of(HEADER, {"a.c": callsites.code(text)})
        self.assertEqual(place, "a.c:5")


class List(unittest.TestCase):
    def test_list(self):
        for listed, handlers, *wrong in (
                ("# A comment\n\nA(x)\t\titself\nA(*)\t- not an exception\n",
                 {"A(x)": "itself", "A(y)": "-", "B(z)": "macro"}),
                ("", {"A(x)": "-"}, "a.c:1: A(x) is not recorded, and not listed with a reason"),
                ("", {"A(x)": "f"}, "a.c:1: A(x) is not listed, recorded by f"),
                ("A(x)\tf\n", {"A(x)": "g"}, "a.c:1: A(x) is recorded by g, listed is f"),
                ("A(x)\t- a reason\n", {"A(x)": "macro"},
                 "a.c:1: A(x) is recorded by macro, listed is - a reason"),
                ("A(*)\t- a reason\nA(x)\tf\n", {"A(x)": "-"}, "LIST: A(x) is not in the tree"),
                ("A(x)\t-\n", {"A(x)": "-"},
                 "LIST: A(x): neither functions nor a reason after a -")):
            found = [(handler, "a.c:1", by) for handler, by in handlers.items()]
            self.assertEqual(callsites.compare(found, callsites.listed_in(listed), "LIST"), wrong)
