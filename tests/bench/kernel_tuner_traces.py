#!/usr/bin/env python3
"""What Kernel Tuner's own strategies do on recorded spaces: one CSV of traces, to be scored beside ours.

    VENV/bin/python tests/bench/kernel_tuner_traces.py --out traces.csv --strategies simulated_annealing,diff_evo \\
        --space convolution_space_T1.json --recording convolution_MI250X_T4.json.gz [--space ... --recording ...]
    wavetune replay --traces traces.csv --space ... --recording ...

VENV has kernel-tuner==1.5.0 (and scikit-learn, scipy). A row is one evaluation that cost time:
space,strategy,repeat,time_s,value_ms with time_s the clock when it ended and value_ms empty when the configuration
failed. A configuration that is visited again costs nothing and leaves no row, as with Kernel Tuner's cache.

The strategies run unchanged through Kernel Tuner's Searchspace, CostFunc and SimulationRunner, with default settings.
Changed around them: the clock is the recorded cost alone (a strategy's own Python time is free), what Kernel Tuner
draws without a seed is seeded, and the evaluation limits that would end a strategy before its budget are lifted. The
budget is the published one: random search's expected evaluations to optimum + (median - optimum) * 0.05, times the
mean cost of an evaluation. Repeats already in --out are kept; a run that was killed goes on where it stopped.
"""

import argparse
import functools
import gzip
import json
import math
import multiprocessing
import os
import pathlib
import random
import statistics
import sys
import warnings
import zlib
from datetime import timedelta

import numpy as np
import scipy.stats.qmc
from kernel_tuner.interface import Options, strategy_map
from kernel_tuner.runners.runner import Runner
from kernel_tuner.runners.simulation import SimulationRunner
from kernel_tuner.searchspace import Searchspace
from kernel_tuner.strategies import common
from kernel_tuner.util import InvalidConfig, TuningBudget

HEADER = "space,strategy,repeat,time_s,value_ms\n"
DEFAULT_STRATEGIES = ("simulated_annealing,diff_evo,genetic_algorithm,pso,adaptive_tabu_greywolf,dual_annealing,"
                      "random_sample,firefly_algorithm,greedy_ils,greedy_mls,mls,basinhopping")
# These stop after 100 evaluations, or a tenth of the space, unless they are told otherwise.
LIMITED = {"random_sample", "greedy_ils", "greedy_mls", "ordered_greedy_mls", "mls"}
LatinHypercube = scipy.stats.qmc.LatinHypercube


class RememberedLinspace:
    """numpy to Kernel Tuner's CostFunc, which asks for the same linspace some times for each evaluation: a third of the
    time that population-based strategies take."""

    linspace = staticmethod(functools.lru_cache(maxsize=None)(np.linspace))

    def __getattr__(self, name):
        return getattr(np, name)


class RecordedClock(TuningBudget):
    """Kernel Tuner's budget without the wall clock: only the recorded cost counts."""

    def get_time_spent(self) -> timedelta:
        return self.time_spent_extra


class SharedNeighbours(Searchspace):
    """Kernel Tuner's search space, usable for many runs: each begins with empty caches (they hold state that changes
    what is drawn), while neighbours, which never change, are worked out once."""

    def __init__(self, *arguments):
        self.known_neighbours = {}
        super().__init__(*arguments)
        self.empty_caches = [name for name in vars(self) if name.endswith(("__neighbor_cache", "__neighbor_partial_cache"))]
        if len(self.empty_caches) != 2:
            raise RuntimeError("Searchspace keeps its neighbour caches elsewhere: this script was written for Kernel Tuner 1.5.0")

    def begin_run(self):
        for name in self.empty_caches:
            for of_method in getattr(self, name).values():
                of_method.clear()

    def get_neighbors_indices_no_cache(self, param_config, neighbor_method=None, build_full_cache=False):
        key = (neighbor_method, tuple(param_config))
        if key not in self.known_neighbours:
            self.known_neighbours[key] = super().get_neighbors_indices_no_cache(param_config, neighbor_method, build_full_cache)
        return self.known_neighbours[key]


