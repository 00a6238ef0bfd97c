"""python3 -m unittest benchmarks/byteslice/tests.py: the figures of a page, and a run against programs that answer."""

import pathlib
import random
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import page  # noqa: E402 (the path has to be set first)
import run  # noqa: E402


class Page(unittest.TestCase):
    def test_level_means_that_intervals_overlap(self):
        self.assertEqual(page.verdict([1.0] * 6, [2.0] * 6), "×2.00")
        self.assertEqual(page.verdict([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [1.4, 1.5, 1.6, 1.7, 1.8, 1.9]), "×1.32, level")

    def test_a_row_has_each_instruction_set(self):
        times = {"reference": [2.0] * 6, "avx2": [1.0] * 6}
        lines = page.table([{"packing": "vbp", "width": 12, "times": times}])
        self.assertEqual(lines[0], "| packing | bits | authors | ours, avx2 | speed-up |")
        self.assertEqual(lines[2], "| vbp | 12 | 2 (2–2) | 1 (1–1) | ×2.00 |")


class Side:
    """Stands for a program: answers `count`."""

    def __init__(self, count):
        self.count = count

    def ask(self, *_):
        return [str(self.count), "1e-3"]


class Both:
    variants = ["avx2"]

    def __init__(self, ours, theirs):
        self.sides = {"avx2": Side(ours), run.REFERENCE: Side(theirs)}

    def of(self, variant):
        return self.sides[variant]


class Rounds(unittest.TestCase):
    def test_each_variant_is_measured_in_each_round(self):
        times = run.rounds(Both(5, 5), 3, random.Random(1), ("scan", 7, 0), 1000)
        self.assertEqual({name: len(runs) for name, runs in times.items()}, {"avx2": 3, "reference": 3})
        self.assertAlmostEqual(times["avx2"][0], 1000.0)

    def test_answers_that_differ_end_the_run(self):
        with self.assertRaises(SystemExit):
            run.rounds(Both(5, 6), 1, random.Random(1), ("scan", 7, 0), 1000)


if __name__ == "__main__":
    unittest.main()
