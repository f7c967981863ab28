# SPDX-License-Identifier: Apache-2.0
"""The programs of python/README.md run as they are there."""
import os
import re
import unittest

import ranks

PAGE = os.path.join(ranks.PYTHON, "README.md")


def programs():
    with open(PAGE, encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```$", file.read(), re.DOTALL | re.MULTILINE)


def program(number):
    exec(compile(programs()[int(number)], f"{PAGE}, program {number}", "exec"), {"__name__": "__main__"})


@unittest.skipIf(ranks.lacks("numpy", "python3-numpy"), "no numpy")
class Page(unittest.TestCase):
    def test_programs(self):
        outputs = [ranks.run(self, __file__, "program", 2, str(number)) for number in range(len(programs()))]
        self.assertEqual(outputs[0][1], "1 [1. 1. 1. 1.] [1. 1. 1. 1.]\n")
        with open(PAGE, encoding="utf-8") as file:
            self.assertIn("    " + outputs[2][0].splitlines()[0] + "\n", file.read())


if __name__ == "__main__":
    ranks.main(globals())
