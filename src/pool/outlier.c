/* Compares means with their median, every few milliseconds, on the thread that comes first. */
#include "pool/outlier.h"

#include "pool/circuit.h"
#include "pool/pace.h"

#include <math.h>
#include <stdlib.h>

#define REVIEW_NS   (UINT64_C(20) * 1000 * 1000)
#define LOOKED_AT   256 /* workers at most; more are not needed for a median */
#define KNOWN       6.0 /* requests of which the times are known */
#define HOLD_NS     (UINT64_C(30) * 1000 * 1000 * 1000) /* for which it is believed without a new review */
#define USED_LEAST  1.0 /* rate from which a worker counts among the group's */
#define TIMES_LEAST 2.0 /* from which a worker counts as more loaded */
#define LEAST_SHARE 0.1 /* of its requests, with which a worker comes back */
#define ROW_MAX     10  /* ejections in a row that make the next one longer */

struct looked_at {
    struct sr_pool_worker *worker;
    struct sr_pool_pace *paces;
    double means[SR_POOL_TIMES], rate;
};

bool sr_outlier_is_slow(const struct sr_pool_worker *worker, uint64_t now_ns)
{
    return atomic_load_explicit(&worker->slow_until_ns, memory_order_relaxed) > now_ns;
}

bool sr_outlier_is_past(const struct sr_pool_group *group, struct sr_pool_worker *worker, uint64_t now_ns)
{
    uint64_t until = atomic_load_explicit(&worker->slow_until_ns, memory_order_relaxed);
    if (until == 0)
        return false;
    if (until > now_ns)
        return true;
    double recovery = (double)group->ejection.recovery_ns, share = (double)(now_ns - until) / recovery;
    if (!(share < 1))
        return false;
    share = share > LEAST_SHARE ? share : LEAST_SHARE;
    double turn = (double)atomic_fetch_add_explicit(&worker->offers, 1, memory_order_relaxed);
    return floor((turn + 1) * share) <= floor(turn * share);
}

double sr_outlier_times(const struct sr_pool_worker *worker, uint64_t now_ns)
{
    uint32_t percent = atomic_load_explicit(&worker->pace_percent, memory_order_relaxed);
    uint64_t age = now_ns - atomic_load_explicit(&worker->paced_ns, memory_order_relaxed);
    double times = percent / 100.0;
    if (times < TIMES_LEAST || age >= HOLD_NS)
        return 1;
    return 1 + (times - 1) * (1 - (double)age / (double)HOLD_NS);
}

double sr_outlier_usual_ms(const struct sr_pool_group *group, enum sr_pool_time which)
{
    return (double)atomic_load_explicit(&group->usual_us[which], memory_order_relaxed) / 1000;
}

static int by_value(const void *a, const void *b)
{
    double of_a = *(const double *)a, of_b = *(const double *)b;
    return (of_a > of_b) - (of_a < of_b);
}

/* The lower median. */
static double median_of(double *values, size_t n)
{
    qsort(values, n, sizeof values[0], by_value);
    return values[(n - 1) / 2];
}

/* The times of the usual, of what is least unusual: a worker with cold or many prompts is late with its first
 * bytes, and one with long answers with its ends; one that is slow is late with both. */
static double times_of(const struct looked_at *at, const double usual[SR_POOL_TIMES])
{
    double times = HUGE_VAL;
    for (enum sr_pool_time which = 0; which < SR_POOL_TIMES; which++) {
        bool over = usual[which] > 0 && at->means[which] - usual[which] >= SR_OUTLIER_LEAST_MS;
        times = fmin(times, over ? at->means[which] / usual[which] : 1);
    }
    return times;
}

