"""The openai Python client, unchanged, against `wavetune serve` with the demo model on the CPU device.

    .venv/bin/python tests/cli/openai_client_test.py WAVETUNE_BINARY MODEL_DIRECTORY
"""

import json
import re
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import openai

BINARY, MODEL = sys.argv[1], Path(sys.argv[2])
HELDOUT = [json.loads(line) for line in (MODEL / "heldout.jsonl").read_text().splitlines()]
NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}


def start_server():
    """Starts serve on a free port; returns the process and the base URL that it prints."""
    process = subprocess.Popen(
        [BINARY, "serve", "--model", MODEL, "--device", "cpu", "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []
    for line in process.stdout:
        lines.append(line)
        found = re.search(r"listening on (http://[^\s]+)", line)
        if found:
            threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True).start()
            return process, found.group(1)
    raise RuntimeError("serve ended before it listened:\n" + "".join(lines))


class OpenAiClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process, cls.url = start_server()
        cls.client = openai.OpenAI(base_url=cls.url + "/v1", api_key="unused", max_retries=0, timeout=120)
        cls.model = cls.client.models.list().data[0].id

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait(timeout=30)

    def chat(self, text, **options):
        options.setdefault("temperature", 0)
        options.setdefault("max_tokens", 48)
        options.setdefault("extra_body", NO_THINKING)
        return self.client.chat.completions.create(
            model=self.model, messages=[{"role": "user", "content": text}], **options)

    def test_chat_answers_right(self):
        question = HELDOUT[0]
        answer = self.chat(question["prompt"])
        self.assertEqual(answer.choices[0].message.content.strip(), question["answer"])
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        usage = answer.usage
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
        self.assertGreater(usage.prompt_tokens, 4)

    def test_streamed_chat_gives_the_same_text(self):
        question = HELDOUT[1]["prompt"]
        whole = self.chat(question)
        chunks = list(self.chat(question, stream=True, stream_options={"include_usage": True}))
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)
        self.assertEqual(chunks[-1].usage.prompt_tokens, whole.usage.prompt_tokens)

    def test_usage_counts_prompt_ids(self):
        answer = self.client.completions.create(model=self.model, prompt=[5, 6, 7, 8, 9], max_tokens=3, temperature=0,
                                                extra_body={"ignore_eos": True})
        self.assertEqual(answer.usage.prompt_tokens, 5)
        self.assertEqual(answer.usage.completion_tokens, 3)
        self.assertEqual(answer.choices[0].finish_reason, "length")

    def test_max_tokens_ends_with_length(self):
        answer = self.chat(HELDOUT[0]["prompt"], max_tokens=1)
        self.assertEqual(answer.usage.completion_tokens, 1)
        self.assertEqual(answer.choices[0].finish_reason, "length")

    def test_streamed_completion(self):
        options = dict(model=self.model, prompt="What is", max_tokens=12, temperature=0)
        whole = self.client.completions.create(**options).choices[0].text
        parts = [c.choices[0].text for c in self.client.completions.create(stream=True, **options) if c.choices]
        self.assertEqual("".join(parts), whole)

    def test_stop_cuts_before_the_stop_string(self):
        options = dict(model=self.model, prompt="What is the capital of", max_tokens=24, temperature=0,
                       extra_body={"ignore_eos": True})
        whole = self.client.completions.create(**options).choices[0].text
        stop = whole[len(whole) // 2:][:3]
        answer = self.client.completions.create(stop=[stop], **options).choices[0]
        self.assertEqual(answer.text, whole[:whole.index(stop)])
        self.assertEqual(answer.finish_reason, "stop")
        parts = [c.choices[0].text for c in self.client.completions.create(stop=stop, stream=True, **options) if c.choices]
        self.assertEqual("".join(parts), answer.text)

    def test_seed_repeats_and_varies(self):
        def sample(seed):
            return self.client.completions.create(model=self.model, prompt="a", max_tokens=24, temperature=1.5, top_p=0.95,
                                                  seed=seed, extra_body={"ignore_eos": True}).choices[0].text
        self.assertEqual(sample(7), sample(7))
        self.assertGreater(len({sample(seed) for seed in range(4)}), 1)

    def test_errors_name_the_field(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat("hello", temperature=-1)
        self.assertEqual(caught.exception.body["param"], "temperature")
        with self.assertRaises(openai.NotFoundError):
            self.client.completions.create(model="no-such-model", prompt="x")
        self.assertEqual(self.chat(HELDOUT[0]["prompt"]).choices[0].finish_reason, "stop")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
