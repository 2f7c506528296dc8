#!/usr/bin/env python3
"""Scores of hand-made traces on a hand-made recording, worked out apart from search/replay and in other ways: exact
combinatorics for random search, the min-max formula for the isotonic regression.

    python make_replay_scores.py     # writes replay/, needs numpy only; takes a second
"""

import json
import math
import pathlib
from fractions import Fraction

import numpy as np

OUT = pathlib.Path(__file__).parent / "replay"
POINTS = 500


def make_space():
    """tile 1..6, unroll 0/1/2, pad 0/1 with conditions."""
    t1 = {
        "General": {"BenchmarkName": "small"},
        "ConfigurationSpace": {
            "TuningParameters": [
                {"Name": "tile", "Type": "int", "Values": "[1, 2, 3, 4, 5, 6]", "Default": 1},
                {"Name": "unroll", "Type": "int", "Values": "[0, 1, 2]", "Default": 0},
                {"Name": "pad", "Type": "int", "Values": "[0, 1]", "Default": 0},
            ],
            "Conditions": [{"Expression": "pad == 0 or tile % 2 == 0", "Parameters": ["pad", "tile"]},
                           {"Expression": "unroll < 2 or tile != 5", "Parameters": ["unroll", "tile"]}],
        },
        "KernelSpecification": {"Language": "HIP", "KernelName": "small", "KernelFile": "", "GlobalSize": {"X": "1"},
                                "LocalSize": {"X": "1"}},
    }
    random = np.random.default_rng(7)
    results = []
    for tile in range(1, 7):
        for unroll in range(3):
            for pad in range(2):
                if not (pad == 0 or tile % 2 == 0) or not (unroll < 2 or tile != 5):
                    continue
                value = round(1 + abs(tile - 4) * 0.7 + (unroll - 1) ** 2 * 0.3 + pad * 0.2 + random.random() * 0.05, 4)
                failed = (tile, unroll) == (6, 2) or (tile, unroll, pad) == (1, 1, 0)
                times = {"compilation": round(300 + 100 * unroll + 50 * random.random(), 3), "framework": 1.5,
                         "search_algorithm": 0, "validation": 20.0}
                if not failed:
                    times["runtimes"] = [round(value * (1 + 0.02 * (random.random() - 0.5)), 5) for _ in range(8)]
                results.append({
                    "timestamp": "2026-01-01 00:00:00+00:00",
                    "configuration": {"tile": tile, "unroll": unroll, "pad": pad},
                    "times": times,
                    "invalidity": "compile" if failed else "correct",
                    "correctness": 0 if failed else 1,
                    "measurements": [{"name": "time", "value": "CompilationFailedConfig" if failed else value, "unit": ""}],
                    "objectives": ["time"],
                })
    return t1, {"metadata": {"timeunit": "miliseconds"}, "results": results, "schema_version": "1.0.0"}


def cost_s(result):
    times = result["times"]
    return (times["compilation"] + times["framework"] + times["validation"] + sum(times.get("runtimes", []))) / 1000


class Space:
    def __init__(self, t4):
        results = t4["results"]
        self.size = len(results)
        self.values = sorted(r["measurements"][0]["value"] for r in results if r["invalidity"] == "correct")
        self.optimum, self.median = self.values[0], float(np.median(self.values))
        self.mean_cost = float(np.mean([cost_s(r) for r in results]))
        self.start, self.evaluations = self.reached(0.01), self.reached(0.95)
        self.times = np.linspace(self.start * self.mean_cost, self.evaluations * self.mean_cost, POINTS)

    def reached(self, p):
        descending, n = self.values[::-1], len(self.values)
        target = self.optimum + (self.median - self.optimum) * (1 - p)
        i = next(i for i, v in enumerate(descending) if v <= target)
        return math.ceil(Fraction(i, n + 1 - i))

    def expected_minimum(self, k):
        """Over all subsets of k: the i-th best is the minimum of C(size - 1 - i, k - 1) of them."""
        total = math.comb(self.size, k)
        if k == 0:
            return self.median
        chances = [Fraction(math.comb(self.size - 1 - i, k - 1), total) for i in range(len(self.values))]
        return float(sum(c * Fraction(v) for c, v in zip(chances, self.values)) + (1 - sum(chances)) * Fraction(self.median))

    def random_curve(self):
        return np.array([self.expected_minimum(int(t / self.mean_cost + 1e-9)) for t in self.times])

    def published_random_curve(self):
        n = len(self.values)
        ks = [int(np.round(max(1.0, t / self.mean_cost))) for t in self.times]
        x = np.array(sorted(set(ks)), dtype=float)
        y = np.array([self.values[::-1][min(n - 1, int(np.round(k * (n + 1) / (k + 1))))] for k in x])
        return pchip(x, y, np.linspace(x[0], x[-1], len(ks)))


