/* Queues of jobs, and lists of CPUs. */
#include "infer/engine/private.h"

#include <stdlib.h>

/* The last job that is due no later; NULL: there is none. Looks from both ends, as new jobs belong near one
 * of them. */
static struct sr_infer_job *find_place(const struct sr_infer_queue *queue, uint64_t due_ns)
{
    struct sr_infer_job *early = queue->head, *late = queue->tail;
    while (late && late->due_ns > due_ns) {
        if (early->due_ns > due_ns)
            return early->prev;
        early = early->next;
        late = late->prev;
    }
    return late;
}

void sr_infer_queue_put(struct sr_infer_queue *queue, struct sr_infer_job *job, struct sr_infer_job *near)
{
    struct sr_infer_job *before = near ? near : find_place(queue, job->due_ns);
    while (near && before->next && before->next->due_ns <= job->due_ns)
        before = before->next;
    job->prev = before;
    job->next = before ? before->next : queue->head;
    *(before ? &before->next : &queue->head) = job;
    *(job->next ? &job->next->prev : &queue->tail) = job;
}

void sr_infer_queue_drop(struct sr_infer_queue *queue, struct sr_infer_job *job)
{
    if (job->prev)
        job->prev->next = job->next;
    else
        queue->head = job->next;
    if (job->next)
        job->next->prev = job->prev;
    else
        queue->tail = job->prev;
    job->next = job->prev = NULL;
}

/* A number at *p, which moves behind it; -1 when there is none below CPU_SETSIZE. */
static long cpu_number(const char **p)
{
    if (**p < '0' || **p > '9')
        return -1;
    char *end;
    long cpu = strtol(*p, &end, 10);
    *p = end;
    return cpu < CPU_SETSIZE ? cpu : -1;
}

int sr_infer_check_cpus(const char *list, struct sr_err *err)
{
    cpu_set_t ignored;
    return sr_infer_parse_cpus(list, &ignored, err);
}

int sr_infer_parse_cpus(const char *list, cpu_set_t *set, struct sr_err *err)
{
    const char *p = list;
    CPU_ZERO(set);
    do {
        long first = cpu_number(&p), last = first;
        if (first >= 0 && *p == '-') {
            p++;
            last = cpu_number(&p);
        }
        if (first < 0 || last < first || (*p && *p != ','))
            return sr_err_set(err, SR_EINVAL, "`%.60s` is no list of CPUs such as 0-3,8", list);
        for (long cpu = first; cpu <= last; cpu++)
            CPU_SET((size_t)cpu, set);
    } while (*p++ == ',');
    return SR_OK;
}
