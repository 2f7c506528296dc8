"""What `wavetune export --format json` writes, held against db/transfer/schema.json by a JSON Schema validator.

    .venv/bin/python tests/db/export_schema_test.py WAVETUNE_BINARY SOURCE_DIRECTORY
"""

import copy
import json
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from jsonschema import Draft202012Validator

BINARY, SOURCE = sys.argv[1], Path(sys.argv[2])
SCHEMA = json.loads((SOURCE / "db/transfer/schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)


def wavetune(*arguments):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"wavetune {arguments} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


class ExportSchema(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.database = Path(folder.name) / "tune.db"

    def exported(self, *options):
        return json.loads(wavetune("export", "--db", self.database, "--format", "json", *options))

    def check(self, document):
        errors = [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(document)]
        self.assertEqual(errors[:5], [])

    def fill(self):
        """Failed trials and a layout of the first release's database, real winners, and AITER's tables."""
        old = sqlite3.connect(self.database)
        old.executescript((SOURCE / "tests/db/data/v1.sql").read_text())
        old.close()
        wavetune("db", "upgrade", "--db", self.database)
        wavetune("import", "--db", self.database, *sorted((SOURCE / "db/tuned").glob("*.json")),
                 *sorted((SOURCE / "tests/db/data/aiter").glob("*.csv")))

    def test_the_schema_is_one(self):
        Draft202012Validator.check_schema(SCHEMA)

    def test_a_full_database(self):
        self.fill()
        document = self.exported()
        for name in ("environments", "sources", "trials", "layouts", "published"):
            self.assertGreater(len(document[name]), 0, name)
        self.assertGreater(len({trial["outcome"] for trial in document["trials"]}), 1)
        self.check(document)

    def test_winners_alone(self):
        self.fill()
        document = self.exported("--winners")
        self.assertNotIn("published", document)
        self.assertGreater(len(document["trials"]), 0)
        self.check(document)

    def test_an_empty_database(self):
        empty = self.database.with_name("empty.json")
        empty.write_text(json.dumps({"format": "wavetune-db", "version": 1, "environments": [], "sources": [],
                                     "trials": [], "layouts": []}))
        wavetune("import", "--db", self.database, empty)
        document = self.exported()
        self.assertEqual(document["trials"], [])
        self.check(document)

    def test_the_sets_that_come_along(self):
        files = sorted((SOURCE / "db/tuned").glob("*.json"))
        self.assertGreater(len(files), 0)
        for file in files:
            with self.subTest(file.name):
                self.check(json.loads(file.read_text()))

    def test_what_is_wrong_is_found(self):
        self.fill()
        good = self.exported()

        def changed(path, value):
            document = copy.deepcopy(good)
            at = document
            for part in path[:-1]:
                at = at[part]
            at[path[-1]] = value
            return document

        for path, value in [(("version",), 7), (("exported_at",), "today"), (("more",), 1),
                            (("environments", 0, "cu_count"), "256"), (("trials", 0, "outcome"), "fine"),
                            (("trials", 0, "problem", "dims", "m"), 1.5), (("layouts", 0, "objective"), "fun"),
                            (("published", 0, "us"), 0), (("published", 0, "unknown"), 1)]:
            with self.subTest(path):
                self.assertFalse(VALIDATOR.is_valid(changed(path, value)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
