"""Golden vectors of the narrow number formats: what PyTorch, ml_dtypes and AMD Quark make of them.

Writes formats.golden.safetensors beside this file. Needs torch, ml_dtypes, safetensors, amd-quark and a C++ compiler (Quark
builds its rounding kernel on first use); requirements-formats.txt pins what was used.
"""

import pathlib

import ml_dtypes
import numpy
import torch
from quark.torch.kernel.hw_emulation.hw_emulation_interface import real_quantize_fp4_fp6_per_group
from quark.torch.quantization.utils import even_round
from quark.torch.utils.numerics import to_e8m0_uint8
from quark.torch.utils.pack import Pack_fp4
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
BLOCK = 32

# The code tables of OCP's Microscaling Formats specification 1.0 (sections 5.3.1, 5.3.3, 5.4.1), written out from its formulas.
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def ocp_e4m3(code):
    sign = -1.0 if code & 0x80 else 1.0
    exponent, mantissa = code >> 3 & 0xF, code & 7
    if exponent == 15 and mantissa == 7:
        return float("nan")
    if exponent == 0:
        return sign * mantissa * 2.0**-9
    return sign * (1 + mantissa / 8) * 2.0 ** (exponent - 7)


def decoded():
    """Values of all codes; torch, ml_dtypes and the specification must agree before they are written."""
    codes = numpy.arange(256, dtype=numpy.uint8)
    fp8 = torch.from_numpy(codes).view(torch.float8_e4m3fn).float()
    for other in (codes.view(ml_dtypes.float8_e4m3fn).astype(numpy.float32), [ocp_e4m3(c) for c in range(256)]):
        assert torch.equal(torch.nan_to_num(fp8, 1e30), torch.nan_to_num(torch.tensor(other), 1e30).float())
    fp4 = torch.tensor(E2M1 + [-x for x in E2M1])
    nibbles = numpy.arange(16, dtype=numpy.uint8).view(ml_dtypes.float4_e2m1fn).astype(numpy.float32)
    assert torch.equal(fp4, torch.from_numpy(nibbles))
    e8m0 = torch.from_numpy(codes.view(ml_dtypes.float8_e8m0fnu).astype(numpy.float32))
    assert torch.equal(e8m0[:255].double(), torch.tensor([2.0 ** (c - 127) for c in range(255)], dtype=torch.float64))
    assert torch.isnan(e8m0[255])
    return {"fp8.decoded": fp8, "fp4.decoded": fp4, "e8m0.decoded": e8m0}


def probes(values, largest):
    """Every value of a format, the ties between neighbours, both float32 neighbours of each, and what lies beyond."""
    values = numpy.unique(numpy.abs(numpy.asarray(values, dtype=numpy.float32)))
    points = numpy.concatenate([values, ((values[1:].astype(numpy.float64) + values[:-1]) / 2).astype(numpy.float32)])
    points = numpy.concatenate([points, numpy.nextafter(points, numpy.float32(0)), numpy.nextafter(points, numpy.float32(1e30))])
    beyond = numpy.array([largest * 1.01, largest * 2, 3e38, 1e-45, 1e-38], dtype=numpy.float32)
    points = numpy.unique(numpy.concatenate([points, beyond]))
    random = numpy.random.default_rng(1).normal(scale=largest / 4, size=512).astype(numpy.float32)
    return numpy.concatenate([points, -points, random])


