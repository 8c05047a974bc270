/* `semroute bench tokenizer`: tokens of a text, in comparison with Hugging Face's tokenizers. */
#ifndef SR_BENCH_TOKENIZER_H
#define SR_BENCH_TOKENIZER_H

/* Options: --tokenizer FILE or --each DIR, --text FILE, --python PATH (of an environment with `tokenizers`)
 * or "off", --seconds S, --json. Prints a table or one JSON document; returns the process's exit code (0, 2
 * wrong usage, 3 it broke). */
int sr_bench_tokenizer(int argc, char **argv);

#endif
