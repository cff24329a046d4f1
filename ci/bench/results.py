"""What was measured: results/VERSION.tsv, and the {...} by which texts quote it

    {kernel:setup:kind}        the number; kernel:setup:kind:mean is the mean
    {+ kernel:setup:kind}      what it costs over the vanilla kernel, nothing on
    {- A; B}  {/ A; B}         A less B; the cost of A in terms of that of B
    {% A; B}                   percent that A is more than B
    {: A; B}                   A divided by B
    {* kernel:setup:kind}      the number, a ratio
"""
import math
import pathlib
import re
import sys

FIELD = re.compile(r"\{([^ }][^}]*)\}")


class Results:
    def __init__(self, path):
        self.numbers = {}
        try:
            lines = pathlib.Path(path).read_text().splitlines()
        except OSError as error:
            sys.exit(f"ci/bench: {path}: {error.strerror}: run make bench")
        for line in lines:
            if not line.startswith("#"):
                kernel, setup, kind, best, mean = line.split("\t")
                self.numbers[f"{kernel}:{setup}:{kind}"] = float(best)
                self.numbers[f"{kernel}:{setup}:{kind}:mean"] = float(mean)

    def get(self, which):
        if which not in self.numbers:
            raise KeyError(f"{which} was not measured")
        return self.numbers[which]

    def cost(self, which, base=""):
        """Over base, or with nothing on over the vanilla kernel that is made as this one is."""
        kernel, _, kind = which.split(":")[:3]
        how = kernel[len(kernel.partition("-")[0]):]
        return self.get(which) - self.get(base or f"vanilla{how}:off:{kind}")

    def value(self, field):
        """What stands for {field}."""
        operator, which = field[0], field[2:]
        if operator not in "+-/%:*":
            return whole(self.get(field))
        a, b = re.fullmatch(r"(.*?)(?:; *(.*))?", which).groups()
        if operator == "+":
            return whole(self.cost(a))
        if operator == "*":
            return f"{self.get(a):.2f}"
        if operator == "-":
            return whole(self.get(a) - self.get(b))
        if operator == "/":
            return f"{self.cost(a) / self.cost(b):.2f}"
        if operator == ":":
            return f"{self.get(a) / self.get(b):.2f}"
        return f"{(self.get(a) / self.get(b) - 1) * 100:.2f}"

    def fill(self, text):
        """The text with numbers for its fields; KeyError names one that was not measured."""
        return FIELD.sub(lambda field: self.value(field[1]), text)


def whole(number):
    """A half is rounded up."""
    return str(math.floor(number + 0.5))
