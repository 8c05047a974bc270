/* The configuration that measurements of whole requests share. Its two %d are the port of the upstream. */
#ifndef SR_BENCH_SITE_H
#define SR_BENCH_SITE_H

#define SR_BENCH_SITE                                                                                        \
    "version: v0.3\n"                                                                                        \
    "providers:\n"                                                                                           \
    "  defaults: {default_model: other}\n"                                                                   \
    "  models:\n"                                                                                            \
    "    - {name: bench, backend_refs: [{name: mock, endpoint: \"127.0.0.1:%d\"}]}\n"                        \
    "    - {name: other, backend_refs: [{name: mock, endpoint: \"127.0.0.1:%d\"}]}\n"                        \
    "routing:\n"                                                                                             \
    "  modelCards: [{name: bench}, {name: other}]\n"                                                         \
    "  signals: {domains: [{name: physics}, {name: math}]}\n"                                                \
    "  decisions:\n"                                                                                         \
    "    - name: science\n"                                                                                  \
    "      priority: 10\n"                                                                                   \
    "      rules: {operator: OR, conditions: [{type: domain, name: physics}, {type: domain, name: "          \
    "math}]}\n"                                                                                              \
    "      modelRefs: [{model: bench, use_reasoning: false}]\n"

#endif
