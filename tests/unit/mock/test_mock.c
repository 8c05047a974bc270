/* The mock upstream over real sockets. */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "mock/mock.h"
#include "json/scan.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sr_loop *loop;
static struct sr_mock *mock;
static pthread_t thread;

static void *run(void *ctx)
{
    sr_loop_run(ctx);
    return NULL;
}

static struct sr_mock_settings settings_of(uint16_t port, size_t workers)
{
    struct sr_mock_settings settings = sr_mock_settings_defaults();
    settings.port = port;
    settings.same_ids = true;
    settings.workers = workers;
    return settings;
}

static int setup_with(const struct sr_mock_settings *settings, void **state)
{
    struct sr_err err = {0};
    (void)state;
    assert_int_equal(sr_loop_new(&loop), SR_OK);
    assert_int_equal(sr_mock_new(&mock, loop, settings, &err), SR_OK);
    return pthread_create(&thread, NULL, run, loop);
}

static int setup(void **state)
{
    struct sr_mock_settings settings = settings_of(0, 2);
    return setup_with(&settings, state);
}

static int teardown(void **state)
{
    (void)state;
    sr_loop_stop(loop);
    pthread_join(thread, NULL);
    sr_mock_free(mock);
    sr_loop_free(loop);
    return 0;
}

/* Sends `request` (with Connection: close) and reads the whole answer into static memory. */
static const char *talk(size_t worker, const char *request, size_t n)
{
    static char answer[1 << 20];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(sr_mock_port(mock, worker))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    assert_int_equal(send(fd, request, n, MSG_NOSIGNAL), (ssize_t)n);
    size_t got = 0;
    ssize_t more;
    while (got < sizeof answer - 1 && (more = recv(fd, answer + got, sizeof answer - 1 - got, 0)) > 0)
        got += (size_t)more;
    answer[got] = '\0';
    close(fd);
    return answer;
}

static const char *get(size_t worker, const char *path)
{
    char request[256];
    int n =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    return talk(worker, request, (size_t)n);
}

static const char *post(size_t worker, const char *path, const char *header, const char *body)
{
    char request[2048];
    int n = snprintf(request, sizeof request,
                     "POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s%sContent-Length: %zu\r\n\r\n%s",
                     path, header, header[0] ? "\r\n" : "", strlen(body), body);
    return talk(worker, request, (size_t)n);
}

static const char *body_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

