/* Two small matrices: `down` [rank][dimensions] reads the question, `up` [rank][dimensions] writes the
 * change. */
#include "router/toolbox/map.h"

#include "base/mem.h"
#include "kernel/kernel.h"
#include "model/safetensors.h"

#include <string.h>

#define RANK_MAX 256u

/* The bytes of the file in the executable, from the build (cmake/layers.cmake, sr_embed). */
extern const unsigned char sr_embed_tool_map[];
extern const unsigned char sr_embed_tool_map_end[];

struct sr_tool_map {
    size_t rank, dimensions;
    float *up;    /* [rank][dimensions], behind `down` */
    float down[]; /* [rank][dimensions] */
};

static bool is_matrix(const struct sr_tensor *tensor, size_t dimensions)
{
    return tensor && tensor->dtype == SR_DTYPE_F16 && tensor->rank == 2 && tensor->shape[0] <= RANK_MAX &&
           tensor->shape[1] == dimensions;
}

static struct sr_tool_map *map_of(const struct sr_safetensors *file, size_t dimensions)
{
    const struct sr_tensor *down = sr_safetensors_find(file, "down"), *up = sr_safetensors_find(file, "up");
    if (!is_matrix(down, dimensions) || !is_matrix(up, dimensions) || down->shape[0] != up->shape[0])
        return NULL;
    size_t n = (size_t)down->shape[0] * dimensions;
    struct sr_tool_map *map = sr_mem_alloc(sizeof *map + 2 * n * sizeof map->down[0]);
    if (!map)
        return NULL;
    map->rank = (size_t)down->shape[0];
    map->dimensions = dimensions;
    map->up = map->down + n;
    sr_to_float(down->data, SR_SCALAR_F16, n, map->down);
    sr_to_float(up->data, SR_SCALAR_F16, n, map->up);
    return map;
}

struct sr_tool_map *sr_tool_map_new(size_t dimensions)
{
    struct sr_safetensors *file = NULL;
    struct sr_tool_map *map = NULL;
    size_t n = (size_t)(sr_embed_tool_map_end - sr_embed_tool_map);
    if (sr_safetensors_open_memory(&file, sr_embed_tool_map, n, NULL) == SR_OK)
        map = map_of(file, dimensions);
    sr_safetensors_close(file);
    return map;
}

void sr_tool_map_free(struct sr_tool_map *map)
{
    sr_mem_free(map);
}

void sr_tool_map_apply(const struct sr_tool_map *map, const float *question, float *out)
{
    memcpy(out, question, map->dimensions * sizeof *out);
    for (size_t r = 0; r < map->rank; r++) {
        const float *down = map->down + r * map->dimensions, *up = map->up + r * map->dimensions;
        float sum = 0;
        for (size_t i = 0; i < map->dimensions; i++)
            sum += down[i] * question[i];
        for (size_t i = 0; i < map->dimensions; i++)
            out[i] += sum * up[i];
    }
}
