/*
 * The one list of signal types: a new type is a file with a `const struct sr_signal_ops sr_signal_<name>` and
 * a line here. The order is that of explanations and of bits in masks, and breaks ties of cost.
 */
#ifndef SR_SIGNAL_REGISTRY_H
#define SR_SIGNAL_REGISTRY_H

#define SR_SIGNAL_LIST(X)                                                                                    \
    X(CONTEXT, context)                                                                                      \
    X(KEYWORD, keyword)                                                                                      \
    X(STRUCTURE, structure)                                                                                  \
    X(LANGUAGE, language)                                                                                    \
    X(DOMAIN, domain)                                                                                        \
    X(JAILBREAK, jailbreak)                                                                                  \
    X(PII, pii)                                                                                              \
    X(EMBEDDING, embedding)

#endif
