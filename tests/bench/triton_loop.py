#!/usr/bin/env python3
"""Compiles a GEMM with Triton for an AMD GPU, without a GPU, so that `wavetune inspect --code-object` can look at its
inner loop beside ours.

    python3 -m venv VENV && VENV/bin/pip install triton==3.9.0
    VENV/bin/python tests/bench/triton_loop.py --dtype mxfp4 --shape 4096x6144x2048 --tile 256x256x256 -o triton.hsaco
    wavetune inspect --code-object triton.hsaco

C[m,n] = A[m,k] W[n,k]^T, as wavetune's gemm: both operands have k innermost. The formats are wavetune's dtypes; with
block scales (e8m0, one for 32 elements of k) the product is tl.dot_scaled, else tl.dot. fp8_block and fp8_token
scale the accumulator in float32, as wavetune does. Triton is given the strides that make the code best: k innermost
and contiguous, pointers and sizes that are multiples of 16.
"""

import argparse
import pathlib

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def gemm_dot(a_ptr, b_ptr, c_ptr, M, N, K, lda, ldb, ldc,
             BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    pid_m, pid_n = tl.swizzle2d(pid // tiles_n, pid % tiles_n, tiles_m, tiles_n, GROUP_M)
    rows = (pid_m * BM + tl.arange(0, BM)) % M
    cols = (pid_n * BN + tl.arange(0, BN)) % N
    ks = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * lda + ks[None, :]
    b_ptrs = b_ptr + cols[None, :] * ldb + ks[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK
        b_ptrs += BK
    out_rows = pid_m * BM + tl.arange(0, BM)
    out_cols = pid_n * BN + tl.arange(0, BN)
    mask = (out_rows[:, None] < M) & (out_cols[None, :] < N)
    tl.store(c_ptr + out_rows[:, None] * ldc + out_cols[None, :], acc.to(tl.bfloat16), mask=mask)


@triton.jit
def gemm_block(a_ptr, b_ptr, c_ptr, as_ptr, bs_ptr, M, N, K, lda, ldb, ldc, ldas, ldbs,
               BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr):
    """W in 128x128 blocks, A in 1x128 groups: BK must be 128."""
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    pid_m, pid_n = tl.swizzle2d(pid // tiles_n, pid % tiles_n, tiles_m, tiles_n, GROUP_M)
    rows = (pid_m * BM + tl.arange(0, BM)) % M
    cols = (pid_n * BN + tl.arange(0, BN)) % N
    ks = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * lda + ks[None, :]
    b_ptrs = b_ptr + cols[None, :] * ldb + ks[:, None]
    as_ptrs = as_ptr + rows
    bs_ptrs = bs_ptr + (cols // 128) * ldbs
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        a_scale = tl.load(as_ptrs)
        b_scale = tl.load(bs_ptrs)
        acc += tl.dot(a, b) * a_scale[:, None] * b_scale[None, :]
        a_ptrs += BK
        b_ptrs += BK
        as_ptrs += ldas
        bs_ptrs += 1
    out_rows = pid_m * BM + tl.arange(0, BM)
    out_cols = pid_n * BN + tl.arange(0, BN)
    mask = (out_rows[:, None] < M) & (out_cols[None, :] < N)
    tl.store(c_ptr + out_rows[:, None] * ldc + out_cols[None, :], acc.to(tl.bfloat16), mask=mask)


@triton.jit
def gemm_scaled(a_ptr, b_ptr, c_ptr, as_ptr, bs_ptr, M, N, K, lda, ldb, ldc, ldas, ldbs,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr,
                A_FORMAT: tl.constexpr, A_PACK: tl.constexpr, A_SCALED: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    pid_m, pid_n = tl.swizzle2d(pid // tiles_n, pid % tiles_n, tiles_m, tiles_n, GROUP_M)
    rows = (pid_m * BM + tl.arange(0, BM)) % M
    cols = (pid_n * BN + tl.arange(0, BN)) % N
    a_ks = tl.arange(0, BK // A_PACK)
    b_ks = tl.arange(0, BK // 2)
    s_ks = tl.arange(0, BK // 32)
    a_ptrs = a_ptr + rows[:, None] * lda + a_ks[None, :]
    b_ptrs = b_ptr + cols[None, :] * ldb + b_ks[:, None]
    as_ptrs = as_ptr + rows[:, None] * ldas + s_ks[None, :]
    bs_ptrs = bs_ptr + cols[:, None] * ldbs + s_ks[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        b_scale = tl.load(bs_ptrs)
        if A_SCALED:
            a_scale = tl.load(as_ptrs)
            acc = tl.dot_scaled(a, a_scale, A_FORMAT, b, b_scale, "e2m1", acc)
            as_ptrs += BK // 32
        else:
            acc = tl.dot_scaled(a, None, A_FORMAT, b, b_scale, "e2m1", acc)
        a_ptrs += BK // A_PACK
        b_ptrs += BK // 2
        bs_ptrs += BK // 32
    out_rows = pid_m * BM + tl.arange(0, BM)
    out_cols = pid_n * BN + tl.arange(0, BN)
    mask = (out_rows[:, None] < M) & (out_cols[None, :] < N)
    tl.store(c_ptr + out_rows[:, None] * ldc + out_cols[None, :], acc.to(tl.bfloat16), mask=mask)


# dtype -> kernel, types of A and W in memory, and for dot_scaled A's format, elements of A in a byte, A's own scales
FORMATS = {
    "bf16": (gemm_dot, "*bf16", "*bf16", None),
    "fp8_token": (gemm_dot, "*fp8e4nv", "*fp8e4nv", None),
    "fp8_block": (gemm_block, "*fp8e4nv", "*fp8e4nv", None),
    "mxfp4": (gemm_scaled, "*u8", "*u8", ("e2m1", 2, True)),
    "fp8_mxfp4": (gemm_scaled, "*fp8e4nv", "*u8", ("e4m3", 1, False)),
    "bf16_mxfp4": (gemm_scaled, "*bf16", "*u8", ("bf16", 1, False)),
}


def triple(text):
    values = [int(part) for part in text.lower().split("x")]
    if len(values) != 3:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form MxNxK")
    return values


def compile_gemm(dtype, tile, arch, warps, stages, mfma, group_m, waves_per_eu, kpack):
    kernel, a_type, b_type, scaled = FORMATS[dtype]
    bm, bn, bk = tile
    constants = {"BM": bm, "BN": bn, "BK": bk, "GROUP_M": group_m}
    if scaled:
        constants.update(A_FORMAT=scaled[0], A_PACK=scaled[1], A_SCALED=scaled[2])
    signature = {}
    for name in kernel.arg_names:
        if name in constants:
            signature[name] = "constexpr"
        elif name == "a_ptr":
            signature[name] = a_type
        elif name == "b_ptr":
            signature[name] = b_type
        elif name == "c_ptr":
            signature[name] = "*bf16"
        elif name in ("as_ptr", "bs_ptr"):
            signature[name] = "*fp32" if kernel is gemm_block else "*u8"
        else:
            signature[name] = "i32"
    # What Triton's launcher finds by itself in a real call: pointers and sizes that 16 divides, and that the operands
    # lie within 2 GiB of their pointers, which lets it use buffer loads. ldas and ldbs count scales and may be odd.
    attributes = {}
    for index, name in enumerate(kernel.arg_names):
        if name in constants:
            continue
        aligned = [] if name in ("ldbs",) else [["tt.divisibility", 16]]
        small = [["tt.pointer_range", 32]] if name.endswith("_ptr") else []
        attributes[(index,)] = aligned + small
    source = ASTSource(kernel, signature, {(kernel.arg_names.index(n),): v for n, v in constants.items()}, attributes)
    options = {"num_warps": warps, "num_stages": stages, "matrix_instr_nonkdim": mfma, "waves_per_eu": waves_per_eu}
    if kpack:
        options["kpack"] = kpack
    return triton.compile(source, target=GPUTarget("hip", arch, 64), options=options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", choices=FORMATS, default="bf16")
    parser.add_argument("--tile", type=triple, default=[256, 256, 64], help="BMxBNxBK")
    parser.add_argument("--shape", type=triple, help="MxNxK: only checked against the tile (the code is the same)")
    parser.add_argument("--arch", default="gfx950")
    parser.add_argument("--warps", type=int, default=8)
    parser.add_argument("--stages", type=int, default=2)
    parser.add_argument("--mfma", type=int, default=16, help="16 or 32: tile of the matrix instruction")
    parser.add_argument("--group-m", type=int, default=4)
    parser.add_argument("--waves-per-eu", type=int, default=0)
    parser.add_argument("--kpack", type=int, default=0)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="code object; NAME.ttgir goes beside it")
    arguments = parser.parse_args()
    if arguments.shape and arguments.shape[2] % arguments.tile[2]:
        parser.error("the kernels have no tail in k: K must be a multiple of BK")
    if arguments.dtype == "fp8_block" and arguments.tile[2] != 128:
        parser.error("fp8_block has one scale for 128 elements of k: BK must be 128")
    compiled = compile_gemm(arguments.dtype, arguments.tile, arguments.arch, arguments.warps, arguments.stages,
                            arguments.mfma, arguments.group_m, arguments.waves_per_eu, arguments.kpack)
    arguments.output.write_bytes(compiled.asm["hsaco"])
    arguments.output.with_suffix(".ttgir").write_text(compiled.asm["ttgir"])
    arguments.output.with_suffix(".s").write_text(compiled.asm["amdgcn"])
    print(f"triton {triton.__version__} {arguments.dtype} {arguments.tile} warps {arguments.warps}: "
          f"{arguments.output} ({compiled.metadata.shared} bytes of LDS)")


if __name__ == "__main__":
    main()