def pchip(x, y, at):
    h, d = np.diff(x), np.diff(y) / np.diff(x)

    def end(h0, h1, d0, d1):
        slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
        if np.sign(slope) != np.sign(d0):
            return 0.0
        return 3 * d0 if np.sign(d0) != np.sign(d1) and abs(slope) > 3 * abs(d0) else slope

    if len(x) == 2:
        return np.interp(at, x, y)
    m = np.zeros(len(x))
    m[0], m[-1] = end(h[0], h[1], d[0], d[1]), end(h[-1], h[-2], d[-1], d[-2])
    for i in range(1, len(x) - 1):
        if d[i - 1] * d[i] > 0:
            w1, w2 = 2 * h[i] + h[i - 1], h[i] + 2 * h[i - 1]
            m[i] = (w1 + w2) / (w1 / d[i - 1] + w2 / d[i])
    i = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    s = at - x[i]
    c = (3 * d[i] - 2 * m[i] - m[i + 1]) / h[i]
    b = (m[i] - 2 * d[i] + m[i + 1]) / h[i] ** 2
    return y[i] + s * (m[i] + s * (c + s * b))


def make_traces(t4, repeats):
    """repeats runs of two made-up strategies: random orders, and the same with the better half first."""
    random = np.random.default_rng(11)
    runs = []
    for strategy in ("shuffled", "halved"):
        for repeat in range(repeats):
            order = list(random.permutation(t4["results"]))
            if strategy == "halved":
                order.sort(key=lambda r: r["configuration"]["tile"] < 3)
            clock, rows = 0.0, []
            for result in order[:18]:
                clock = round(clock + cost_s(result), 6)
                rows.append((clock, result["measurements"][0]["value"] if result["invalidity"] == "correct" else None))
            runs.append((strategy, repeat, rows))
    return runs


def best_so_far(rows):
    best, points = math.inf, []
    for time, value in rows:
        best = min(best, math.inf if value is None else value)
        points.append((time, best))
    return points


def score(curve, baseline, space):
    room = baseline - space.optimum
    used = room > 1e-6 * (space.median - space.optimum)  # where random search is at the optimum there is nothing to win
    return float(np.mean((baseline - curve)[used] / room[used]))


def value_scores(space, runs):
    baseline, scores = space.random_curve(), []
    for _, _, rows in runs:
        points = best_so_far(rows)
        curve = np.array([min([b for t, b in points if t <= at], default=math.inf) for at in space.times])
        curve[np.isinf(curve)] = space.median
        scores.append(score(curve, baseline, space))
    return scores


def rank_score(space, runs):
    points, ends = [], []
    for _, _, rows in runs:
        found = [(t, space.values.index(b)) for t, b in best_so_far(rows) if not math.isinf(b)]
        ends.append(found[-1][0])
        points += [p for p in found if 0.9 * space.times[0] <= p[0] <= 1.1 * space.times[-1]]
    x = np.array(sorted({t for t, _ in points}))
    y = np.array([np.mean([r for t, r in points if t == at]) for at in x])
    w = np.array([sum(t == at for t, _ in points) for at in x], dtype=float)
    sums, weights = np.concatenate([[0], np.cumsum(y * w)]), np.concatenate([[0], np.cumsum(w)])

    def mean(j, k):
        return (sums[k + 1] - sums[j]) / (weights[k + 1] - weights[j])

    fit = np.array([min(max(mean(j, k) for k in range(i, len(x))) for j in range(i + 1)) for i in range(len(x))])
    ranks = np.round(np.interp(np.minimum(space.times, np.median(ends)), x, fit)).astype(int)
    return score(np.array(space.values)[ranks], space.published_random_curve(), space)


def main():
    OUT.mkdir(exist_ok=True)
    t1, t4 = make_space()
    (OUT / "small_space_T1.json").write_text(json.dumps(t1, indent=1) + "\n")
    lines = ",\n".join(json.dumps(r) for r in t4["results"])
    (OUT / "small_T4.json").write_text(
        f'{{"metadata": {json.dumps(t4["metadata"])}, "schema_version": "1.0.0", "results": [\n{lines}\n]}}\n')
    space, runs = Space(t4), make_traces(t4, 6)
    with (OUT / "small_traces.csv").open("w") as out:
        out.write("space,strategy,repeat,time_s,value_ms\n")
        for strategy, repeat, rows in runs:
            for time, value in rows:
                out.write(f"small,{strategy},{repeat},{time:.6f},{'' if value is None else value}\n")
    scores = {
        "points": POINTS, "optimum_ms": space.optimum, "median_ms": space.median, "mean_cost_s": space.mean_cost,
        "start_evaluations": space.start, "evaluations": space.evaluations,
        "expected_minimum_ms": [space.expected_minimum(k) for k in range(space.size + 1)],
        "random_curve_ms": list(space.random_curve()[::50]),
        "published_random_curve_ms": list(space.published_random_curve()[::50]),
        "strategies": {},
    }
    for strategy in ("shuffled", "halved"):
        own = [run for run in runs if run[0] == strategy]
        scores["strategies"][strategy] = {"value": value_scores(space, own), "rank": rank_score(space, own)}
    (OUT / "small_scores.json").write_text(json.dumps(scores, indent=1) + "\n")
    print({k: v for k, v in scores.items() if not isinstance(v, list)})


if __name__ == "__main__":
    main()
