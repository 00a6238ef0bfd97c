"""python3 -m unittest benchmarks/harness/tests.py: what the benchmark says depends on these."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness import answers, machine, statistics  # noqa: E402 (the path has to be set first)


class Answers(unittest.TestCase):
    def test_numbers_agree_to_their_last_digit(self):
        self.assertTrue(answers.same("25.522005", "25.522005853257337"))
        self.assertTrue(answers.same("0.10", "0.1"))
        self.assertFalse(answers.same("25.522005", "25.522105853257337"))
        self.assertFalse(answers.same("1478493", "1478494"))
        self.assertTrue(answers.same("123456789012.3456", "123456789012.34561"))

    def test_text_agrees_but_for_padding(self):
        self.assertTrue(answers.same("Brand#12  ", "Brand#12"))
        self.assertFalse(answers.same("Brand#12", "Brand#13"))
        self.assertFalse(answers.same(None, ""))
        self.assertFalse(answers.same("1994-01-01", "1994-01-02"))

    def test_order_matters_unless_tied(self):
        left, right = [["a", "2.00"], ["b", "2.00"]], [["b", "2.0"], ["a", "2"]]
        self.assertIsNone(answers.difference(left, right, tied=True))
        self.assertIn("row 1, column 1", answers.difference(left, right, tied=False))
        self.assertIn("2 rows expected", answers.difference(left, right[:1], tied=True))


class Figures(unittest.TestCase):
    def test_interval_is_the_narrowest_that_is_sure_enough(self):
        nine = [9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
        low, high, coverage = statistics.interval(nine)
        self.assertEqual((low, high), (2.0, 8.0))
        self.assertAlmostEqual(coverage, 1 - 2 * (1 + 9) / 512)
        self.assertEqual(statistics.interval([1.0, 2.0, 3.0]), (1.0, 3.0, 0.75))
        self.assertEqual(statistics.interval([1.0]), (1.0, 1.0, 0.0))

    def test_means(self):
        self.assertEqual(statistics.median([4.0, 1.0, 2.0, 3.0]), 2.5)
        self.assertAlmostEqual(statistics.geometric_mean([2.0, 8.0]), 4.0)

    def test_names_are_fit_for_a_folder(self):
        facts = {"processor": "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "threads": 4}
        self.assertEqual(machine.name(facts), "intel-xeon-e5-2680-4threads")


if __name__ == "__main__":
    unittest.main()