class TracingRunner(SimulationRunner):
    """Kernel Tuner's simulation of recorded configurations, writing down each that costs time."""

    def __init__(self, budget):
        Runner.__init__(self)
        self.quiet = True
        self.kernel_options = Options(kernel_name="recorded")
        self.total_simulated_time = 0
        self.visited_results = Trace(budget)
        self.units = {}

    def run(self, parameter_space, tuning_options):
        self.visited_results.cache = tuning_options.cache
        return super().run(parameter_space, tuning_options)


class Trace(set):
    """The runner adds a configuration here when it is evaluated for the first time."""

    def __init__(self, budget):
        super().__init__()
        self.budget, self.cache, self.rows, self.spent_ms = budget, {}, [], 0.0

    def add(self, key):
        super().add(key)
        result = self.cache[key]
        self.spent_ms += result["benchmark_time"]
        value = "" if "__error__" in result else f"{result['time']:.9g}"
        self.rows.append((self.spent_ms / 1000, value))


class Recording:
    """A T1 space file and the T4 recording of every configuration in it."""

    def __init__(self, t1_path, t4_path):
        self.name = pathlib.Path(t4_path).name.split(".")[0].removesuffix("_T4")
        space = json.loads(pathlib.Path(t1_path).read_text())["ConfigurationSpace"]
        self.tune_params = {p["Name"]: list(json.loads(p["Values"])) for p in space["TuningParameters"]}
        self.restrictions = [c["Expression"] for c in space["Conditions"]]
        opened = gzip.open(t4_path, "rt") if str(t4_path).endswith(".gz") else open(t4_path)
        with opened:
            records = json.load(opened)["results"]
        self.cache = {}
        for record in records:
            configuration = [record["configuration"][p] for p in self.tune_params]
            times = record["times"]
            cost = times["compilation"] + times["validation"] + times["framework"] + sum(times.get("runtimes", []))
            # All of the cost goes under one name: the runner adds the three and tells nobody apart.
            entry = dict(zip(self.tune_params, configuration), compile_time=0.0, verification_time=0.0, benchmark_time=cost)
            if record["invalidity"] == "correct":
                entry["time"] = record["measurements"][0]["value"]
            else:
                entry["time"] = entry["__error__"] = InvalidConfig()
            self.cache[",".join(str(v) for v in configuration)] = entry
        self.searchspace = SharedNeighbours(self.tune_params, self.restrictions, 1_000_000_000)
        if self.searchspace.size != len(self.cache):
            raise RuntimeError(f"{t4_path} records {len(self.cache)} configurations, {t1_path} allows {self.searchspace.size}")
        self.evaluations, self.budget_s = self.published_budget(0.95)

    def published_budget(self, p):
        values = sorted((e["time"] for e in self.cache.values() if "__error__" not in e), reverse=True)
        target = values[-1] + (statistics.median(values) - values[-1]) * (1 - p)
        reached = next(i for i, value in enumerate(values) if value <= target)
        evaluations = math.ceil(reached / (len(values) + 1 - reached))
        return evaluations, evaluations * statistics.fmean(e["benchmark_time"] for e in self.cache.values()) / 1000

    def strategy_options(self, strategy, limit):
        options = {"time_limit": self.budget_s}
        lifted = {"all": self.searchspace.size, "budget": self.evaluations}.get(limit)
        if strategy in LIMITED:
            lifted = self.searchspace.size
        if lifted is not None:
            options["max_fevals"] = lifted
        return options

    def run(self, strategy, repeat, seed, limit, keep_caches):
        """The trace of one run: (time in s when an evaluation ended, value in ms or "") in order."""
        mixed = zlib.crc32(f"{seed}/{self.name}/{strategy}/{repeat}".encode())
        random.seed(mixed)
        np.random.seed(mixed)
        # The only draw that Kernel Tuner does not take from the two global generators.
        scipy.stats.qmc.LatinHypercube = lambda d, **named: LatinHypercube(d, seed=np.random.randint(2**31), **named)
        if repeat == 0 or not keep_caches:
            self.searchspace.begin_run()
        budget = RecordedClock(self.budget_s, self.searchspace.size)
        runner = TracingRunner(budget)
        options = self.strategy_options(strategy, limit)
        tuning = Options(budget=budget, cache=self.cache, tune_params=self.tune_params, restrictions=self.restrictions,
                         metrics=None, verbose=False, objective=["time"], objective_higher_is_better=[False], seed=mixed,
                         simulated_time=0, strategy_options=Options(options), **options)
        strategy_map[strategy].tune(self.searchspace, runner, tuning)
        return runner.visited_results.rows


