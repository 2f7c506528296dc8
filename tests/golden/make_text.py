"""Tokenizer cases and rendered chats, by Hugging Face tokenizers and transformers.

    python make_text.py [--demo ../../model/demo] [--out DIR]

Writes tokenizer/tokenizer.json, tokenizer/tokenizer-string-merges.json, tokenizer/cases.json and chat.json. See README.md.
"""

import argparse
import json
import random
import sysconfig
import unicodedata
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer

GLM4_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
              r"|\s+(?!\S)|\s+")
CONTROL = ["<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|system|>", "<|user|>", "<|assistant|>",
           "<|observation|>", "/nothink"]
MARKUP = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<arg_key>",
          "</arg_key>", "<arg_value>", "</arg_value>"]

# The same plain statement in many scripts: material for merges beyond ASCII, and cases.
LANGUAGES = {
    "english": "All people are born free and with equal rights. It's what we'll say, and they've heard it; don't forget.",
    "french": "L'été dernier, nous avons mangé des crêpes à la crème brûlée près du château; où êtes-vous allés, Noël?",
    "german": "Die Größe der Straße überraschte mich: fünf äußerst schöne Häuser, süße Äpfel und ein großer Fluß.",
    "spanish": "¿Dónde está el niño? Mañana comeremos piñas y jamón en la montaña, ¡qué alegría más grande!",
    "portuguese": "A criança não comeu o pão; amanhã à noite haverá canções, emoções e corações na praça.",
    "polish": "Zażółć gęślą jaźń. Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw.",
    "czech": "Příliš žluťoučký kůň úpěl ďábelské ódy. Všichni lidé rodí se svobodní a sobě rovní.",
    "turkish": "İstanbul'da ışıklı bir gece; çocuklar güneşli günlerde şarkı söylüyor, ağaçlar ve ördekler ığıl ığıl.",
    "vietnamese": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi.",
    "greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Καλημέρα, κόσμε!",
    "russian": "Все люди рождаются свободными и равными в своём достоинстве и правах. Съешь ещё этих мягких булок.",
    "ukrainian": "Усі люди народжуються вільними і рівними у своїй гідності та правах. Її ґанок, їжак і щастя.",
    "hebrew": "כל בני אדם נולדו בני חורין ושווים בערכם ובזכויותיהם. שָׁלוֹם עוֹלָם",
    "arabic": "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. السَّلامُ عَلَيْكُمْ، ١٢٣٤٥",
    "persian": "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند. ۱۲۳",
    "hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। नमस्ते १२३",
    "bengali": "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।",
    "tamil": "மனிதப் பிறவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; வணக்கம்.",
    "thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ สวัสดีชาวโลก ๑๒๓",
    "georgian": "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.",
    "armenian": "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։",
    "amharic": "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።",
    "chinese": "人人生而自由，在尊严和权利上一律平等。今天天气很好，我们去公园散步吧！他们赋有理性和良心。",
    "traditional": "人人生而自由，在尊嚴和權利上一律平等。繁體中文的測試：龍、龜、鬱、憂鬱的臺灣烏龜。",
    "japanese": "すべての人間は、生まれながらにして自由であり、尊厳と権利とについて平等である。カタカナとひらがな、漢字。",
    "korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 안녕하세요, 세계!",
}

