/*
 * The loop on libuv: timers as an intrusive pairing heap over one uv_timer, deferred calls in the prepare and
 * check phases, the mailbox over uv_async.
 *
 * Timers are lazy: a later deadline is only stored; the heap is updated when the old deadline passes.
 */
#include "net/loop/loop.h"

#include "base/mem.h"
#include "net/loop/loop_uv.h"

#include <assert.h>

#define LOOP_FREE_MAX_MS 10000

/* ---- timers ---- */

static struct sr_timer *heap_meld(struct sr_timer *a, struct sr_timer *b)
{
    if (b->key < a->key) {
        struct sr_timer *t = a;
        a = b;
        b = t;
    }
    b->prev = a;
    b->next = a->child;
    if (a->child)
        a->child->prev = b;
    a->child = b;
    return a;
}

/* Merges a list of siblings into one heap: in pairs from the left, then all from the right. */
static struct sr_timer *heap_merge_siblings(struct sr_timer *first)
{
    struct sr_timer *pairs = NULL, *root = NULL;
    while (first) {
        struct sr_timer *a = first, *b = a->next;
        first = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b) {
            b->next = b->prev = NULL;
            a = heap_meld(a, b);
        }
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        struct sr_timer *next = pairs->next;
        pairs->next = NULL;
        root = root ? heap_meld(root, pairs) : pairs;
        pairs = next;
    }
    return root;
}

static void heap_insert(struct sr_loop *loop, struct sr_timer *timer)
{
    timer->child = timer->next = timer->prev = NULL;
    loop->heap = loop->heap ? heap_meld(loop->heap, timer) : timer;
}

static void heap_remove(struct sr_loop *loop, struct sr_timer *timer)
{
    struct sr_timer *rest;
    if (timer != loop->heap) {
        if (timer->prev->child == timer)
            timer->prev->child = timer->next;
        else
            timer->prev->next = timer->next;
        if (timer->next)
            timer->next->prev = timer->prev;
    }
    rest = heap_merge_siblings(timer->child);
    if (timer == loop->heap)
        loop->heap = rest;
    else if (rest)
        loop->heap = heap_meld(loop->heap, rest);
    timer->child = timer->next = timer->prev = NULL;
}

static void alarm_fired(uv_timer_t *alarm);

static void alarm_set(struct sr_loop *loop)
{
    uint64_t now = uv_now(&loop->uv), due;
    if (!loop->heap || (loop->alarm_due && loop->alarm_due <= loop->heap->key))
        return;
    due = loop->heap->key;
    uv_timer_start(&loop->alarm, alarm_fired, due > now ? due - now : 0, 0);
    loop->alarm_due = due;
}

static void alarm_fired(uv_timer_t *alarm)
{
    struct sr_loop *loop = alarm->data;
    uint64_t now = uv_now(&loop->uv);
    while (loop->heap && loop->heap->key <= now) {
        struct sr_timer *timer = loop->heap;
        heap_remove(loop, timer);
        if (timer->due > now) {
            timer->key = timer->due;
            heap_insert(loop, timer);
        } else {
            timer->armed = false;
            timer->fire(timer->ctx);
        }
    }
    loop->alarm_due = 0;
    alarm_set(loop);
}

void sr_timer_init(struct sr_timer *timer, struct sr_loop *loop, void (*fire)(void *ctx), void *ctx)
{
    *timer = (struct sr_timer){.loop = loop, .fire = fire, .ctx = ctx};
}

void sr_timer_start(struct sr_timer *timer, uint64_t ms)
{
    struct sr_loop *loop = timer->loop;
    /* At least 1: a timer that restarts itself from its own callback must not run without end. */
    timer->due = uv_now(&loop->uv) + (ms ? ms : 1);
    if (timer->armed) {
        if (timer->due >= timer->key)
            return;
        heap_remove(loop, timer);
    }
    timer->armed = true;
    timer->key = timer->due;
    heap_insert(loop, timer);
    alarm_set(loop);
}

void sr_timer_stop(struct sr_timer *timer)
{
    if (!timer->armed)
        return;
    timer->armed = false;
    heap_remove(timer->loop, timer);
}

/* ---- deferred calls ---- */

void sr_loop_defer(struct sr_loop *loop, struct sr_deferred *task)
{
    if (task->pprev)
        return;
    task->loop = loop;
    task->next = NULL;
    task->pprev = loop->deferred_tail;
    *loop->deferred_tail = task;
    loop->deferred_tail = &task->next;
}

void sr_deferred_cancel(struct sr_deferred *task)
{
    if (!task->pprev)
        return;
    *task->pprev = task->next;
    if (task->next)
        task->next->pprev = task->pprev;
    else
        task->loop->deferred_tail = task->pprev;
    task->pprev = NULL;
}

