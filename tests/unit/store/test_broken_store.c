/*
 * Servers that are no Redis and no Milvus, or bad ones: whatever they send, and however, every call is
 * answered, the backend tries again, and it ends.
 */
#include "tests/unit/store_kit.h"

#include "store/milvus/milvus.h"
#include "store/redis/redis.h"

#include <poll.h>
#include <stdatomic.h>

enum manner {
    CLOSE,   /* at once */
    SILENT,  /* nothing is sent */
    ONCE,    /* the bytes, then nothing */
    ENDLESS, /* the bytes, again and again */
    DRIP,    /* the bytes, one at a time, again and again */
    EACH,    /* the bytes for each piece that comes */
};

struct fake {
    int fd;
    uint16_t port;
    pthread_t thread;
    atomic_bool stop;
    enum manner manner;
    struct sr_bytes greeting, bytes;
};

#define CONNECTIONS 64

static void serve(struct fake *fake, int *fd, bool readable, size_t *at)
{
    char sink[65536];
    if (readable && recv(*fd, sink, sizeof sink, MSG_DONTWAIT) == 0) {
        close(*fd);
        *fd = -1;
        return;
    }
    if (fake->manner == DRIP || fake->manner == ENDLESS) {
        size_t n = fake->manner == DRIP ? 1 : fake->bytes.n - *at;
        ssize_t sent = send(*fd, fake->bytes.p + *at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        *at = (*at + (sent > 0 ? (size_t)sent : 0)) % fake->bytes.n;
    } else if (fake->manner == EACH && readable) {
        (void)!send(*fd, fake->bytes.p, fake->bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void *fake_run(void *arg)
{
    struct fake *fake = arg;
    int fds[CONNECTIONS], n = 0;
    size_t at[CONNECTIONS] = {0};
    while (!atomic_load(&fake->stop)) {
        struct pollfd waits[CONNECTIONS + 1] = {{.fd = fake->fd, .events = POLLIN}};
        for (int i = 0; i < n; i++)
            waits[i + 1] = (struct pollfd){.fd = fds[i], .events = POLLIN};
        poll(waits, (nfds_t)n + 1, 2);
        for (int i = 0; i < n; i++)
            if (fds[i] >= 0)
                serve(fake, &fds[i], waits[i + 1].revents != 0, &at[i]);
        if (!waits[0].revents)
            continue;
        int fd = accept(fake->fd, NULL, NULL), slot = 0;
        while (slot < n && fds[slot] >= 0)
            slot++;
        if (fake->manner == CLOSE || slot == CONNECTIONS) {
            close(fd);
            continue;
        }
        (void)!send(fd, fake->greeting.p, fake->greeting.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (fake->manner == ONCE)
            (void)!send(fd, fake->bytes.p, fake->bytes.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        fds[slot] = fd;
        at[slot] = 0;
        n = slot == n ? n + 1 : n;
    }
    for (int i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return NULL;
}

static struct sr_remote_limits limits_of(void)
{
    struct sr_remote_limits limits = sr_remote_limits_defaults();
    limits.connect_ms = 500;
    limits.command_ms = 150;
    limits.retry_min_ms = 5;
    limits.retry_max_ms = 20;
    limits.close_ms = 100;
    return limits;
}

static void open_redis(struct kit_backend *b, uint16_t port)
{
    struct sr_redis_options options = sr_redis_options_defaults();
    options.host = "127.0.0.1";
    options.port = port;
    options.limits = limits_of();
    kit_events_init(&b->events);
    assert_int_equal(sr_redis_backend(&b->backend, &options, &kit_events_ops, &b->events, NULL), SR_OK);
}

static void open_milvus(struct kit_backend *b, uint16_t port)
{
    struct sr_milvus_options options = sr_milvus_options_defaults();
    options.host = "127.0.0.1";
    options.port = port;
    options.dimensions = 4;
    options.limits = limits_of();
    kit_events_init(&b->events);
    assert_int_equal(sr_milvus_backend(&b->backend, &options, &kit_events_ops, &b->events, NULL), SR_OK);
}

/* Two attempts come to nothing, calls are answered meanwhile, and nothing is believed. */
static void meet(void (*open)(struct kit_backend *, uint16_t), enum manner manner, struct sr_bytes greeting,
                 struct sr_bytes bytes)
{
    struct fake fake = {.manner = manner, .greeting = greeting, .bytes = bytes};
    struct sr_cache_fields f = kit_fields(1, 1, 1);
    struct sr_cache_selector all = {.tenant = f.tenant};
    struct kit_backend b;
    fake.fd = kit_listen(&fake.port);
    pthread_create(&fake.thread, NULL, fake_run, &fake);
    open(&b, fake.port);
    kit_put(&b, &f);
    kit_remove(&b, &all);
    KIT_UNTIL(kit_get_within(&b, &f.exact, NULL, 300) != 1 && kit_health(&b).errors >= 2);
    assert_int_equal(kit_count(&b.events, &b.events.loaded), 0);
    assert_int_equal(kit_health(&b).written, 0);
    kit_close(&b);
    atomic_store(&fake.stop, true);
    pthread_join(fake.thread, NULL);
    close(fake.fd);
}

static struct sr_bytes repeated(char *out, size_t size, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= size; i += n)
        memcpy(out + i, text, n);
    return sr_bytes_of(out, size / n * n);
}

static void test_redis(void **state)
{
    static char many[200000], noise[50000];
    static const char *const once[] = {"$99999999999\r\n",
                                       "$-5\r\nabc\r\n",
                                       "*2147483647\r\n",
                                       "*-3\r\n",
                                       "HTTP/1.1 400 Bad\r\n\r\n",
                                       "%1\r\n",
                                       "+PONG\r\n*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\ny\r\n",
                                       "+PONG\r\n+PONG\r\n",
                                       "-ERR no\r\n",
                                       ":9223372036854775807\r\n",
                                       "*100000\r\n:1\r\n"};
    static const char *const each[] = {"+OK\r\n",
                                       "$-1\r\n",
                                       "*0\r\n",
                                       ":1\r\n",
                                       "-LOADING\r\n",
                                       "-ERR unknown command\r\n",
                                       "*2\r\n$1\r\n0\r\n*0\r\n",
                                       "*1\r\n*2\r\n$3\r\n1-1\r\n*0\r\n",
                                       "$3\r\nabc\r\n"};
    (void)state;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)rand();
    meet(open_redis, CLOSE, SR_LIT(""), SR_LIT("x"));
    meet(open_redis, SILENT, SR_LIT(""), SR_LIT("x"));
    meet(open_redis, ONCE, SR_LIT(""), sr_bytes_of(noise, sizeof noise));
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        meet(open_redis, ONCE, SR_LIT(""), sr_bytes_str(once[i]));
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        meet(open_redis, EACH, SR_LIT(""), sr_bytes_str(each[i]));
        meet(open_redis, EACH, SR_LIT("+PONG\r\n"), sr_bytes_str(each[i]));
    }
    meet(open_redis, ENDLESS, SR_LIT(""), repeated(many, sizeof many, "+PONG\r\n"));
    meet(open_redis, ENDLESS, SR_LIT(""), repeated(many, sizeof many, "*1\r\n"));
    meet(open_redis, ENDLESS, SR_LIT("*131072\r\n"), repeated(many, sizeof many, ":1\r\n"));
    meet(open_redis, ENDLESS, SR_LIT("+"), repeated(many, sizeof many, "x"));
    meet(open_redis, ENDLESS, SR_LIT("$33554432\r\n"), repeated(many, sizeof many, "x"));
    meet(open_redis, DRIP, SR_LIT("+"), SR_LIT("x"));
    meet(open_redis, DRIP, SR_LIT(""), SR_LIT("$1000\r\n"));
}

static void test_milvus(void **state)
{
    static char many[200000], noise[50000];
    static const char settings[] = "\0\0\0\4\0\0\0\0\0";
    struct sr_bytes hello = sr_bytes_of(settings, 9);
    static const struct {
        const char *p;
        size_t n;
    } frames[] = {
#define FRAME(text) {text, sizeof text - 1}
        FRAME("\xff\xff\xff\0\0\0\0\0\1"),                                   /* DATA of 16 MiB on no stream */
        FRAME("\0\0\4\3\0\0\0\0\1\0\0\0\7"),                                 /* RST_STREAM, refused */
        FRAME("\0\0\4\3\0\0\0\0\1\0\0\0\2"),                                 /* RST_STREAM, internal */
        FRAME("\0\0\x08\7\0\0\0\0\0\0\0\0\0\0\0\0\0"),                       /* GOAWAY */
        FRAME("\0\0\x08\7\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\0"),               /* GOAWAY later */
        FRAME("\0\0\1\1\5\0\0\0\1\x88"),                                     /* 200, nothing else */
        FRAME("\0\0\1\1\5\0\0\0\1\x8d"),                                     /* 404 */
        FRAME("\0\0\1\1\4\0\0\0\1\x88\0\0\x0a\0\1\0\0\0\1\0\0\0\0\5hello"),  /* a message that is none */
        FRAME("\0\0\1\1\4\0\0\0\1\x88\0\0\5\0\1\0\0\0\1\0\xff\xff\xff\xff"), /* a length of 4 GiB */
        FRAME("\0\0\1\5\4\0\0\0\1\x88"),                                     /* PUSH_PROMISE */
    };
    (void)state;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)rand();
    meet(open_milvus, CLOSE, SR_LIT(""), SR_LIT("x"));
    meet(open_milvus, SILENT, SR_LIT(""), SR_LIT("x"));
    meet(open_milvus, SILENT, hello, SR_LIT("x"));
    meet(open_milvus, ONCE, SR_LIT(""), sr_bytes_of(noise, sizeof noise));
    meet(open_milvus, ONCE, hello, sr_bytes_of(noise, sizeof noise));
    meet(open_milvus, ONCE, SR_LIT(""), SR_LIT("HTTP/1.1 400 Bad Request\r\n\r\n"));
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        meet(open_milvus, EACH, hello, sr_bytes_of(frames[i].p, frames[i].n));
    memset(many, 0, sizeof many);
    for (size_t i = 0; i + 17 <= sizeof many; i += 17) /* PINGs that want answers */
        memcpy(many + i, "\0\0\x08\6\0\0\0\0\0pingping", 17);
    meet(open_milvus, ENDLESS, hello, sr_bytes_of(many, sizeof many / 17 * 17));
    meet(open_milvus, DRIP, hello, SR_LIT("\0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_redis), cmocka_unit_test(test_milvus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