RECORDINGS = {}


def one_run(job):
    name, strategy, repeat, *settings = job
    rows = RECORDINGS[name].run(strategy, repeat, *settings)
    return job, "".join(f"{name},{strategy},{repeat},{time:.6f},{value}\n" for time, value in rows)


def kept_runs(path):
    """The runs that path holds in full. The last is cut off: nobody knows whether it is whole."""
    if not path.exists() or path.stat().st_size == 0:
        path.write_text(HEADER)
        return set()
    kept, last, last_begins, position = set(), None, 0, 0
    with path.open("rb") as lines:
        if lines.readline().decode() != HEADER:
            raise SystemExit(f"{path} is not a file of traces: its first line is not {HEADER.strip()}")
        position = last_begins = len(HEADER)
        for line in lines:
            run = tuple(line.decode().split(",")[:3])
            if run != last:
                if last is not None:
                    kept.add((last[0], last[1], int(last[2])))
                last, last_begins = run, position
            position += len(line)
    os.truncate(path, last_begins)
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--space", action="append", required=True, metavar="T1", help="one for each recording, or one for all")
    parser.add_argument("--recording", action="append", required=True, metavar="T4")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the CSV; repeats that it holds are not run again")
    parser.add_argument("--strategies", default=DEFAULT_STRATEGIES, help="comma-separated; NAME:N runs N repeats of it")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--max-fevals", choices=["lifted", "all", "budget"], default="lifted",
                        help="lifted: passed only to strategies that stop early without it; all: the space's size to every "
                        "strategy; budget: the budget's expected evaluations to every strategy that does not stop early")
    parser.add_argument("--keep-caches", action="store_true",
                        help="one search space for all repeats, as a careless harness has it: Kernel Tuner's neighbour caches "
                        "then carry what earlier repeats found good into later ones, which flatters annealing. Needs --jobs 1")
    arguments = parser.parse_args()
    if arguments.keep_caches and arguments.jobs != 1:
        parser.error("--keep-caches makes a repeat depend on those before it: run it with --jobs 1")
    warnings.filterwarnings("ignore")
    common.np = RememberedLinspace()

    spaces = arguments.space * (len(arguments.recording) if len(arguments.space) == 1 else 1)
    if len(spaces) != len(arguments.recording):
        parser.error("give one --space for each --recording, or one for all")
    for t1, t4 in zip(spaces, arguments.recording):
        recording = Recording(t1, t4)
        RECORDINGS[recording.name] = recording
        print(f"{recording.name}: {recording.evaluations} evaluations, {recording.budget_s:.0f} s", file=sys.stderr)

    kept = kept_runs(arguments.out)
    jobs = []
    for text in arguments.strategies.split(","):
        strategy, _, repeats = text.partition(":")
        if strategy not in strategy_map:
            raise SystemExit(f"Kernel Tuner has no strategy {strategy}: it has {', '.join(strategy_map)}")
        wanted = [(name, strategy, repeat) for name in RECORDINGS for repeat in range(int(repeats or arguments.repeats))]
        jobs += [(*run, arguments.seed, arguments.max_fevals, arguments.keep_caches) for run in wanted if run not in kept]
        kept.update(wanted)
    with arguments.out.open("a") as out:
        # Forked, so that each process has the recordings without reading them again.
        with multiprocessing.get_context("fork").Pool(arguments.jobs) as pool:
            for done, (job, lines) in enumerate(pool.imap(one_run, jobs), 1):
                out.write(lines)
                out.flush()
                if job[2] % 20 == 0 or done == len(jobs):
                    print(f"{done} of {len(jobs)} runs: {job[1]} on {job[0]}", file=sys.stderr)


if __name__ == "__main__":
    main()
