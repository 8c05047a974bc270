/*
 * The scripts of counters.c, in Redis' Lua. Each line of their argument is one counter;
 * docs/internals/limits.md describes them.
 */
#ifndef SR_STORE_REDIS_COUNTERS_SCRIPT_H
#define SR_STORE_REDIS_COUNTERS_SCRIPT_H

/* Lines: key, most, cost, milliseconds of a part, end (0: the window slides). Returns allowed (0 or 1), the
 * server's time, and for each counter: sum, wait (-1: never) and time until it is empty. */
extern const char sr_redis_counters_take[];

/* Lines: key, milliseconds of a part, end, time of the taking, more, less. */
extern const char sr_redis_counters_change[];

#endif
