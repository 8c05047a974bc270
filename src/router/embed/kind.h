/* What a request for embeddings or similarities asks for. */
#ifndef SR_ROUTER_EMBED_KIND_H
#define SR_ROUTER_EMBED_KIND_H

enum sr_embeddings_kind {
    SR_EMBEDDINGS_NATIVE,  /* {texts} or OpenAI's {input} */
    SR_EMBEDDINGS_OPENAI,  /* only OpenAI's {input}, errors always in its shape */
    SR_EMBEDDINGS_PAIR,    /* {text1, text2} */
    SR_EMBEDDINGS_RANKING, /* {query, candidates, top_k} */
};

#endif
