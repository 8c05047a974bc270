/* Ends an evaluation of a type: its partial result, its status, its completion. */
#include "base/clock.h"
#include "signal/types.h"

struct sr_signal_result sr_signal_failed(int status)
{
    return (struct sr_signal_result){.status = status, .tier = "", .top = -1};
}

void sr_signal_write_status(struct sr_signal_task *task, int status)
{
    enum sr_signal_over over = task->result->over;
    if (status)
        *task->result = sr_signal_failed(status);
    task->result->over = over;
    task->result->ns = sr_clock_ns() - task->since_ns;
}

void sr_signal_offer_partial(struct sr_signal_task *task)
{
    task->partial = *task->result;
    task->partial.neural_late = true;
    task->partial.ns = sr_clock_ns() - task->since_ns;
    sr_task_offer_partial(&task->base);
}

void sr_signal_complete(struct sr_signal_task *task, int status)
{
    sr_signal_write_status(task, status);
    sr_task_complete(&task->base, SR_OK);
}