static void eject(struct sr_pool_group *group, const struct looked_at *at, const double usual[SR_POOL_TIMES],
                  uint64_t now)
{
    struct sr_pool_worker *worker = at->worker;
    uint64_t before = atomic_load_explicit(&worker->slow_until_ns, memory_order_relaxed);
    uint32_t row = atomic_load_explicit(&worker->slow_row, memory_order_relaxed) + 1;
    /* It was well for as long as it was ejected: that is forgotten. */
    if (!before || now - before > group->ejection.recovery_ns + group->ejection.base_ns * row)
        row = 1;
    row = row < ROW_MAX ? row : ROW_MAX;
    atomic_store_explicit(&worker->slow_row, row, memory_order_relaxed);
    atomic_store_explicit(&worker->slow_until_ns, now + group->ejection.base_ns * row, memory_order_relaxed);
    atomic_fetch_add_explicit(&worker->slowed, 1, memory_order_relaxed);
    for (enum sr_pool_time which = 0; which < SR_POOL_TIMES; which++)
        sr_pace_reset(&at->paces[which], usual[which]);
}

/* Those that a request would go past already. */
static size_t count_past(const struct sr_pool_candidate *candidates, size_t n, uint64_t now)
{
    size_t past = 0;
    for (size_t i = 0; i < n; i++)
        past += sr_outlier_is_slow(candidates[i].member->worker, now) ||
                sr_circuit_is_cooling(candidates[i].member->worker, now);
    return past;
}

static void weigh(struct sr_pool_group *group, const struct sr_pool_candidate *candidates, size_t n,
                  const struct looked_at *at, size_t count, uint64_t now)
{
    const struct sr_pool_ejection *ejection = &group->ejection;
    double usual[SR_POOL_TIMES], values[LOOKED_AT], rate = 0;
    size_t past = count_past(candidates, n, now);
    for (enum sr_pool_time which = 0; which < SR_POOL_TIMES; which++) {
        for (size_t i = 0; i < count; i++)
            values[i] = at[i].means[which];
        usual[which] = median_of(values, count);
        atomic_store_explicit(&group->usual_us[which], (uint64_t)(usual[which] * 1000), memory_order_relaxed);
    }
    for (size_t i = 0; i < count; i++)
        rate += at[i].rate / (double)count;
    for (size_t i = 0; i < count; i++) {
        double busy = at[i].rate > rate && rate > 0 ? at[i].rate / rate : 1;
        double times = times_of(&at[i], usual);
        atomic_store_explicit(&at[i].worker->pace_percent, (uint32_t)(times * 100), memory_order_relaxed);
        atomic_store_explicit(&at[i].worker->paced_ns, now, memory_order_relaxed);
        if (ejection->slow_times > 0 && times >= ejection->slow_times * busy &&
            (past == 0 || (past + 1) * 100 <= n * ejection->max_percent)) {
            eject(group, &at[i], usual, now);
            past++;
        }
    }
}

static bool look_at(struct looked_at *out, const struct sr_pool_group *group,
                    const struct sr_pool_member *member, uint64_t now)
{
    double least = HUGE_VAL, weight;
    out->worker = member->worker;
    out->paces = member->seat->paces;
    for (enum sr_pool_time which = 0; which < SR_POOL_TIMES; which++) {
        out->means[which] = sr_pace_mean(&out->paces[which], now, sr_outlier_usual_ms(group, which), &weight);
        least = fmin(least, weight);
    }
    out->rate = sr_pace_rate(&out->paces[SR_POOL_WHOLE], now);
    return least >= KNOWN;
}

void sr_outlier_review(struct sr_pool_group *group, const struct sr_pool_candidate *candidates, size_t n,
                       uint64_t now_ns)
{
    struct looked_at at[LOOKED_AT];
    size_t count = 0, used = 0, well = 0;
    uint64_t last = atomic_load_explicit(&group->reviewed_ns, memory_order_relaxed);
    if (n < 2 || now_ns - last < REVIEW_NS ||
        !atomic_compare_exchange_strong(&group->reviewed_ns, &last, now_ns))
        return;
    for (size_t i = 0; i < n && count < LOOKED_AT; i++) {
        const struct sr_pool_member *member = candidates[i].member;
        if (sr_circuit_is_cooling(member->worker, now_ns) || sr_outlier_is_slow(member->worker, now_ns))
            continue;
        bool known = look_at(&at[count], group, member, now_ns);
        well++;
        used += known || at[count].rate >= USED_LEAST;
        count += known;
    }
    /* Workers that get no requests say nothing; of more than two, two are too few to say which is slow. */
    if (count >= 2 && count * 2 > used && (count > 2 || count == well))
        weigh(group, candidates, n, at, count, now_ns);
}
