"""What was measured, and the {...} by which texts quote it

    {kernel:setup:kind}        the number; kernel:setup:kind:mean is the mean
    {+ kernel:setup:kind}      what it costs over the vanilla kernel, nothing on
    {- A; B}  {/ A; B}         A less B; the cost of A in terms of that of B
    {% A; B}                   percent that A is more than B
    {* kernel:setup:kind}      the number, a ratio
    {queue}                    the queue that was measured
"""
import math
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent


class Results:
    """The numbers of PATHS, or those that are committed."""

    def __init__(self, *paths):
        version = os.environ.get("KERNEL", "7.3")
        self.numbers, self.queues = {}, set()
        try:
            lines = [line for path in paths or HERE.glob(f"results/{version}*.tsv")
                     for line in pathlib.Path(path).read_text().splitlines()]
        except OSError as error:
            sys.exit(f"ci/bench: {error.filename}: {error.strerror}: run make bench")
        for line in lines:
            if line.startswith("# queue of "):
                self.queues.add(line[2:])
            elif not line.startswith("#"):
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
        if field == "queue":
            return ", ".join(sorted(self.queues))
        if operator not in "+-/%*":
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
        return f"{(self.get(a) / self.get(b) - 1) * 100:.2f}"


def whole(number):
    """A half is rounded up."""
    return str(math.floor(number + 0.5))
