"""What transformers computes with the demo model in bf16, for one in 24 of its held-out questions.

    python make_demo.py [--out DIR]

A trained model makes its choices (experts, next tokens) with room to spare, so that its bf16 results can be compared closely,
which those of the random tiny-bf16 cannot. See README.md for the tensors.
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import GlmMoeDsaForCausalLM

HERE = Path(__file__).resolve().parent
DEMO = HERE.parent.parent / "model" / "demo"
EVERY = 24


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=HERE)
    out = parser.parse_args().out
    questions = json.loads((DEMO / "eval.json").read_text())["questions"][::EVERY]
    half = GlmMoeDsaForCausalLM.from_pretrained(DEMO, dtype=torch.bfloat16).eval()
    full = GlmMoeDsaForCausalLM.from_pretrained(DEMO, dtype=torch.float32).eval()
    tensors = {}
    for i, question in enumerate(questions):
        ids = torch.tensor(question["prompt_ids"])
        bf16 = half(ids[None], use_cache=False).logits[0, -1].float()
        f32 = full(ids[None], use_cache=False).logits[0, -1]
        tensors |= {f"prompt.{i}.ids": ids.to(torch.int32), f"prompt.{i}.bf16": bf16, f"prompt.{i}.f32": f32}
        print(f"{question['prompt']!r}: bf16 against f32 {((bf16 - f32).abs().max() / f32.abs().max()).item():.4f}")
    save_file(tensors, out / "demo.golden.safetensors")
    (out / "demo.golden.safetensors").chmod(0o644)


if __name__ == "__main__":
    main()