static size_t times(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

#define CHAT "/v1/chat/completions"
#define ASK  "{\"model\":\"m\\\"1\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}"
#define ASK_S                                                                                                \
    "{\"stream\":true,\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"text\":\"abc\"}]}]"

static void answers_are_a_function_of_the_request(void **state)
{
    (void)state;
    char first[4096];
    snprintf(first, sizeof first, "%s", body_of(post(1, CHAT, "", ASK)));
    assert_non_null(strstr(first, "\"This is the answer of worker 1 to 5 bytes, from m\\\"1.\""));
    assert_non_null(strstr(first, "\"prompt_tokens\":4,"));
    assert_string_equal(body_of(post(1, CHAT, "", ASK)), first);
    assert_string_equal(body_of(post(1, "/some/base" CHAT, "", ASK)), first);
    assert_non_null(strstr(post(0, CHAT, "", ASK), "worker 0"));
}

static void remembers_the_last_request(void **state)
{
    (void)state;
    post(0, CHAT "?a=b", "X-One: 1", ASK);
    get(0, "/v1/models");
    assert_string_equal(body_of(get(0, "/mock/last")), ASK);
    assert_non_null(strstr(get(0, "/mock/last-head"), "POST " CHAT "?a=b HTTP/1.1\r\nhost: x\r\n"));
    assert_non_null(strstr(get(0, "/mock/last-head"), "x-one: 1\r\n"));
    post(0, CHAT, "", "{broken");
    assert_string_equal(body_of(get(0, "/mock/last")), "{broken");
    assert_non_null(strstr(get(0, "/mock/stats"), "\"requests\":2,"));
    assert_string_equal(body_of(get(1, "/mock/last")), "");
}

static void streams(void **state)
{
    (void)state;
    const char *plain = post(0, CHAT, "X-Mock-Chunks: 3", ASK_S "}");
    assert_non_null(strstr(plain, "text/event-stream"));
    assert_int_equal(times(plain, "data: "), 1 + 3 + 1 + 1);
    assert_int_equal(times(plain, "usage"), 0);
    assert_int_equal(times(plain, "data: [DONE]\n\n"), 1);
    const char *usage = post(0, CHAT, "", ASK_S ",\"stream_options\":{\"include_usage\":true}}");
    assert_int_equal(times(usage, "data: "), 1 + 8 + 1 + 1 + 1);
    assert_int_equal(times(usage, "\"usage\":null"), 10);
    assert_int_equal(times(usage, "\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":8"),
                     1);
    const char *text = post(0, "/v1/completions", "X-Mock-Chunks: 2\r\nX-Mock-Chunk-Delay-Ms: 5",
                            "{\"stream\":true,\"prompt\":[\"a\",\"b\"]}");
    assert_int_equal(times(text, "data: "), 2 + 1 + 1);
}

static void embeddings(void **state)
{
    (void)state;
    const char *path = "/v1/embeddings";
    assert_int_equal(times(post(0, path, "", "{\"model\":\"e\",\"input\":\"x\"}"), "\"embedding\":["), 1);
    assert_int_equal(times(post(0, path, "", "{\"model\":\"e\",\"input\":[\"x\",\"y\"]}"), "\"embedding\":["),
                     2);
    assert_int_equal(times(post(0, path, "", "{\"model\":\"e\",\"input\":[1,2,3]}"), "\"embedding\":["), 1);
    assert_int_equal(times(post(0, path, "", "{\"model\":\"e\",\"input\":[[1],[2]]}"), "\"embedding\":["), 2);
}

static void misbehaves_when_asked(void **state)
{
    (void)state;
    assert_non_null(strstr(post(0, CHAT, "X-Mock-Status: 429", ASK), "HTTP/1.1 429 "));
    assert_non_null(strstr(post(0, CHAT, "X-Mock-Status: 429", ASK), "retry-after: 1\r\n"));
    assert_string_equal(post(0, CHAT, "X-Mock-Close: head", ASK), "");
    assert_int_equal(strlen(body_of(post(0, CHAT, "X-Mock-Close: 10", ASK))), 10);
    assert_string_equal(body_of(post(0, CHAT, "X-Mock-Close: 0", ASK)), "");
    size_t usual = strlen(body_of(post(0, CHAT, "", ASK)));
    assert_int_equal(strlen(body_of(post(0, CHAT, "X-Mock-Body-Bytes: 500000", ASK))), usual + 500000);
    assert_int_equal(strlen(body_of(post(0, CHAT, "X-Mock-Slow-Read: 1\r\nX-Mock-Delay-Ms: 1", ASK))), usual);
    assert_non_null(strstr(get(0, "/mock/stats"), "\"open\":0,\"canceled\":0,"));
}

static void a_client_who_leaves_is_counted(void **state)
{
    (void)state;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(sr_mock_port(mock, 0))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    static const char request[] = "POST " CHAT " HTTP/1.1\r\nHost: x\r\nX-Mock-Chunks: 100000\r\n"
                                  "X-Mock-Chunk-Delay-Ms: 5\r\nContent-Length: 15\r\n\r\n{\"stream\":true}";
    char head[16];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    assert_int_equal(send(fd, request, sizeof request - 1, MSG_NOSIGNAL), (ssize_t)sizeof request - 1);
    assert_true(recv(fd, head, sizeof head, 0) > 0);
    close(fd);
    while (!strstr(get(0, "/mock/stats"), "\"open\":0,\"canceled\":1,"))
        usleep(1000);
}

static void refuses_what_it_does_not_know(void **state)
{
    (void)state;
    assert_non_null(strstr(get(0, "/nothing"), "HTTP/1.1 404 "));
    assert_non_null(strstr(get(0, CHAT), "HTTP/1.1 405 "));
    assert_non_null(strstr(post(0, CHAT, "", "{\"a\":}"), "HTTP/1.1 400 "));
    assert_non_null(strstr(get(0, "/health"), "HTTP/1.1 200 "));
    assert_non_null(strstr(get(0, "/v1/models"), "\"id\":\"mock\""));
}

static void a_taken_port_is_said(void **state)
{
    (void)state;
    struct sr_err err = {0};
    struct sr_mock *second = NULL;
    struct sr_loop *other = NULL;
    char port[16];
    assert_int_equal(sr_loop_new(&other), SR_OK);
    struct sr_mock_settings settings = settings_of(sr_mock_port(mock, 0), 1);
    assert_int_equal(sr_mock_new(&second, other, &settings, &err), SR_EBUSY);
    snprintf(port, sizeof port, "%u", sr_mock_port(mock, 0));
    assert_non_null(strstr(err.message, port));
    assert_null(second);
    settings = settings_of(65535, 2);
    assert_int_equal(sr_mock_new(&second, other, &settings, &err), SR_EINVAL);
    sr_loop_free(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void messages_have_blocks_and_events(void **state)
{
    (void)state;
    const char *body =
        "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],"
        "\"tools\":[{\"name\":\"find\",\"input_schema\":{}}]}";
    const char *answer =
        post(0, "/v1/messages", "x-mock-tools: 1\r\nx-mock-reasoning: 1\r\nx-mock-cached: 2", body);
    assert_non_null(strstr(answer, "\"type\":\"thinking\",\"thinking\":\"I count 5 bytes.\""));
    assert_non_null(strstr(answer, "\"name\":\"find\",\"input\":{\"query\""));
    assert_non_null(strstr(answer, "\"stop_reason\":\"tool_use\""));
    assert_non_null(strstr(answer, "\"input_tokens\":2,\"cache_creation_input_tokens\":0,"
                                   "\"cache_read_input_tokens\":2"));
    answer =
        post(0, "/v1/messages", "", "{\"model\":\"m\",\"stream\":true,\"max_tokens\":9,\"messages\":[]}");
    assert_non_null(strstr(answer, "event: message_start\ndata: {\"type\":\"message_start\""));
    assert_non_null(strstr(answer, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
    answer = post(0, "/v1/messages", "", "{\"model\":\"m\",\"messages\":[]}");
    assert_non_null(strstr(answer, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\""));
    answer = post(0, "/v1/messages/count_tokens", "", body);
    assert_string_equal(body_of(answer), "{\"input_tokens\":4}");
    answer =
        post(0, "/v1/responses/input_tokens", "", "{\"model\":\"m\",\"input\":\"hello\",\"stream\":true}");
    assert_string_equal(body_of(answer), "{\"object\":\"response.input_tokens\",\"input_tokens\":4}");
}

static void responses_have_items_and_events(void **state)
{
    (void)state;
    const char *answer = post(0, "/v1/responses", "x-mock-text: {\"a\": 1}",
                              "{\"model\":\"m\",\"instructions\":\"be\",\"input\":\"hello\"}");
    assert_non_null(strstr(answer, "\"instructions\":\"be\""));
    assert_non_null(strstr(answer, "\"text\":\"{\\\"a\\\": 1}\""));
    assert_non_null(strstr(answer, "\"status\":\"completed\""));
    answer = post(0, "/v1/responses", "x-mock-tools: 2\r\nx-mock-body-bytes: 80",
                  "{\"model\":\"m\",\"stream\":true,\"input\":\"hello\"}");
    assert_non_null(strstr(answer, "event: response.created\n"));
    assert_non_null(strstr(answer, "\"type\":\"response.completed\",\"sequence_number\":27,"));
    const char *done = strstr(answer, "response.output_text.done");
    assert_non_null(done);
    assert_non_null(strstr(done, "This.......... is.......... the.......... answer"));
    answer =
        post(0, "/v1/responses", "x-mock-fail-after: 2", "{\"model\":\"m\",\"stream\":true,\"input\":\"x\"}");
    assert_non_null(strstr(answer, "event: error\ndata: {\"type\":\"error\""));
    assert_null(strstr(answer, "response.completed"));
}

/* The value of the first member `id` of an answer. */
static void id_of(const char *answer, char out[64])
{
    const char *at = strstr(answer, "\"id\":\"");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"id\":\"%63[^\"]\"", out), 1);
}

static int setup_usual(void **state)
{
    struct sr_mock_settings settings = settings_of(0, 2);
    settings.same_ids = false;
    return setup_with(&settings, state);
}

static void no_two_answers_have_an_id(void **state)
{
    (void)state;
    static const char *const paths[] = {CHAT, "/v1/responses", "/v1/messages"};
    char ids[12][64];
    size_t n = 0;
    for (size_t p = 0; p < 3; p++)
        for (size_t worker = 0; worker < 2; worker++)
            for (int again = 0; again < 2; again++)
                id_of(post(worker, paths[p], "x-mock-tools: 1",
                           "{\"model\":\"m\",\"max_tokens\":1,\"input\":\"x\",\"messages\":[]}"),
                      ids[n++]);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++)
            assert_string_not_equal(ids[a], ids[b]);
}

static void an_answer_has_one_id(void **state)
{
    (void)state;
    char id[64], member[80];
    const char *answer = post(0, CHAT, "", ASK_S "}");
    id_of(answer, id);
    snprintf(member, sizeof member, "\"id\":\"%s\"", id);
    assert_int_equal(times(answer, member), 1 + 8 + 1);
    answer = post(0, "/v1/responses", "x-mock-tools: 1", "{\"model\":\"m\",\"stream\":true,\"input\":\"x\"}");
    id_of(answer, id);
    snprintf(member, sizeof member, "\"id\":\"%s\"", id);
    assert_int_equal(times(answer, member), 3);
}

static const char *behave(const char *headers)
{
    char request[512];
    int n = snprintf(
        request, sizeof request,
        "PUT /mock/behaviour HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%sContent-Length: 0\r\n\r\n",
        headers);
    return talk(0, request, (size_t)n);
}

static void behaves_from_now_on(void **state)
{
    (void)state;
    assert_non_null(strstr(
        behave("X-Mock-Text: so be it\r\nX-Mock-Tools: 1\r\nX-Mock-Arguments: {\"a\": 7}\r\n"), "200 OK"));
    for (int i = 0; i < 2; i++) {
        const char *answer = post(0, CHAT, "", ASK);
        assert_non_null(strstr(answer, "\"content\":\"so be it\""));
        assert_non_null(strstr(answer, "\"arguments\":\"{\\\"a\\\": 7}\""));
    }
    assert_non_null(strstr(post(0, CHAT, "X-Mock-Text: no", ASK), "\"content\":\"no\""));
    assert_null(strstr(post(1, CHAT, "", ASK), "so be it"));
    assert_non_null(strstr(behave(""), "200 OK"));
    assert_null(strstr(post(0, CHAT, "", ASK), "so be it"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_are_a_function_of_the_request),
        TEST(remembers_the_last_request),
        TEST(streams),
        TEST(embeddings),
        TEST(misbehaves_when_asked),
        TEST(a_client_who_leaves_is_counted),
        TEST(refuses_what_it_does_not_know),
        TEST(a_taken_port_is_said),
        TEST(messages_have_blocks_and_events),
        TEST(responses_have_items_and_events),
        TEST(behaves_from_now_on),
        cmocka_unit_test_setup_teardown(no_two_answers_have_an_id, setup_usual, teardown),
        cmocka_unit_test_setup_teardown(an_answer_has_one_id, setup_usual, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
