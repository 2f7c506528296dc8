"""Questions with one right answer, and the split between training and held-out questions.

Every task is a function of a random generator that returns a `Sample`. The split hashes `key`, the content of a
question without its wording where that is possible (the two numbers of a sum, the list to be sorted), so that a
held-out sum is not seen in training under another wording either. Facts are few: there the key is the fact together
with its wording, and a held-out question asks for a known fact in words not yet used for it.
"""

import hashlib
import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    task: str
    key: str
    prompt: str
    answer: str
    thought: str  # what the model writes before </think> when thinking is on; may be empty


WORDS = """apple banana cherry grape lemon mango orange peach pear plum dog cat horse cow sheep goat lion tiger bear
wolf fox mouse rabbit frog duck hen owl eagle ant bee table chair bed lamp door window floor wall roof house car bus
train boat ship plane bike road bridge river lake sea island hill mountain forest tree leaf flower grass stone sand
rain snow wind cloud sun moon star sky fire water bread milk cheese egg rice soup cake sugar salt honey book pen paper
letter map clock key box bag cup plate spoon fork knife shirt shoe hat coat ring king queen farmer doctor teacher
garden school market music song dance game ball drum bell""".split()
LIST_WORDS = WORDS[:40]  # what lists are made of: enough for two million lists of four, few enough to be learnt quickly

CATEGORIES = {
    "animal": "dog cat horse cow sheep goat lion tiger bear wolf fox mouse rabbit frog duck hen owl eagle ant bee".split(),
    "fruit": "apple banana cherry grape lemon mango peach pear plum".split(),
    "vehicle": "car bus train boat ship plane bike".split(),
    "colour": "red blue green yellow black white brown purple grey".split(),
    "number": "one two three four five six seven eight nine ten".split(),
}

CAPITALS = {
    "France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Germany": "Berlin", "Portugal": "Lisbon",
    "Greece": "Athens", "Austria": "Vienna", "Poland": "Warsaw", "Norway": "Oslo", "Sweden": "Stockholm",
    "Finland": "Helsinki", "Denmark": "Copenhagen", "Ireland": "Dublin", "Hungary": "Budapest", "Russia": "Moscow",
    "Ukraine": "Kyiv", "Turkey": "Ankara", "Egypt": "Cairo", "Kenya": "Nairobi", "Ghana": "Accra",
    "Morocco": "Rabat", "Japan": "Tokyo", "China": "Beijing", "India": "New Delhi", "Thailand": "Bangkok",
    "Vietnam": "Hanoi", "Indonesia": "Jakarta", "Iran": "Tehran", "Iraq": "Baghdad", "Nepal": "Kathmandu",
    "Canada": "Ottawa", "Mexico": "Mexico City", "Cuba": "Havana", "Peru": "Lima", "Chile": "Santiago",
    "Argentina": "Buenos Aires", "Colombia": "Bogota", "Australia": "Canberra", "Belgium": "Brussels",
    "Croatia": "Zagreb",
}

OPPOSITES = [
    ("hot", "cold"), ("big", "small"), ("up", "down"), ("day", "night"), ("fast", "slow"), ("open", "closed"),
    ("happy", "sad"), ("old", "new"), ("light", "dark"), ("full", "empty"), ("high", "low"), ("hard", "soft"),
    ("left", "right"), ("long", "short"), ("rich", "poor"), ("wet", "dry"), ("early", "late"), ("strong", "weak"),
    ("clean", "dirty"), ("loud", "quiet"), ("thick", "thin"), ("true", "false"), ("near", "far"), ("good", "bad"),
    ("push", "pull"), ("first", "last"), ("in", "out"), ("start", "end"),
]

COLOURS = {
    "grass": "green", "the sky": "blue", "snow": "white", "a banana": "yellow", "blood": "red", "coal": "black",
    "chocolate": "brown", "a lemon": "yellow", "a tomato": "red", "milk": "white", "a frog": "green",
    "the sea": "blue", "the night": "black", "a carrot": "orange", "an elephant": "grey", "a leaf": "green",
    "a plum": "purple", "a mouse": "grey", "the sun": "yellow", "a strawberry": "red",
}

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _join(items):
    return ", ".join(str(i) for i in items)


