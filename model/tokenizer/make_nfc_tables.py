"""Writes nfc_pairs.inc and nfc_classes.inc from Python's Unicode database.

    python make_nfc_tables.py
"""

import unicodedata
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCALARS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
HANGUL = range(0xAC00, 0xD7A4)  # computed, not tabled


def decompositions():
    for code in SCALARS:
        text = unicodedata.decomposition(chr(code))
        if text and "<" not in text and code not in HANGUL:
            yield code, *([int(part, 16) for part in text.split()] + [0])[:2]


def classes():
    ranges = []
    for code in SCALARS:
        value = unicodedata.combining(chr(code))
        if not value:
            continue
        if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == value:
            ranges[-1][1] = code
        else:
            ranges.append([code, code, value])
    return ranges


def write(path, comment, tables):
    lines = [f"// Written by make_nfc_tables.py from Unicode {unicodedata.unidata_version}. {comment}"]
    for name, type_name, rows in tables:
        lines.append(f"constexpr {type_name} {name}[] = {{")
        line = "   "
        for row in rows:
            item = "{" + ",".join(f"0x{v:x}" for v in row) + "},"
            if len(line) + len(item) + 1 > 120:
                lines.append(line)
                line = "   "
            line += " " + item
        lines += [line, "};"]
    path.write_text("\n".join(lines) + "\n")


def main():
    pairs = list(decompositions())
    composing = [p for p in pairs if unicodedata.normalize("NFC", chr(p[0])) == chr(p[0])]
    others = [p for p in pairs if p not in composing]
    write(HERE / "nfc_pairs.inc", "Character, first, second (0: none).",
          [("composing_pairs", "Decomposition", composing), ("other_decompositions", "Decomposition", others)])
    write(HERE / "nfc_classes.inc", "First, last, canonical combining class.", [("combining_classes", "CombiningClass", classes())])


if __name__ == "__main__":
    main()
