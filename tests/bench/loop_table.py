#!/usr/bin/env python3
"""One table: how busy the inner loop of wavetune's GEMMs keeps the matrix core, beside the kernel that Triton makes for
the same product and tile. Both columns come from `wavetune inspect`; neither needs a GPU.

    VENV/bin/python tests/bench/loop_table.py build/release/wavetune --shape 4096x6144x2048 [--db offline.db]

VENV has triton==3.9.0 (see triton_loop.py). With --db the configurations are the database's winners or best predicted
ones, else --config FORMAT=k=v,... for single formats, else the defaults.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

FORMATS = ["bf16", "fp8_block", "fp8_token", "mxfp4", "fp8_mxfp4", "bf16_mxfp4"]
HERE = pathlib.Path(__file__).parent


def inspect(wavetune, words):
    done = subprocess.run([wavetune, "inspect", *words, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[0])
    return json.loads(done.stdout)


def columns(kernel):
    loop, resources = kernel["loop"], kernel["resources"]
    occupancy = kernel["occupancy"]
    return [f"{100 * loop['mfma_share_overlapped']:.1f} %", f"{100 * loop['mfma_share_serial']:.1f} %",
            f"{loop['bytes_per_flop']:.5f}", f"{loop['instructions']}", f"{resources['vgpr']}", f"{resources['spills']}",
            str(occupancy["waves_per_simd"]) if occupancy["resident"] else "none"]


def best_triton(arguments, dtype, config, folder):
    """The better of Triton's kernels with either matrix instruction: which one suits it is its own affair."""
    found, reasons = [], []
    for mfma in (16, 32):
        try:
            found.append(triton(arguments, dtype, {**config, "mfma": mfma}, folder))
        except RuntimeError as error:
            reasons.append(str(error))
    if not found:
        raise RuntimeError(reasons[0])
    return max(found, key=lambda kernel: kernel["loop"]["mfma_share_overlapped"])


def triton(arguments, dtype, config, folder):
    """Triton's kernel for the same tile, waves and number of stages."""
    output = pathlib.Path(folder) / f"{dtype}.hsaco"
    tile = "x".join(str(config[name]) for name in ("bm", "bn", "bk"))
    command = [sys.executable, str(HERE / "triton_loop.py"), "--dtype", dtype, "--shape", arguments.shape, "--tile", tile,
               "--arch", arguments.arch, "--warps", str(config["wm"] * config["wn"]), "--mfma", str(config["mfma"]),
               "--stages", str(max(2, config["stages"])), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("triton: " + (done.stderr.strip().splitlines() or ["no message"])[-1][:100])
    lds = done.stdout.split("(")[-1].split(" ")[0]
    return inspect(arguments.wavetune, ["--code-object", str(output), "--lds", lds])["kernels"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wavetune")
    parser.add_argument("--shape", default="4096x6144x2048")
    parser.add_argument("--arch", default="gfx950")
    parser.add_argument("--db")
    parser.add_argument("--config", action="append", default=[], help="FORMAT=k=v,...")
    parser.add_argument("--formats", default=",".join(FORMATS))
    arguments = parser.parse_args()
    configs = dict(text.split("=", 1) for text in arguments.config)
    titles = ["format", "tile", "waves", "who", "overlapped", "serial", "bytes/flop", "instr.", "VGPR", "spills", "waves/SIMD"]
    rows = [titles]
    with tempfile.TemporaryDirectory() as folder:
        for dtype in arguments.formats.split(","):
            words = ["--op", "gemm", "--dtype", dtype, "--shape", arguments.shape, "--arch", arguments.arch,
                     "--kernel", "gemm_main"]
            if arguments.db:
                words += ["--db", arguments.db]
            if dtype in configs:
                words += ["--config", configs[dtype]]
            try:
                ours = inspect(arguments.wavetune, words)
            except RuntimeError as error:
                print(f"{dtype}: {error}", file=sys.stderr)
                continue
            config = ours["config"]
            if "wm" not in config:
                print(f"{dtype}: the configuration has no tile of waves to give to Triton", file=sys.stderr)
                continue
            head = [dtype, f"{config['bm']}x{config['bn']}x{config['bk']}", str(config["wm"] * config["wn"])]
            rows.append(head + ["wavetune"] + columns(ours["kernels"][0]))
            try:
                rows.append(head + ["triton"] + columns(best_triton(arguments, dtype, config, folder)))
            except RuntimeError as error:
                print(f"{dtype}: {error}", file=sys.stderr)
    widths = [max(len(row[i]) for row in rows) for i in range(len(titles))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    main()
