/* Runs a fuzz target over its kept corpus: each argument is a file or a folder of files. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return perror(path), 0;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1); /* exact size: a read past it is a report */
    size_t got = data && size > 0 ? fread(data, 1, (size_t)size, f) : 0;
    fclose(f);
    if (data)
        LLVMFuzzerTestOneInput(data, got);
    free(data);
    return 1;
}

static int replay(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return perror(path), 0;
    if (!S_ISDIR(st.st_mode))
        return replay_file(path);
    DIR *dir = opendir(path);
    int files = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        files += replay(name);
    }
    if (dir)
        closedir(dir);
    return files;
}

int main(int argc, char **argv)
{
    int files = 0;
    for (int i = 1; i < argc; i++)
        files += replay(argv[i]);
    printf("%d corpus files replayed\n", files);
    return files ? 0 : 1;
}
