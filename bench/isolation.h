/* semroute bench isolation: what small requests wait for beside clients with long prompts. */
#ifndef SR_BENCH_ISOLATION_H
#define SR_BENCH_ISOLATION_H

int sr_bench_isolation(int argc, char **argv);

#endif
