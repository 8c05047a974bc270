/* semroute bench cache: the vector index beside hnswlib and FAISS. */
#ifndef SR_BENCH_CACHE_H
#define SR_BENCH_CACHE_H

/* argv[0] is "cache"; returns the process's exit code. */
int sr_bench_cache(int argc, char **argv);

#endif