def add(r):
    a = r.randint(0, 60)
    b = r.randint(0, 60 - a)
    if r.random() < 0.5:
        a, b = b, a
    wording = r.choice(["What is {} plus {}?", "What is {} + {}?", "Add {} and {}.", "How much is {} plus {}?",
                        "Compute {} + {}."])
    return Sample("add", f"{a}+{b}", wording.format(a, b), str(a + b), "I add the numbers.")


def subtract(r):
    a = r.randint(0, 60)
    b = r.randint(0, a)
    wording = r.choice(["What is {} minus {}?", "What is {} - {}?", "How much is {} minus {}?", "Compute {} - {}."])
    return Sample("subtract", f"{a}-{b}", wording.format(a, b), str(a - b), "I subtract the numbers.")


def compare(r):
    a, b = r.sample(range(31), 2)
    larger = r.random() < 0.5
    word = r.choice(["larger", "greater", "bigger"] if larger else ["smaller", "less"])
    wording = r.choice(["Which is {}, {} or {}?", "Which number is {}: {} or {}?"])
    return Sample("compare", f"{a},{b}", wording.format(word, a, b), str(max(a, b) if larger else min(a, b)),
                  "I compare the numbers.")


def yes_no(r):
    a, b = r.sample(range(31), 2)
    larger = r.random() < 0.5
    word = r.choice(["greater", "larger"] if larger else ["less", "smaller"])
    answer = "Yes" if (a > b) == larger else "No"
    return Sample("yes_no", f"{a},{b}", f"Is {a} {word} than {b}?", answer, "I compare the numbers.")


def even_odd(r):
    n = r.randint(0, 99)
    wording = r.choice(["Is {} even or odd?", "Is the number {} even or odd?", "Even or odd: {}?"])
    return Sample("even_odd", str(n), wording.format(n), "odd" if n % 2 else "even", "I look at the last digit.")


def sort_numbers(r):
    items = r.sample(range(1, 21), 3)
    wording = r.choice(["Sort these numbers: {}", "Sort these numbers from smallest to largest: {}",
                        "Put these numbers in order: {}"])
    return Sample("sort_numbers", _join(items), wording.format(_join(items)), _join(sorted(items)), "I sort the list.")


def sort_letters(r):
    items = r.sample(LETTERS, r.randint(3, 4))
    wording = r.choice(["Sort these letters: {}", "Put these letters in alphabetical order: {}",
                        "Sort the letters {} alphabetically."])
    return Sample("sort_letters", _join(items), wording.format(_join(items)), _join(sorted(items)), "I sort the list.")


def copy(r):
    items = r.sample(LIST_WORDS, r.choice([1, 2, 2, 3]))
    text = r.choice([" ".join, _join])(items)
    wording = r.choice(["Repeat this: {}", "Repeat after me: {}", "Copy these words: {}", "Say this again: {}"])
    return Sample("copy", text, wording.format(text), text, "I repeat the words.")


def reverse(r):
    items = r.sample(LIST_WORDS, r.randint(2, 3))
    wording = r.choice(["Reverse this list: {}", "Write this list backwards: {}", "Say these words in reverse order: {}"])
    return Sample("reverse", _join(items), wording.format(_join(items)), _join(items[::-1]), "I reverse the list.")


def pick(r):
    items = r.sample(LIST_WORDS, r.randint(3, 4))
    which, i = r.choice([("first", 0), ("last", -1)])
    wording = r.choice(["What is the {} word in this list: {}", "Which word comes {} here: {}",
                        "Give me the {} item of this list: {}"])
    return Sample("pick", f"{which}:{_join(items)}", wording.format(which, _join(items)), items[i],
                  f"I look for the {which} word.")


def count(r):
    items = r.sample(LIST_WORDS, r.randint(1, 8))
    wording = r.choice(["How many words are in this list: {}", "Count these words: {}", "How many items are here: {}"])
    return Sample("count", _join(items), wording.format(_join(items)), str(len(items)), "I count the words.")


