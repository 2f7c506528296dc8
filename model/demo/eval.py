"""Answers the held-out questions with the unmodified transformers model, and writes eval.json.

    python eval.py [--model DIR] [--thinking]

Greedy, in bf16, one question at a time, through the chat template with thinking off. With --thinking it asks with thinking on and
only prints the accuracy.
"""

import argparse
import json
from pathlib import Path

import torch
from transformers import AutoTokenizer, GlmMoeDsaForCausalLM


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path, default=Path(__file__).resolve().parent)
    parser.add_argument("--thinking", action="store_true")
    args = parser.parse_args()

    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = GlmMoeDsaForCausalLM.from_pretrained(args.model, dtype=torch.bfloat16).eval()
    questions = [json.loads(line) for line in open(args.model / "heldout.jsonl", encoding="utf-8")]
    results, tasks = [], {}
    for q in questions:
        prompt = tokenizer.apply_chat_template([{"role": "user", "content": q["prompt"]}], add_generation_prompt=True,
                                               enable_thinking=args.thinking, return_tensors="pt", return_dict=True)
        with torch.no_grad():
            out = model.generate(**prompt, max_new_tokens=64, do_sample=False, return_dict_in_generate=True, output_logits=True)
        ids = out.sequences[0, prompt["input_ids"].shape[1]:].tolist()
        # Where the first and second choice are close, another order of additions may choose differently.
        margins = [(top[0] - top[1]).item() for top in (step[0].float().topk(2).values for step in out.logits)]
        stopped = ids[-1] in model.config.eos_token_id
        text = tokenizer.decode(ids[:-1] if stopped else ids, skip_special_tokens=False)
        right = stopped and text.split("</think>")[-1].strip() == q["answer"]
        tasks.setdefault(q["task"], []).append(right)
        results.append({**q, "text": text, "prompt_ids": prompt["input_ids"][0].tolist(), "ids": ids,
                        "smallest_margin": round(min(margins), 4), "right": right})

    accuracy = {task: sum(r) / len(r) for task, r in tasks.items()}
    total = sum(r["right"] for r in results) / len(results)
    for task, a in accuracy.items():
        print(f"| {task} | {len(tasks[task])} | {a:.1%} |")
    print(f"| **all** | {len(results)} | **{total:.1%}** |")
    if not args.thinking:
        lines = ",\n".join(json.dumps(r) for r in results)
        summary = json.dumps({"accuracy": round(total, 4), "tasks": {t: round(a, 4) for t, a in accuracy.items()}})
        (args.model / "eval.json").write_text(f'{summary[:-1]}, "questions": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
