/* Random listings of a model hub: nothing of what is read leads out of a folder, and an error says why. The
 * source is part of the program, so the target takes it in. */
#include "src/cli/models/hub_listing.c"

#include <stdlib.h>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x))                                                                                            \
            abort();                                                                                         \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sr_hub_listing listing;
    struct sr_arena arena;
    struct sr_err err = {0};
    sr_arena_init(&arena, (size_t)32 << 20);
    int rc = sr_hub_parse(&listing, sr_bytes_of((const char *)bytes, size), &arena, &err);
    CHECK(rc == SR_OK ? listing.n_files > 0 && listing.n_files <= SR_HUB_FILES_MAX : err.message[0] != 0);
    for (size_t i = 0; rc == SR_OK && i < listing.n_files; i++) {
        struct sr_bytes path = listing.files[i].path, sha256 = listing.files[i].sha256;
        CHECK(path.n > 0 && path.n <= SR_HUB_PATH_MAX && path.p[0] != '/' && path.p[path.n - 1] != '/');
        CHECK(!sr_bytes_contains(path, SR_LIT("..")) && !memchr(path.p, '\0', path.n));
        CHECK(sha256.n == 0 || sha256.n == SR_SHA256_HEX - 1);
        CHECK(listing.files[i].bytes <= INT64_MAX);
    }
    CHECK(rc != SR_OK || strlen(listing.commit) >= 7);
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(size < 63 ? size : 63), (const char *)bytes);
    CHECK(!sr_hub_is_repository(name) || (!strstr(name, "..") && name[0] != '/'));
    sr_arena_dispose(&arena);
    return 0;
}
