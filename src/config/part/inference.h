/*
 * Encoders and classifiers, and the compression of what they read.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_INFERENCE_H
#define SR_CONFIG_PART_INFERENCE_H

#include "config/part/strings.h"

#include <stdbool.h>
#include <stddef.h>

/* global.model_catalog.modules.prompt_compression; weights, depth, first and last: 0 = the profile's */
struct sr_config_compression {
    bool enabled;
    const char *profile;            /* "default" */
    int max_tokens;                 /* 512; 0 = off */
    size_t min_length;              /* bytes */
    struct sr_strings skip_signals; /* types that read the original in addition to those that always do */
    double textrank, position, tfidf, novelty;
    double depth;
    int first, last;
    const char *tokenizer; /* a tokenizer.json that counts the tokens; empty: they are estimated */
    struct sr_config_position tokenizer_at; /* where the file names it */
};

/* How weights are held and multiplied. */
enum sr_config_precision { SR_CONFIG_FP32, SR_CONFIG_BF16, SR_CONFIG_INT8 };

/* Which texts the neural classifier of other languages reads. */
enum sr_config_multilingual {
    SR_CONFIG_MULTILINGUAL_AUTO, /* those in other scripts than Latin */
    SR_CONFIG_MULTILINGUAL_OFF,
    SR_CONFIG_MULTILINGUAL_ALWAYS,
};

/* global.model_catalog.embeddings and global.semroute.inference */
struct sr_config_inference {
    const char *encoder;    /* folder or name; empty: the default one, where it is found */
    int layers, dimensions; /* 0: all */
    int precision;          /* enum sr_config_precision */
    int neural_precision;   /* the same, of the neural classifier's trunk */
    int multilingual;       /* enum sr_config_multilingual */
    int threads;            /* 0: by the machine */
    const char *cpus;       /* empty: all */
    size_t memory_max;      /* bytes */
    int queue_jobs, batch_tokens, batch_wait_us, max_windows;
    const char *neural; /* folder or name of heads on the encoder; empty: the bundled ones, where found */
    const char *embedding_model,
        *cache_model;          /* encoders of rules by meaning, of the cache; empty: `encoder` */
    const char *models_folder; /* of model folders, in which those for tasks are found; empty: none */
    struct sr_config_position encoder_at, neural_at, models_folder_at; /* where the file names them */
    size_t neural_max; /* bytes of a text that the neural classifier reads; 0: any */
    bool alone;        /* the neural classifier without the other tiers; commands set it, no key does */
    double
        ask_below; /* a linear answer below this confidence goes to the neural classifier; 0: none, 1: all */
};

#endif
