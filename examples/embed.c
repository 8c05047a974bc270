/*
 * semroute as a library: gives it one request, reads the target and body to forward, and passes an answer.
 *
 *   cc embed.c $(pkg-config --cflags --libs semroute) -o embed && ./embed
 */
#include <semroute/semroute.h>

#include <stdio.h>
#include <string.h>

#define BYTES(text)                                                                                          \
    (struct sr_bytes)                                                                                        \
    {                                                                                                        \
        (text), sizeof(text) - 1                                                                             \
    }

static void print_slices(const char *what, const struct sr_bytes *slices, size_t n)
{
    printf("%s: ", what);
    for (size_t i = 0; i < n; i++)
        fwrite(slices[i].p, 1, slices[i].n, stdout);
    printf("\n");
}

int main(void)
{
    char error[512];
    sr_runtime *runtime =
        sr_runtime_open(NULL, NULL, error, sizeof error); /* NULL: the built-in configuration */
    if (!runtime) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }

    /* The head of a request, as a server would have read it. */
    const struct sr_header headers[] = {{BYTES("content-type"), BYTES("application/json")}};
    const struct sr_request_head head = {
        .struct_size = sizeof head,
        .door = SR_DOOR_LIBRARY,
        .method = BYTES("POST"),
        .target = BYTES("/v1/chat/completions"),
        .headers = headers,
        .n_headers = 1,
        .has_body = true,
    };
    sr_exchange *exchange = sr_exchange_new(runtime, &head, NULL);
    if (!exchange) {
        fprintf(stderr, "out of memory\n");
        sr_runtime_close(runtime);
        return 1;
    }

    /* The body in two chunks, as they may arrive from a socket. With "auto" the router chooses the model. */
    static const char first[] = "{\"model\": \"auto\", \"messages\": [{\"role\": \"user\", \"content\": ";
    static const char second[] =
        "\"Find the eigenvalues of the matrix [[2, 1], [1, 2]] and the integral of x^2.\"}]}";
    sr_exchange_body(exchange, first, strlen(first), false);
    sr_exchange_body(exchange, second, strlen(second), true);

    const struct sr_verdict *verdict = sr_exchange_verdict(exchange);
    if (verdict->action == SR_ACTION_REPLY) {
        print_slices("reply", &verdict->reply, 1);
    } else {
        printf("decision: %s\n", verdict->decision);
        /* The next of the model's backends: by weight, unreachable ones last. */
        int at = sr_ticket_choose(verdict->ticket);
        const struct sr_target *target = sr_verdict_target(verdict, at < 0 ? 0 : (size_t)at);
        sr_ticket_begin(verdict->ticket, (size_t)at);
        printf("model: %s at %s:%d\n", verdict->model, target->host, target->port);
        printf("reasoning: %s\n", verdict->reasoning ? verdict->effort : "off");
        print_slices("body", verdict->body, verdict->n_body);

        /* Send the body there with any HTTP client; this is its answer, for the client. */
        static const char answer[] = "{\"choices\":[{\"message\":{\"content\":\"3 and 1\"}}],"
                                     "\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":4}}";
        struct sr_header_edits edits = {.struct_size = sizeof edits};
        const struct sr_bytes *slices;
        size_t n;
        sr_ticket_report(verdict->ticket, (size_t)at, SR_TICKET_ANSWERED, 200);
        sr_exchange_answer_head(exchange, 200, headers, 1, &edits);
        for (size_t i = 0; i < edits.n_set; i++)
            printf("%.*s: %.*s\n", (int)edits.set[i].name.n, edits.set[i].name.p, (int)edits.set[i].value.n,
                   edits.set[i].value.p);
        sr_exchange_answer_body(exchange, answer, strlen(answer), true, &slices, &n);
        print_slices("answer", slices, n);
    }
    sr_exchange_end(exchange, SR_END_COMPLETE); /* counts tokens and time, frees everything */
    sr_runtime_close(runtime);
    return 0;
}