static void deferred_run(struct sr_loop *loop)
{
    while (loop->deferred) {
        struct sr_deferred *task = loop->deferred;
        loop->deferred = task->next;
        if (task->next)
            task->next->pprev = &loop->deferred;
        else
            loop->deferred_tail = &loop->deferred;
        task->pprev = NULL;
        task->run(task->ctx);
    }
}

static void prepare_cb(uv_prepare_t *handle)
{
    deferred_run(handle->data);
}

static void check_cb(uv_check_t *handle)
{
    deferred_run(handle->data);
}

/* ---- the loop ---- */

static void wake_cb(uv_async_t *wake)
{
    struct sr_loop *loop = wake->data;
    sr_mailbox_run(&loop->box);
    if (atomic_load(&loop->stop))
        uv_stop(&loop->uv);
}

static void wake_send(void *ctx)
{
    struct sr_loop *loop = ctx;
    uv_async_send(&loop->wake);
}

int sr_loop_new(struct sr_loop **out)
{
    struct sr_loop *loop = sr_mem_calloc(1, sizeof *loop);
    if (!loop)
        return SR_ENOMEM;
    loop->read_buffer = sr_mem_alloc(SR_LOOP_READ_SIZE);
    if (!loop->read_buffer)
        goto fail;
    if (uv_loop_init(&loop->uv) != 0)
        goto fail;
    if (uv_async_init(&loop->uv, &loop->wake, wake_cb) != 0) {
        uv_loop_close(&loop->uv);
        goto fail;
    }
    uv_timer_init(&loop->uv, &loop->alarm);
    uv_prepare_init(&loop->uv, &loop->prepare);
    uv_check_init(&loop->uv, &loop->check);
    loop->wake.data = loop->alarm.data = loop->prepare.data = loop->check.data = loop;
    uv_prepare_start(&loop->prepare, prepare_cb);
    uv_check_start(&loop->check, check_cb);
    loop->deferred_tail = &loop->deferred;
    atomic_init(&loop->stop, false);
    sr_mailbox_init(&loop->box, wake_send, loop);
    *out = loop;
    return SR_OK;
fail:
    sr_mem_free(loop->read_buffer);
    sr_mem_free(loop);
    return SR_EIO;
}

void sr_loop_free(struct sr_loop *loop)
{
    uint64_t deadline;
    int rc;
    if (!loop)
        return;
    if (loop->dns)
        loop->dns_stop(loop);
    sr_mailbox_dispose(&loop->box);
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_unref((uv_handle_t *)&loop->prepare);
    uv_unref((uv_handle_t *)&loop->check);
    /* The uv_timer may still be set for a timer that was stopped. */
    uv_timer_stop(&loop->alarm);
    loop->alarm_due = 0;
    alarm_set(loop);
    /* The last answers are still being sent, each for a bounded time (sr_conn_finish). */
    deadline = uv_now(&loop->uv) + LOOP_FREE_MAX_MS;
    while (uv_run(&loop->uv, UV_RUN_ONCE) && uv_now(&loop->uv) < deadline)
        ;
    deferred_run(loop);
    uv_close((uv_handle_t *)&loop->alarm, NULL);
    uv_close((uv_handle_t *)&loop->prepare, NULL);
    uv_close((uv_handle_t *)&loop->check, NULL);
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    deferred_run(loop);
    rc = uv_loop_close(&loop->uv);
    assert(rc == 0 && "a connection, listener or client of the loop is still open");
    (void)rc;
    if (loop->dns)
        loop->dns_free(loop);
    sr_mem_free(loop->read_buffer);
    sr_mem_free(loop);
}

void sr_loop_run(struct sr_loop *loop)
{
    while (!atomic_load(&loop->stop))
        uv_run(&loop->uv, UV_RUN_DEFAULT);
    atomic_store(&loop->stop, false);
}

void sr_loop_stop(struct sr_loop *loop)
{
    atomic_store(&loop->stop, true);
    uv_async_send(&loop->wake);
}

int sr_loop_post(struct sr_loop *loop, struct sr_message *message)
{
    return sr_mailbox_send(&loop->box, message);
}

uint64_t sr_loop_now(const struct sr_loop *loop)
{
    return uv_now(&loop->uv);
}

int sr_uv_code(int status)
{
    switch (status) {
    case UV_ECONNREFUSED:
    case UV_ECONNRESET:
    case UV_ECONNABORTED:
    case UV_EPIPE:
    case UV_EOF:
    case UV_ENOTCONN:
        return SR_ECLOSED;
    case UV_ETIMEDOUT:
        return SR_ETIMEOUT;
    case UV_ENOMEM:
        return SR_ENOMEM;
    case UV_ECANCELED:
        return SR_ECANCELED;
    case UV_EADDRINUSE:
        return SR_EBUSY;
    default:
        return SR_EIO;
    }
}

const char *sr_uv_text(int status)
{
    return uv_strerror(status);
}