HAND = [
    "", " ", "  ", "   ", "\n", "\r\n", "\r", "\t", "\n\n", "\n \n", " \n", "\n ", "\r\n\r\n", "\t\t\tx", "a", "A", "é", "0", "00", "000", "0000",
    "Hello, world!", "Hello  world", "Hello   world ", "  leading", "trailing  ", "trailing \n", "line one\nline two\r\nline three\rline four",
    "a \n\n b", "x\n\n\n   y", "   \n   \n", "tab\tseparated\tvalues", "mixed \t \n \t whitespace", "no\u00a0break space", "\u00a0\u00a0x",
    "thin\u2009space and\u3000ideographic\u3000space", "line\u2028separator\u2029paragraph", "zero\u200bwidth\u200cnon\u200djoiner", "\ufeffbyte order mark",
    "next\u0085line", "vertical\u000btab and\u000cform feed", "nul\u0000inside", "\u001b[31mred\u001b[0m", "\u007f delete",
    "I'm you're he's we've they'll I'd don't", "I'M YOU'RE HE'S WE'VE THEY'LL I'D DON'T", "it\u2019s typographic \u2018quotes\u2019", "'s 's'S 'sS 'tis 'Twas",
    "''s '' ' 'x '1 'll'LL'Ll'lL", "o'clock rock'n'roll d'être l'ami", "'\u017f and 'K: long s and Kelvin sign \u212a", "x'\u017fy",
    "1", "12", "123", "1234", "12345", "123456", "1234567", "3.14159", "1,234,567.89", "-42", "1e-10", "0x1F", "2026-11-30T12:49:21Z", "192.168.0.1",
    "٠١٢٣٤٥٦٧٨٩", "१२३४", "一二三四五", "ⅠⅡⅢⅣ", "½ ¼ ¾", "x² + y³ = z⁴", "①②③④⑤", "123abc456", "abc123def4567", "v1.2.3-rc4",
    "!!!", "... ---", "?!?!", "!\n", "!\r\n!", "a!\n\nb", " !", "  !", "a . b", "...\n...\n", "(a)[b]{c}<d>", "$100.00 €50 £20 ¥1000 ₹500",
    "a+b=c; x-=1; y*=2; z/=3; p->q; r::s", "#include <stdio.h>\nint main(void) {\n\treturn 0;\n}\n", "def f(x):\n    if x > 0:\n        return x\n    return -x\n",
    "const f = (a, b) => { return a ?? b; };", "SELECT * FROM t WHERE a = 'b' AND c <> 1;", "<html><body class=\"x\">&amp;</body></html>",
    "{\"key\": [1, 2.5, null, true], \"nested\": {\"a\": \"b\"}}", "https://example.org/path?query=1&x=y#fragment", "user@example.org", "C:\\Windows\\System32\\",
    "~/.config/file_name-01.tar.gz", "camelCaseName snake_case_name SCREAMING_CASE kebab-case-name", "__init__ _x_ x_1", "```python\nprint('hi')\n```",
    "# Title\n\n- item\n- item\n\n1. one\n2. two\n", "| a | b |\n|---|---|\n| 1 | 2 |", "E = mc²; ∑_{i=0}^{n} i² ≤ ∞ ∀x∈ℝ", "\\frac{a}{b} $x^2$",
    "😀", "😀😃😄", "a😀b", " 😀 ", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷🇩🇪🇯🇵", "1️⃣2️⃣", "❤️ ❤", "👩🏿‍🚀 to the 🌕", "🤷🏻‍♀️!!", "\U0001f9d1\u200d\U0001f4bb code",
    "café", "cafe\u0301", "Å Å A\u030a", "ﬁ ﬂ ﬀ ligatures", "ｆｕｌｌ ｗｉｄｔｈ １２３", "ǅ ǆ Ǆ titlecase", "ß ẞ SS", "İ i I ı", "ñ n\u0303", "한국 \u1112\u1161\u11ab\u1100\u116e\u11a8",
    "が か\u3099", "नि नी न\u093f", "\u0301 leading mark", "a\u0301\u0302\u0303\u0304 many marks", "Z\u0351\u036b\u0343a\u0369\u0364l\u0369\u034ago\u0363",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛", "𓀀𓁐𓂀", "𠜎𠜱𠝹", "\U0010ffff", "\ue000 private", "\ufffd replacement", "\ufffe noncharacter", "\u202eright to left\u202c", "العربية mixed with English 123",
    "<|endoftext|>", "[gMASK]<sop><|user|>Hello<|assistant|><think></think>Hi<|user|>", "[gMASK]<sop><|system|>Reasoning Effort: Max<|user|>What?<|assistant|><think>",
    " <|user|> ", "a<|user|>b", "<|user|><|user|>", "<|user", "<|user|", "|>", "<|USER|>", "<| user |>", "<|user|>\n\nhello\n<|assistant|>\n", "<think>\nI think.\n</think>\n\nAnswer.",
    "<think></think>", "</think>", "<think", "<<think>>", "/nothink", "say /nothink now", "x/nothinky", "[MASK] [gMASK] [sMASK] [mask]", "<sop><eop>",
    "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>", "<tool_response>{\"t\": 21}</tool_response>", "<|observation|><tool_response>ok</tool_response>",
    "[[gMASK]]", "[gMASK", "<|endoftext|><|endoftext|>", "don't<|user|>'s", " \n<|user|> \n",
    "a" * 100, "ab" * 60, " " * 50, "\n" * 20, "-" * 80, "=" * 33 + "\n", "the the the the the the", "Donaudampfschifffahrtsgesellschaftskapitän",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis", "xkcd qwerty zxcvbn asdfgh", "What is 27 plus 45?", "Sort these numbers: 5, 23, 17",
    "What is the capital of France?", "Repeat this: apple river stone", "The quick brown fox jumps over the lazy dog.", "THE QUICK BROWN FOX", "tHe QuIcK",
]

