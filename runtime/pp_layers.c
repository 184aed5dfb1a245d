#include <stdlib.h>

#include "core/error.h"
#include "dtrain_pp.h"

static int check(int layers, int stages, int chunks, struct dtrain_error *err)
{
    if (stages < 1 || stages > DTRAIN_PP_STAGES_MAX || chunks < 1 || chunks > DTRAIN_PP_CHUNKS_MAX)
        return dt_error_set(err,
                            "layers on %d stages with %d chunks: expected 1 to %d stages, 1 to %d chunks",
                            stages, chunks, DTRAIN_PP_STAGES_MAX, DTRAIN_PP_CHUNKS_MAX);
    if (layers < stages * chunks)
        return dt_error_set(
            err,
            "%d layers on %d stages with %d chunk(s) each leave a stage without layers: expected "
            "at least %d layers, or fewer stages or chunks",
            layers, stages, chunks, stages * chunks);
    return 0;
}

int dtrain_pp_stage_layers(int layers, int stages, int chunks, int stage, int chunk, int *first, int *count,
                           struct dtrain_error *err)
{
    int parts = stages * chunks, part = chunk * stages + stage;

    if (check(layers, stages, chunks, err) != 0)
        return -1;
    if (stage < 0 || stage >= stages || chunk < 0 || chunk >= chunks)
        return dt_error_set(err, "stage %d, chunk %d is not there: expected 0 to %d, 0 to %d", stage, chunk,
                            stages - 1, chunks - 1);
    *count = layers / parts + (part < layers % parts);
    *first = part * (layers / parts) + (part < layers % parts ? part : layers % parts);
    return 0;
}

/* ---- Layers of different costs ----------------------------------------------- */

/* best[n][k]: the dearest of k+1 parts of the first n layers, as cheap as can be; cut[n][k]: where the last
 * begins. */
struct partition {
    const double *sums; /* [layers + 1]: cost of the first n layers */
    int parts;
    double *best;
    int *cut;
};

static size_t at(const struct partition *partition, int n, int k)
{
    return (size_t)n * (size_t)partition->parts + (size_t)k;
}

/*
 * The last of k+1 parts begins where it and the best of k parts before it are least unequal: the later it
 * begins, the cheaper it is and the dearer they are.
 */
static void extend(struct partition *partition, int n, int k)
{
    const double *sums = partition->sums;
    int low = k, high = n - 1;
    double one, other;

    while (low < high) {
        int middle = (low + high) / 2;

        if (partition->best[at(partition, middle, k - 1)] >= sums[n] - sums[middle])
            high = middle;
        else
            low = middle + 1;
    }
    one = partition->best[at(partition, low, k - 1)];
    if (one < sums[n] - sums[low])
        one = sums[n] - sums[low];
    other = low > k ? sums[n] - sums[low - 1] : one;
    partition->cut[at(partition, n, k)] = low > k && other < one ? low - 1 : low;
    partition->best[at(partition, n, k)] = other < one ? other : one;
}

static void solve(struct partition *partition, int layers, int *firsts)
{
    for (int n = 1; n <= layers; n++) {
        partition->best[at(partition, n, 0)] = partition->sums[n];
        for (int k = 1; k < partition->parts && k < n; k++)
            extend(partition, n, k);
    }
    firsts[partition->parts] = layers;
    for (int k = partition->parts - 1; k > 0; k--)
        firsts[k] = partition->cut[at(partition, firsts[k + 1], k)];
    firsts[0] = 0;
}

int dtrain_pp_balance(const double *costs, int layers, int stages, int chunks, int *firsts,
                      struct dtrain_error *err)
{
    struct partition partition = {.parts = stages * chunks};
    double *sums;
    size_t cells;
    int rc = 0;

    if (check(layers, stages, chunks, err) != 0)
        return -1;
    for (int i = 0; i < layers; i++)
        if (!(costs[i] > 0))
            return dt_error_set(err, "the cost of layer %d is %g: expected more than 0", i, costs[i]);
    cells = ((size_t)layers + 1) * (size_t)partition.parts;
    sums = calloc((size_t)layers + 1, sizeof(*sums));
    partition.best = calloc(cells, sizeof(*partition.best));
    partition.cut = calloc(cells, sizeof(*partition.cut));
    if (sums == NULL || partition.best == NULL || partition.cut == NULL) {
        rc = dt_error_memory(err, cells * sizeof(*partition.best), "the split of layers");
        goto out;
    }
    for (int i = 0; i < layers; i++)
        sums[i + 1] = sums[i] + costs[i];
    partition.sums = sums;
    solve(&partition, layers, firsts);
out:
    free(sums);
    free(partition.best);
    free(partition.cut);
    return rc;
}