def encoded(golden):
    fp8_in = probes([ocp_e4m3(c) for c in range(127)], 448)
    clamped = numpy.clip(fp8_in, -448, 448)
    fp8 = torch.from_numpy(clamped).to(torch.float8_e4m3fn).view(torch.uint8)
    assert numpy.array_equal(fp8.numpy(), clamped.astype(ml_dtypes.float8_e4m3fn).view(numpy.uint8))
    fp4_in = probes(E2M1, 6)
    fp4 = torch.from_numpy(numpy.clip(fp4_in, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(numpy.uint8))
    golden |= {"fp8.input": torch.from_numpy(fp8_in), "fp8.codes": fp8, "fp4.input": torch.from_numpy(fp4_in), "fp4.codes": fp4}


def blocks():
    generator = torch.Generator().manual_seed(2)
    rows = [torch.randn(BLOCK, generator=generator) * 2.0**e for e in range(-20, 21)]
    for i in range(40):  # one large outlier each
        row = torch.randn(BLOCK, generator=generator)
        row[i % BLOCK] *= 10.0 + 3 * i
        rows.append(row)
    for amax in [1.0, 1.5, 1.7499999, 1.75, 1.7500001, 1.9999999, 2.0, 3.5, 5.0, 6.0, 6.9, 7.0, 7.5, 448.0]:
        row = torch.rand(BLOCK, generator=generator) * amax * 0.9
        row[7] = -amax
        rows.append(row)
    steps = torch.arange(BLOCK) * 0.25 - 4.0  # every tie of e2m1 at scale 1
    rows.append(steps)
    rows += [steps * 2.0**e for e in (-126, -124, -100, 100, 124)]
    rows += [torch.zeros(BLOCK), -torch.zeros(BLOCK), torch.full((BLOCK,), 1e-45), torch.full((BLOCK,), -3e-39)]
    rows += [torch.full((BLOCK,), 2.0**-126), torch.full((BLOCK,), 1.75 * 2.0**-126), torch.full((BLOCK,), 2.0**-124)]
    rows += [torch.full((BLOCK,), 1.5 * 2.0**127), torch.full((BLOCK,), 1.75 * 2.0**127), torch.full((BLOCK,), 3.4028234e38)]
    alone = torch.zeros(BLOCK)
    alone[31] = 5.5
    rows.append(alone)
    return torch.stack(rows)


def e8m0_codes(scale):
    """Codes of powers of two. Quark's own to_e8m0_uint8 agrees from 2^-126 on and makes 1 of 2^-127, though the elements of such a
    block were divided by 2^-127."""
    codes = scale.numpy().astype(ml_dtypes.float8_e8m0fnu)
    assert numpy.array_equal(codes.astype(numpy.float32), scale.numpy())
    codes = torch.from_numpy(codes.view(numpy.uint8))
    assert torch.equal(to_e8m0_uint8(scale), codes.clamp(min=1))
    return codes


def mxfp4(golden):
    """As PerBlockMXObserver with scale_format e8m0, scale_calculation_mode even, and its export with pack_method reorder."""
    values = blocks()
    scale = even_round(values.abs().amax(dim=-1, keepdim=True), "fp4")
    quantised = real_quantize_fp4_fp6_per_group(values, scale, -1, BLOCK, "fp4")
    # Quark's rounding makes +0 of everything that rounds to zero.
    golden |= {"mxfp4.input": values, "mxfp4.scales": e8m0_codes(scale), "mxfp4.exported_scales": to_e8m0_uint8(scale),
               "mxfp4.packed": Pack_fp4("per_group", "fp4").pack(quantised, True)}
    # The scale alone, over amax in steps that cross every boundary.
    amax = torch.cat([torch.tensor([0.0, 1e-45, 1e-40, 2.0**-126, float("inf")])]
                     + [torch.tensor([1.0, 1.7499999, 1.75, 1.9999999]) * 2.0**e for e in range(-126, 128)])
    golden |= {"even.amax": amax, "even.scales": e8m0_codes(even_round(amax, "fp4"))}


def fp8_groups(golden):
    """1x128 groups of activations and 128x128 blocks of weights: scale = amax / 448, codes of x * (1 / scale), float32."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(5, 256, generator=generator).bfloat16().float()
    x[0, 3] *= 100
    x[1, :128] = 0
    x[2] *= 1e-6
    x[3, 130:] *= 1e6
    groups = x.view(5, 2, 128)
    scale = groups.abs().amax(-1).clamp(min=1e-10) / 448
    codes = (groups * (1 / scale)[..., None]).clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8)
    golden |= {"fp8_group.input": x, "fp8_group.scales": scale, "fp8_group.codes": codes.reshape(5, 256)}
    w = torch.randn(130, 150, generator=generator).bfloat16().float()
    w[129, 149] = 50
    scales, codes = torch.zeros(2, 2), torch.zeros(130, 150, dtype=torch.uint8)
    for i in range(2):
        for j in range(2):
            part = (slice(128 * i, 128 * i + 128), slice(128 * j, 128 * j + 128))
            scales[i, j] = w[part].abs().max() / 448
            codes[part] = (w[part] * (1 / scales[i, j])).clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8)
    golden |= {"fp8_block.input": w, "fp8_block.scales": scales, "fp8_block.codes": codes}


def arrange(golden):
    """aiter's shuffle_weight with layout (16, 16) and shuffle_scale, as views and permutations in numpy."""
    weights = numpy.random.default_rng(4).integers(0, 256, (48, 96), dtype=numpy.uint8)
    n, k = weights.shape
    shuffled = weights.reshape(n // 16, 16, k // 32, 2, 16).transpose(0, 2, 3, 1, 4)
    golden |= {"weights.rows": torch.from_numpy(weights), "weights.shuffled": torch.from_numpy(shuffled.reshape(n, k).copy())}
    scales = numpy.random.default_rng(5).integers(0, 255, (64, 16), dtype=numpy.uint8)
    m, n = scales.shape
    shuffled = scales.reshape(m // 32, 2, 16, n // 8, 2, 4).transpose(0, 3, 5, 2, 4, 1)
    golden |= {"scales.rows": torch.from_numpy(scales), "scales.shuffled": torch.from_numpy(shuffled.reshape(m, n).copy())}


golden = decoded()
encoded(golden)
mxfp4(golden)
fp8_groups(golden)
arrange(golden)
save_file({name: tensor.contiguous() for name, tensor in golden.items()}, HERE / "formats.golden.safetensors")