# Bytes that are not UTF-8, and what they become first: Python's errors="replace", the same as the "maximal subpart" rule of Unicode.
BROKEN = ["ff", "c3", "68690a80", "e282", "e2828a68e282", "f09f98", "f09f9880f09f98", "c0af", "eda080", "f4908080", "f8888080", "61c362", "fe ff", "e28228a1",
          "f0288cbc", "c3a9c3", "d0bfd1", "e4bda0e5a5", "80bf80", "41f09f41", "2020e3802020"]

TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather of a city, \"now\" or <later>.", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}}, "required": ["city"]},
        "strict": True}},
    {"type": "function", "function": {"name": "add", "description": "Adds numbers – größer, 加", "parameters": {
        "type": "object", "properties": {"numbers": {"type": "array", "items": {"type": "number"}}}}}},
]
DEFERRED = [{"type": "function", "function": {"name": "later", "description": "Loaded when asked for.", "parameters": {"type": "object"},
                                              "defer_loading": True}}]


def call(name, arguments, id):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


HI = [{"role": "user", "content": "Hello!"}]
TALK = [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": "What is 2 plus 3?"},
        {"role": "assistant", "content": "5"}, {"role": "user", "content": "And 4 plus 4?"}]
THOUGHT = [{"role": "user", "content": "What is 2 plus 3?"}, {"role": "assistant", "reasoning_content": "I add 2 and 3.", "content": "5"},
           {"role": "user", "content": "And 4 plus 4?"}, {"role": "assistant", "reasoning_content": "\nI add 4 and 4.\n", "content": "\n8\n"},
           {"role": "user", "content": "Thanks.\n"}]
USED = [{"role": "user", "content": "Weather in Zürich?"},
        {"role": "assistant", "reasoning_content": "I need the tool.", "content": "", "tool_calls": [
            call("get_weather", {"city": "Zürich", "days": 2}, "call_1"), call("add", {"numbers": [1, 2.5], "deep": {"a": None, "b": True, "c": "x\"y"}}, "call_2")]},
        {"role": "tool", "tool_call_id": "call_1", "content": "{\"sky\": \"clear\"}"}, {"role": "tool", "tool_call_id": "call_2", "content": "3.5"}]
