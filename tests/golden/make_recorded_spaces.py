"""Which configurations a recorded tuning space has, as a count and a hash.

    python make_recorded_spaces.py DIR [--out recorded-spaces.json]

DIR holds the benchmark hub's recordings as KERNEL_DEVICE_T4.json.gz. All devices of a kernel must have recorded the same
configurations. The hash is FNV-1a (64 bits) over the configurations as "name=value,...\n", names and lines sorted.
"""

import argparse
import gzip
import json
from pathlib import Path


def lines(path):
    with gzip.open(path) as file:
        results = json.load(file)["results"]
    found = [",".join(f"{name}={value}" for name, value in sorted(result["configuration"].items())) for result in results]
    if len(set(found)) != len(found):
        raise SystemExit(f"{path}: a configuration is there twice")
    return sorted(found)


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "recorded-spaces.json")
    arguments = parser.parse_args()
    spaces = {}
    for path in sorted(arguments.directory.glob("*_T4.json.gz")):
        kernel = path.name.split("_")[0]
        found = lines(path)
        entry = {"configurations": len(found), "fnv1a": f"{fnv1a(''.join(line + chr(10) for line in found)):016x}"}
        if spaces.setdefault(kernel, entry) != entry:
            raise SystemExit(f"{path}: not the configurations of the other devices")
    arguments.out.write_text(json.dumps(spaces, indent=2) + "\n")


if __name__ == "__main__":
    main()
