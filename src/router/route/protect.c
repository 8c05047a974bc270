/* The key of a conversation is a hash of its names and its client; its candidate is known by a hash, too. */
#include "router/route/protect.h"

#include "base/clock.h"
#include "base/hash.h"
#include "decide/decide.h"
#include "router/request/facts.h"

#include <math.h>

static int64_t now_ms(void)
{
    return (int64_t)(sr_clock_ns() / SR_NS_PER_MS);
}

/* 0: the client has not named what the scope asks for. */
static uint64_t key_of(const struct sr_config_protection *config, const struct sr_session *session,
                       uint64_t client)
{
    uint64_t key = sr_hash64(session->id, client);
    if (config->scope == SR_PROTECT_SESSION)
        return session->id.n ? key | 1 : 0;
    return session->conversation.n ? sr_hash64(session->conversation, key + 2) | 1 : 0;
}

/* The settings of the decision over the global ones. */
static struct sr_config_protection settings_of(const struct sr_config_protection *global,
                                               const struct sr_config_adaptations *own)
{
    struct sr_config_protection config = *global;
    if (own->switch_margin >= 0)
        config.switch_margin = own->switch_margin;
    if (own->stability_weight >= 0)
        config.stability_weight = own->stability_weight;
    return config;
}

static enum sr_adaptation_mode mode_of(const struct sr_config_adaptations *own)
{
    return own->mode > own->protection_mode ? own->mode : own->protection_mode;
}

/* The candidate that the conversation has; n_refs: it is none of the decision's. */
static size_t held_ref(const struct sr_router *router, const struct sr_config_decision *decision,
                       uint64_t arm)
{
    size_t i = 0;
    while (i < decision->n_refs &&
           sr_arm_key(decision->name, router->config->models[decision->refs[i].model].name,
                      decision->refs[i].lora_name) != arm)
        i++;
    return i;
}

static void find_hold(struct sr_protection *p, const struct sr_protection_inputs *in,
                      const struct sr_config_decision *decision)
{
    struct sr_protect_verdict verdict;
    p->ask.hold = sr_holds_get(in->router->holds, p->found.key, &p->hold) ? &p->hold : NULL;
    p->continues = sr_protect_continues(&p->ask, &verdict);
    size_t held = p->continues ? held_ref(in->router, decision, p->hold.arm) : 0;
    if (p->continues && held == decision->n_refs) {
        p->continues = false;
        verdict = (struct sr_protect_verdict){"new", "not_a_candidate", false};
    }
    if (p->continues)
        p->found.model = in->router->config->models[decision->refs[held].model].name;
    p->found.action = verdict.action;
    p->found.reason = verdict.reason;
}

bool sr_protection_begin(struct sr_protection *p, const struct sr_protection_inputs *in)
{
    const struct sr_config *config = in->router->config;
    const struct sr_config_learning *learning = &config->global.learning;
    const struct sr_config_decision *decision =
        in->decision->decision < 0 ? NULL : &config->decisions[in->decision->decision];
    *p = (struct sr_protection){0};
    if (!learning->enabled || !learning->protection.enabled || !in->router->holds || !decision ||
        decision->n_refs < 2)
        return false;
    enum sr_adaptation_mode mode = mode_of(&decision->adaptations);
    p->applies = mode == SR_ADAPTATION_APPLY;
    p->found = (struct sr_record_protection){
        .known = true,
        .observes = mode == SR_ADAPTATION_OBSERVE,
        .scope = learning->protection.scope == SR_PROTECT_SESSION ? "session" : "conversation",
        .action = mode == SR_ADAPTATION_BYPASS ? "bypass" : "none",
        .reason = mode == SR_ADAPTATION_BYPASS ? "decision" : "no_identity",
        .model = "",
        .decision = sr_hash64(sr_bytes_str(decision->name), 0),
    };
    if (mode == SR_ADAPTATION_BYPASS)
        return false;
    p->found.key = key_of(&learning->protection, in->session, in->client);
    if (!p->found.key)
        return false;
    p->config = settings_of(&learning->protection, &decision->adaptations);
    p->ask = (struct sr_protect_ask){
        .config = &p->config, .decision = p->found.decision, .now_ms = now_ms(), .bytes = in->doc->body.n};
    find_hold(p, in, decision);
    return p->continues && p->applies;
}

/* The best of the scores, and whether it is that of `held` too. */
static double best_of(const double *scores, size_t n, size_t held, bool *same)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (scores[i] > scores[best])
            best = i;
    *same = best == held;
    return scores[best];
}

int sr_protection_apply(struct sr_protection *p, const struct sr_protection_inputs *in,
                        const struct sr_plan *plan, struct sr_decision *decision, struct sr_arena *arena)
{
    struct sr_protect_verdict verdict;
    struct sr_signal_facts facts;
    bool same;
    if (!p->continues)
        return SR_OK;
    const struct sr_config_decision *chosen = &in->router->config->decisions[decision->decision];
    double *scores = sr_arena_calloc(arena, chosen->n_refs, sizeof *scores);
    if (!scores || sr_facts_read(&facts, in->doc, false, arena))
        return SR_ENOMEM;
    sr_plan_scores(plan, decision, scores);
    size_t held = held_ref(in->router, chosen, p->hold.arm);
    double best = best_of(scores, chosen->n_refs, held, &same);
    p->ask.tool_loop = facts.tool_loop;
    sr_protect_decide(&p->ask, best, scores[held], same, &verdict);
    p->found.action = verdict.action;
    p->found.reason = verdict.reason;
    if (!verdict.holds || !p->applies)
        return SR_OK;
    scores[held] = best + 1;
    if (!decision->scores)
        decision->algorithm = "static";
    decision->scores = scores;
    return SR_OK;
}