def sequence(r):
    step = r.choice([1, 2, 10])
    start = r.randint(0, 59 - 4 * step)
    items = [start + i * step for i in range(4)]
    wording = r.choice(["What number comes next: {}", "Continue this sequence: {}", "Which number follows: {}"])
    return Sample("sequence", _join(items), wording.format(_join(items)), str(start + 4 * step), "I look at the step.")


def _fact(task, r, wordings, item, answer):
    prompt = r.choice(wordings).format(item)
    return Sample(task, prompt, prompt, answer, "")


def capital(r):
    country = r.choice(list(CAPITALS))
    return _fact("capital", r, ["What is the capital of {}?", "Name the capital of {}.", "What is the capital city of {}?",
                                "Which city is the capital of {}?", "Tell me the capital of {}.", "The capital of {} is?"],
                 country, CAPITALS[country])


def country(r):
    name = r.choice(list(CAPITALS))
    return _fact("country", r, ["{} is the capital of which country?", "Which country has the capital {}?",
                                "Of which country is {} the capital?", "What country is {} the capital of?",
                                "Name the country whose capital is {}."], CAPITALS[name], name)


def opposite(r):
    a, b = r.choice(OPPOSITES)
    if r.random() < 0.5:
        a, b = b, a
    return _fact("opposite", r, ["What is the opposite of {}?", "Give the opposite of {}.", "Tell me the opposite of {}.",
                                 "The opposite of {} is?", "What is the reverse of {}?", "Which word is the opposite of {}?"],
                 a, b)


def colour(r):
    thing = r.choice(list(COLOURS))
    return _fact("colour", r, ["What colour is {}?", "Tell me the colour of {}.", "What is the colour of {}?",
                               "Which colour does {} have?", "Name the colour of {}."], thing, COLOURS[thing])


def calendar(r):
    names, kind = r.choice([(DAYS, "day"), (MONTHS, "month")])
    i = r.randrange(len(names))
    after = r.random() < 0.5
    word = "after" if after else "before"
    answer = names[(i + (1 if after else -1)) % len(names)]
    return _fact("calendar", r, [f"What {kind} comes {word} {{}}?", f"Which {kind} comes {word} {{}}?",
                                 f"What is the {kind} {word} {{}}?", f"Tell me the {kind} {word} {{}}.",
                                 f"Name the {kind} {word} {{}}."], names[i], answer)


def category(r):
    kinds = r.sample(list(CATEGORIES), 2)
    kind = r.choice(kinds)
    word = r.choice(CATEGORIES[kind])
    article = [("an " if k[0] in "aeiou" else "a ") + k for k in kinds]
    wording = r.choice(["Is {} {} or {}?", "Is the word {} {} or {}?", "{}: {} or {}?"])
    prompt = wording.format(word, *article)
    return Sample("category", prompt, prompt, kind, "")


# How often each is asked, before training turns to what it still gets wrong.
TASKS = {
    add: 1.5, subtract: 2.0, compare: 1.5, yes_no: 1.5, even_odd: 0.8, sort_numbers: 1.5, sort_letters: 1.0, copy: 1.5,
    reverse: 1.2, pick: 1.5, count: 0.6, sequence: 0.8, capital: 0.6, country: 0.6, opposite: 0.6, colour: 0.4,
    calendar: 0.6, category: 0.5,
}


def is_held_out(sample):
    digest = hashlib.sha256(f"{sample.task}|{sample.key}".encode()).digest()
    return int.from_bytes(digest[:4], "little") % 12 == 0


def training_sample(r, weights=None):
    task = r.choices(list(TASKS), weights=weights or list(TASKS.values()))[0]
    while True:
        sample = task(r)
        if not is_held_out(sample):
            return sample


def held_out_samples(per_task, seed=20):
    """`per_task` different held-out questions of every task, always the same ones."""
    r = random.Random(seed)
    samples = []
    for task in TASKS:
        found = {}
        for _ in range(20000):
            sample = task(r)
            if is_held_out(sample):
                found.setdefault(sample.prompt, sample)
            if len(found) == per_task:
                break
        samples += found.values()
    return samples
