/* Runs one signal type of a hand-built configuration over a text. */
#ifndef TESTS_UNIT_SIGNAL_KIT_H
#define TESTS_UNIT_SIGNAL_KIT_H

#include "by_hand.h"
#include "cmocka_all.h"

#include "signal/signal.h"

struct kit {
    struct sr_signals *signals;
    struct sr_arena arena;
    const struct sr_signal_result *result;
    struct sr_signal_run *run;
};

static inline void kit_open(struct kit *kit, const struct sr_config *config)
{
    struct sr_err err = {0};
    *kit = (struct kit){.result = NULL};
    sr_arena_init(&kit->arena, (size_t)64 << 20);
    if (sr_signals_new(&kit->signals, config, NULL, &err))
        fail_msg("%s", err.message);
}

static inline const struct sr_signal_result *kit_run(struct kit *kit, enum sr_signal_type type,
                                                     struct sr_bytes text)
{
    struct sr_signal_input *input = sr_signal_input_new(text, text.n);
    if (kit->run)
        sr_signal_run_dispose(kit->run);
    assert_int_equal(
        sr_signal_run_new(&kit->run, kit->signals, input, (struct sr_signal_env){NULL, NULL, 0}, &kit->arena),
        SR_OK);
    sr_signal_input_unref(input);
    assert_int_equal(sr_signal_run_start(kit->run, type, NULL, NULL), SR_OK);
    kit->result = sr_signal_run_result(kit->run, type);
    return kit->result;
}

static inline void kit_close(struct kit *kit)
{
    if (kit->run)
        sr_signal_run_dispose(kit->run);
    sr_signals_unref(kit->signals);
    sr_arena_dispose(&kit->arena);
}

#endif
