/*
 * What a decision does with its requests and answers: `decisions[].plugins`.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_PLUGINS_H
#define SR_CONFIG_PART_PLUGINS_H

#include "config/part/cache.h"
#include "config/part/replay.h"
#include "config/part/rules.h"
#include "config/part/strings.h"
#include "config/part/tools.h"

#include <stdbool.h>
#include <stdint.h>

enum sr_prompt_mode { SR_PROMPT_INSERT, SR_PROMPT_REPLACE, SR_PROMPT_APPEND };

/* What a guard does with a request that its decision matches. */
enum sr_guard_action {
    SR_GUARD_ALLOW,  /* lets it pass, and no later guard is asked */
    SR_GUARD_FLAG,   /* forwards it and reports that in the answer's headers */
    SR_GUARD_ROUTE,  /* sends it to the decision's model */
    SR_GUARD_BLOCK,  /* answers it */
    SR_GUARD_REDACT, /* replaces private data with placeholders */
};

/* What happens to an answer that looks like the work of an attack. */
enum sr_response_action {
    SR_RESPONSE_HEADER, /* the answer continues, with a warning */
    SR_RESPONSE_BLOCK,  /* the client does not get it */
    SR_RESPONSE_NONE,   /* it is counted */
};

/* decisions[].plugins, one field each; `set` says whether the plugin is there. */
struct sr_config_plugins {
    struct {
        bool set;
        const char *message;
    } fast_response;
    struct {
        bool set;
        const char *text;
        enum sr_prompt_mode mode;
    } system_prompt;
    struct {
        bool set;
        struct sr_name_values add, update;
        struct sr_strings remove; /* key `delete` */
    } header_mutation;
    struct {
        bool set;
        struct sr_strings blocked_params;
        int64_t max_tokens_limit; /* 0 = none */
        int64_t max_n;            /* 0 = none */
        bool strip_unknown;
    } request_params;
    struct {
        bool set;
        enum sr_guard_action action;
        bool restore;        /* redact: the answer gets the values back */
        int status;          /* block: 403, or 200 for a completion that was filtered */
        const char *message; /* block: "" = a text that names the findings */
    } guard;
    struct {
        bool set;
        double threshold; /* 0: prompt_guard's */
        enum sr_response_action action;
        enum sr_on_error on_error; /* an answer that could not be classified */
    } response_jailbreak;
    struct sr_config_cache_use response_cache;
    struct sr_config_replay_capture router_replay;
    struct {
        bool set;
        enum sr_tools_mode mode;
        bool semantic; /* a request without tools of its own gets those of the database that fit */
        struct sr_strings allow, block; /* names, in mode `filtered`; `allow` empty = all */
        bool strip_history;             /* mode `none`: earlier calls and their results go too */
        enum sr_tool_strategy strategy;
        bool dynamic;                           /* dynamic_retrieval.enabled */
        enum sr_tool_strategy dynamic_strategy; /* counts where `dynamic` is set */
        struct sr_config_tool_history history;  /* of tool_selection, too */
    } tools;
    struct {
        bool set;
        enum sr_tool_selection_mode mode;
        struct sr_config_tools choice; /* what the plugin leaves out is global.integrations.tools' */
        bool own_empty, own_advanced;  /* the plugin gives choice.empty, choice.advanced */
        double relevance;              /* filter: least similarity of a tool that stays */
        int preserve;                  /* filter: the best so many stay */
        enum sr_tool_strategy strategy;
    } tool_selection;
};

#endif