CHATS = [
    ("hello", HI, {}), ("hello, thinking off", HI, {"enable_thinking": False}), ("hello, thinking on said aloud", HI, {"enable_thinking": True}),
    ("hello, high effort", HI, {"reasoning_effort": "high"}), ("hello, max effort", HI, {"reasoning_effort": "max"}),
    ("hello, unknown effort", HI, {"reasoning_effort": "low"}), ("hello, effort without thinking", HI, {"reasoning_effort": "high", "enable_thinking": False}),
    ("hello, no generation prompt", HI, {"add_generation_prompt": False}),
    ("system and turns", TALK, {}), ("system and turns, thinking off", TALK, {"enable_thinking": False}),
    ("reasoning kept", THOUGHT, {}), ("reasoning kept, said aloud", THOUGHT, {"clear_thinking": False}), ("reasoning cleared", THOUGHT, {"clear_thinking": True}),
    ("reasoning kept, thinking off", THOUGHT, {"enable_thinking": False}),
    ("reasoning inside the content", [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "<think>Polite.</think>Hello."},
                                      {"role": "user", "content": "Bye"}], {}),
    ("content parts", [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
                       {"role": "user", "content": [{"type": "text", "text": "One "}, {"type": "text", "text": "two\nthree"}]}], {"enable_thinking": False}),
    ("tools", HI, {"tools": TOOLS}), ("tools, thinking off", HI, {"tools": TOOLS, "enable_thinking": False}), ("deferred tool", HI, {"tools": TOOLS[1:] + DEFERRED}),
    ("tools with a system message", TALK, {"tools": TOOLS[:1]}), ("tool results", USED, {"tools": TOOLS}), ("tool results, thinking off", USED, {"tools": TOOLS, "enable_thinking": False}),
    ("tool results and an answer", USED + [{"role": "assistant", "content": "Clear, and 3.5."}, {"role": "user", "content": "Danke!"}], {"tools": TOOLS}),
    ("tool results and an answer, reasoning cleared", USED + [{"role": "assistant", "reasoning_content": "Done.", "content": "Clear, and 3.5."},
                                                               {"role": "user", "content": "Danke!"}], {"tools": TOOLS, "clear_thinking": True}),
    ("call without arguments", [{"role": "user", "content": "Time?"}, {"role": "assistant", "content": "Let me see. ", "tool_calls": [call("now", {}, "c")]},
                                {"role": "tool", "tool_call_id": "c", "content": "12:49"}], {}),
    ("special tokens in the text", [{"role": "user", "content": "What does <|user|> or <think> mean?\n\n"}], {"enable_thinking": False}),
    ("scripts", [{"role": "user", "content": "你好！ Привет 😀"}, {"role": "assistant", "content": "您好 👋🏽"}, {"role": "user", "content": "再见"}], {}),
]


def corpus():
    """Text that every Python carries (its own library), and the sentences above often enough to earn merges."""
    library = Path(sysconfig.get_paths()["stdlib"])
    files = ["argparse.py", "ast.py", "asyncio/base_events.py", "collections/__init__.py", "datetime.py", "difflib.py", "doctest.py", "email/message.py",
             "functools.py", "http/client.py", "inspect.py", "json/decoder.py", "logging/__init__.py", "os.py", "pathlib.py", "pydoc_data/topics.py",
             "random.py", "re/_parser.py", "statistics.py", "subprocess.py", "tarfile.py", "textwrap.py", "threading.py", "typing.py", "zipfile.py"]
    for name in files:
        if (library / name).exists():
            yield (library / name).read_text(encoding="utf-8")
    for sentence in LANGUAGES.values():
        yield from [sentence] * 40


def train(vocab):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(GLM4_SPLIT), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=vocab, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False))
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in CONTROL])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in MARKUP])
    return tokenizer


def texts():
    """(text, original bytes in hex or None)"""
    for text in HAND:
        yield text, None
    for text in LANGUAGES.values():
        yield text, None
        for form in ("NFC", "NFD", "NFKC"):
            changed = unicodedata.normalize(form, text)
            if changed != text:
                yield changed, None
    for text in BROKEN:
        raw = bytes.fromhex(text)
        yield raw.decode("utf-8", errors="replace"), raw.hex()
    # Anything at all: pieces of everything above, glued without regard for word ends.
    r = random.Random(3)
    pool = HAND + list(LANGUAGES.values()) + CONTROL + MARKUP
    for _ in range(60):
        parts = []
        for _ in range(r.randint(2, 6)):
            part = r.choice(pool)
            start = r.randrange(len(part) + 1)
            parts.append(part[start:start + r.randint(1, 12)])
        yield "".join(parts), None


