/*
 * semroute bench guards: milliseconds for domain, jailbreak and pii over a whole prompt, cold, and for the
 * next turn of a conversation, in comparison with ONNX Runtime as the paper's baseline.
 */
#ifndef SR_BENCH_GUARDS_H
#define SR_BENCH_GUARDS_H

/* Options: see --help. Returns the process's exit code (0, 2 wrong usage, 3 it broke). */
int sr_bench_guards(int argc, char **argv);

#endif
