/*
 * How tools are chosen and ranked: `global.integrations.tools`, and the plugins that do it.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_TOOLS_H
#define SR_CONFIG_PART_TOOLS_H

#include "config/part/strings.h"

#include <stdbool.h>

#define SR_TOOLS_INHERITED (-2.0) /* a threshold that no cosine has: it is global.integrations.tools' */

/* How tools are chosen by meaning: global.integrations.tools, and each plugin that does it. */
struct sr_config_tools {
    bool enabled;
    const char *file; /* the tool database; "" = none */
    struct sr_config_position
        file_at;      /* where the file, or what chooses from it, stands in the configuration */
    int top_k;        /* tools that are added at most, above 0 */
    double threshold; /* least similarity of an added tool */
    bool empty;       /* nothing fits: the request has no tools; else an empty list */
    struct {
        bool enabled;
        int pool;         /* the best so many are weighed; 0 = five times top_k, at least 20 */
        int min_words;    /* of the question that a tool must share; 0 = none needed */
        double min_score; /* of the weighed sum; 0 = none needed */
        double embed, lexical, tag, name, category; /* weights */
        bool by_category;               /* tools of other categories than the question's are left out */
        double category_confidence;     /* from which the question's category counts */
        struct sr_strings allow, block; /* names; `allow` empty = all */
    } advanced;
};

/* How tools are ranked. */
enum sr_tool_strategy { SR_TOOLS_DEFAULT, SR_TOOLS_SEMANTIC, SR_TOOLS_HYBRID };

#define SR_TOOL_HISTORY_WINDOW 8 /* where nothing else is said */

/* How the tools that the conversation called before count where tools are ranked. */
struct sr_config_tool_history {
    bool on;
    int window;                                  /* the latest calls that count */
    double semantic, history, prior, repetition; /* weights; `repetition` is subtracted */
    double min_confidence;                       /* below it the calls say too little */
    bool falls_back; /* then the meaning alone ranks; else they count nevertheless */
};

enum sr_tools_mode { SR_TOOLS_PASSTHROUGH, SR_TOOLS_FILTERED, SR_TOOLS_NONE };
enum sr_tool_selection_mode { SR_TOOL_SELECTION_ADD, SR_TOOL_SELECTION_FILTER };

#endif