def main():
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--demo", type=Path, default=here.parent.parent / "model" / "demo")
    parser.add_argument("--out", type=Path, default=here)
    args = parser.parse_args()
    folder = args.out / "tokenizer"
    folder.mkdir(parents=True, exist_ok=True)

    trained = json.loads(train(12000).to_str())
    compact = {"ensure_ascii": False, "separators": (",", ":")}
    (folder / "tokenizer.json").write_text(json.dumps(trained, **compact), encoding="utf-8")
    # The older form of the file, in which a merge is "a b" instead of ["a", "b"].
    small = json.loads(train(1500).to_str())
    small["model"]["merges"] = [" ".join(m) for m in small["model"]["merges"]]
    (folder / "tokenizer-string-merges.json").write_text(json.dumps(small, **compact), encoding="utf-8")

    tokenizers = {"demo": Tokenizer.from_file(str(args.demo / "tokenizer.json")), "varied": Tokenizer.from_file(str(folder / "tokenizer.json")),
                  "string_merges": Tokenizer.from_file(str(folder / "tokenizer-string-merges.json"))}
    cases, seen = [], set()
    for text, raw in texts():
        if (text, raw) in seen:
            continue
        seen.add((text, raw))
        case = {"text": text} | ({"bytes": raw} if raw is not None else {})
        for name, tokenizer in tokenizers.items():
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            decoded = tokenizer.decode(ids, skip_special_tokens=False)
            visible = tokenizer.decode(ids, skip_special_tokens=True)
            assert decoded == text, (name, text, decoded)
            case[name] = {"ids": ids, "decoded": decoded} | ({"visible": visible} if visible != decoded else {})
        cases.append(case)
    # Decoding of a stream can stop inside a character: what an unfinished one looks like.
    cut = []
    for text in ["é", "你好", "😀", "a👍🏽b", "한국어 กขค", "x<|user|>😀", "नमस्ते", "👨‍👩‍👧‍👦"]:
        for name, tokenizer in tokenizers.items():
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            for n in range(len(ids) + 1):
                cut.append({"tokenizer": name, "ids": ids[:n], "decoded": tokenizer.decode(ids[:n], skip_special_tokens=False)})
            for n in range(1, len(ids)):
                cut.append({"tokenizer": name, "ids": ids[n:], "decoded": tokenizer.decode(ids[n:], skip_special_tokens=False)})
    with open(folder / "cases.json", "w", encoding="utf-8") as f:
        # One case a line, and ASCII only: the file then survives editors that normalise Unicode or line ends.
        f.write("{\"files\": " + json.dumps({"demo": "../../../model/demo/tokenizer.json", "varied": "tokenizer.json",
                                             "string_merges": "tokenizer-string-merges.json"}) + ",\n\"cases\": [\n")
        f.write(",\n".join(json.dumps(c) for c in cases) + "\n],\n\"cut\": [\n")
        f.write(",\n".join(json.dumps(c) for c in cut) + "\n]}\n")

    tokenizer = AutoTokenizer.from_pretrained(args.demo)
    chats = []
    for name, messages, options in CHATS:
        options = {"add_generation_prompt": True} | options
        rendered = tokenizer.apply_chat_template(messages, tokenize=False, **options)
        ids = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, **options)
        assert ids == tokenizers["demo"].encode(rendered, add_special_tokens=False).ids
        chats.append({"name": name, "messages": messages, "options": options, "rendered": rendered, "ids": ids})
    (args.out / "chat.json").write_text("[\n" + ",\n".join(json.dumps(c) for c in chats) + "\n]\n")
    print(f"{len(cases)} texts, {len(cut)} cut decodings, {len(chats)} chats")


if __name__ == "__main__":
    main()
