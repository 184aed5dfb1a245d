#include "topo_link.h"

#include <hwloc/distances.h>
#include <string.h>

#include "topo_board.h"
#include "topo_path.h"

/* MB/s of one link. hwloc before 2.9.1 says twice as much for A100 and newer. */
#define NVLINK_RATE 25000u
#define NVLINK_RATE_P100 20000u
#define P100_FIRST 0x15f0u
#define P100_LAST 0x15ffu

#define NO_GPU UINT32_MAX
#define MATRIX_MAX 256u /* objects that are looked at: GPUs and switches */

/* One matrix, with the GPU of each of its objects. */
struct matrix {
    struct hwloc_distances_s *distances;
    uint32_t gpus[MATRIX_MAX]; /* by object */
    unsigned size;
};

static uint32_t find_gpu(const struct dt_topo *topo, const struct dt_topo_devices *devices, hwloc_obj_t obj)
{
    hwloc_obj_t pci = obj != NULL ? dt_topo_device_above(obj) : NULL;

    for (uint32_t i = 0; pci != NULL && i < topo->gpu_count; i++)
        if (devices->gpus[i] == pci &&
            (topo->gpus[i].part < 0 || (obj->name != NULL && strcmp(obj->name, topo->gpus[i].name) == 0)))
            return i;
    return NO_GPU;
}

static uint64_t value_of(const struct matrix *matrix, unsigned from, unsigned to)
{
    return from == to ? 0 : matrix->distances->values[from * matrix->distances->nbobjs + to];
}

static unsigned rate_of(const struct dt_topo_devices *devices, uint32_t gpu)
{
    unsigned id = devices->gpus[gpu]->attr->pcidev.device_id;

    return id >= P100_FIRST && id <= P100_LAST ? NVLINK_RATE_P100 : NVLINK_RATE;
}

static uint64_t row_sum(const struct matrix *matrix, unsigned row)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < matrix->size; i++)
        sum += value_of(matrix, row, i);
    return sum;
}

/* A sum that is more than the GPU has links shows the doubled rates of older versions. */
static unsigned count_links(const struct matrix *matrix, const struct dt_topo_devices *devices, unsigned row,
                            uint64_t bandwidth)
{
    uint32_t gpu = matrix->gpus[row];
    unsigned rate = rate_of(devices, gpu);
    unsigned max = dt_topo_board_links_max(devices->gpus[gpu]->attr->pcidev.device_id);
    uint64_t links;

    if (max > 0 && row_sum(matrix, row) / rate > max)
        rate *= 2;
    links = (bandwidth + rate / 2) / rate;
    if (bandwidth > 0 && links == 0)
        return 1;
    return links < UINT16_MAX ? (unsigned)links : UINT16_MAX;
}

/* Bandwidth into devices that are no GPUs: switches, which in one box are one fabric. CPUs are packages. */
static uint64_t switched_sum(const struct matrix *matrix, unsigned row)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < matrix->size; i++)
        if (matrix->gpus[i] == NO_GPU && matrix->distances->objs[i] != NULL &&
            dt_topo_device_above(matrix->distances->objs[i]) != NULL)
            sum += value_of(matrix, row, i);
    return sum;
}

static void read_nvlink_pair(struct dt_topo *topo, const struct dt_topo_devices *devices,
                             const struct matrix *matrix, unsigned a, unsigned b)
{
    uint64_t direct = value_of(matrix, a, b);
    uint64_t from_a = switched_sum(matrix, a), from_b = switched_sum(matrix, b);

    if (direct > 0)
        dt_topo_path_set(topo, matrix->gpus[a], matrix->gpus[b], DT_PATH_NVLINK,
                         count_links(matrix, devices, a, direct));
    else if (from_a > 0 && from_b > 0)
        dt_topo_path_set(topo, matrix->gpus[a], matrix->gpus[b], DT_PATH_NVSWITCH,
                         count_links(matrix, devices, a, from_a < from_b ? from_a : from_b));
}

/* All values are alike: a matrix says that there is xGMI, not how much. */
static void read_xgmi_pair(struct dt_topo *topo, const struct dt_topo_devices *devices,
                           const struct matrix *matrix, unsigned a, unsigned b)
{
    uint32_t i = matrix->gpus[a], j = matrix->gpus[b];

    (void)devices;
    if (value_of(matrix, a, b) > 0 && topo->gpu_path[i][j].path > DT_PATH_XGMI)
        dt_topo_path_set(topo, i, j, DT_PATH_XGMI, 0);
}

static void read_xelink_pair(struct dt_topo *topo, const struct dt_topo_devices *devices,
                             const struct matrix *matrix, unsigned a, unsigned b)
{
    (void)devices;
    if (value_of(matrix, a, b) > 0)
        dt_topo_path_set(topo, matrix->gpus[a], matrix->gpus[b], DT_PATH_XELINK, 0);
}

typedef void read_pair_function(struct dt_topo *topo, const struct dt_topo_devices *devices,
                                const struct matrix *matrix, unsigned a, unsigned b);

/* Whether the matrix holds two GPUs. */
static bool read_pairs(struct dt_topo *topo, const struct dt_topo_devices *devices,
                       const struct matrix *matrix, read_pair_function *read_pair)
{
    bool found = false;

    for (unsigned a = 0; a < matrix->size; a++)
        for (unsigned b = 0; b < a; b++)
            if (matrix->gpus[a] != NO_GPU && matrix->gpus[b] != NO_GPU &&
                matrix->gpus[a] != matrix->gpus[b]) {
                read_pair(topo, devices, matrix, a, b);
                found = true;
            }
    return found;
}

static bool read_matrix(struct dt_topo *topo, const struct dt_topo_devices *devices, const char *name,
                        read_pair_function *read_pair)
{
    struct matrix matrix = {0};
    unsigned count = 1;
    bool found;

    if (hwloc_distances_get_by_name(devices->hwloc, name, &count, &matrix.distances, 0) != 0 || count == 0)
        return false;
    matrix.size = matrix.distances->nbobjs < MATRIX_MAX ? matrix.distances->nbobjs : MATRIX_MAX;
    for (unsigned i = 0; i < matrix.size; i++)
        matrix.gpus[i] = find_gpu(topo, devices, matrix.distances->objs[i]);
    found = read_pairs(topo, devices, &matrix, read_pair);
    hwloc_distances_release(devices->hwloc, matrix.distances);
    return found;
}

bool dt_topo_link_nvlink(struct dt_topo *topo, const struct dt_topo_devices *devices)
{
    return read_matrix(topo, devices, "NVLinkBandwidth", read_nvlink_pair);
}

void dt_topo_link_others(struct dt_topo *topo, const struct dt_topo_devices *devices)
{
    read_matrix(topo, devices, "XGMIBandwidth", read_xgmi_pair);
    read_matrix(topo, devices, "XeLinkBandwidth", read_xelink_pair);
}
