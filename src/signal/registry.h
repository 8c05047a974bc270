/*
 * The list of signal types: a new type is a file with a `const struct sr_signal_ops sr_signal_<name>` and
 * a line here. Explanations and bits in masks use this order, and it breaks ties of cost.
 */
#ifndef SR_SIGNAL_REGISTRY_H
#define SR_SIGNAL_REGISTRY_H

#define SR_SIGNAL_LIST(X)                                                                                    \
    X(CONTEXT, sr_signal_context)                                                                            \
    X(KEYWORD, sr_signal_keyword)                                                                            \
    X(STRUCTURE, sr_signal_structure)                                                                        \
    X(LANGUAGE, sr_signal_language)                                                                          \
    X(DOMAIN, sr_signal_domain)                                                                              \
    X(JAILBREAK, sr_signal_jailbreak)                                                                        \
    X(PII, sr_signal_pii)                                                                                    \
    X(EMBEDDING, sr_signal_embedding)                                                                        \
    X(CONVERSATION, sr_signal_conversation)                                                                  \
    X(METADATA, sr_signal_metadata)                                                                          \
    X(EVENT, sr_signal_event)                                                                                \
    X(AUTHZ, sr_signal_authz)                                                                                \
    X(MODALITY, sr_signal_modality)                                                                          \
    X(FACT_CHECK, sr_signal_fact_check)                                                                      \
    X(USER_FEEDBACK, sr_signal_user_feedback)                                                                \
    X(REASK, sr_signal_reask)                                                                                \
    X(PREFERENCE, sr_signal_preference)                                                                      \
    X(COMPLEXITY, sr_signal_complexity)                                                                      \
    X(KB, sr_signal_kb)                                                                                      \
    X(PROJECTION, sr_signal_projection)                                                                      \
    X(WORKLOAD, sr_signal_workload)                                                                          \
    X(CONTRASTIVE, sr_signal_contrastive)

#endif
