#include "topo/bind_exact.h"

#include <stdlib.h>
#include <string.h>

#include "topo/bind.h"

/* 2 + 3 + 4 + 5 GPUs: more sizes above one do not fit. */
#define CLASSES_MAX 4

/*
 * A set of GPUs is a mask. GPU 0 is the highest bit, so that of two sets of one
 * size the larger number is the one with the lower GPUs.
 */
struct table {
    uint64_t *best; /* of each set: the best sum of its groups */
    uint16_t *head; /* and the part of it that was cut off for that */
};

struct class {
    uint32_t size, count;
    struct table own;    /* sets cut into groups of this class alone */
    struct table joined; /* sets shared between all classes up to this one; head: what the earlier take */
};

struct exact {
    uint32_t gpus, sets; /* sets = 2^gpus */
    uint32_t class_count;
    struct class classes[CLASSES_MAX];
    uint64_t *inside; /* of each set: the sum of quality over its pairs */
    uint8_t *size;    /* of each set: its GPUs */
};

static uint32_t lowest_gpu(uint32_t set)
{
    return UINT32_C(1) << (31 - __builtin_clz(set));
}

/* One set being cut in two: values of either side, and the best cut so far. */
struct cut {
    const uint64_t *head_value, *tail_value;
    uint32_t set;
    uint32_t head;
    uint64_t better; /* the least value that is above the best so far */
};

static inline void cut_keep(struct cut *cut, uint32_t head)
{
    uint64_t value = cut->head_value[head] + cut->tail_value[cut->set ^ head];

    if (value >= cut->better) {
        cut->better = value + 1;
        cut->head = head;
    }
}

/* Tries every head with `need` of the `count` GPUs left added; lowest first, so that ties stay with them. */
static void cut_try(struct cut *cut, uint32_t head, uint32_t left, uint32_t count, uint32_t need)
{
    if (need == 0)
        cut_keep(cut, head);
    for (; need > 0 && count >= need; count--) {
        uint32_t gpu = lowest_gpu(left);

        left ^= gpu;
        if (need == 1)
            cut_keep(cut, head | gpu);
        else
            cut_try(cut, head | gpu, left, count - 1, need - 1);
    }
}

static void cut_store(struct table *table, const struct cut *cut)
{
    table->best[cut->set] = cut->better - 1;
    table->head[cut->set] = (uint16_t)cut->head;
}

static int table_create(struct table *table, uint32_t sets, struct dtrain_error *err)
{
    table->best = calloc(sets, sizeof(*table->best));
    table->head = calloc(sets, sizeof(*table->head));
    if (table->best == NULL || table->head == NULL)
        return dt_error_memory(err, sets * (sizeof(*table->best) + sizeof(*table->head)), "GPU groups");
    return 0;
}

static void table_destroy(struct table *table)
{
    free(table->best);
    free(table->head);
}

static void exact_clear(struct exact *exact)
{
    for (uint32_t i = 0; i < exact->class_count; i++) {
        table_destroy(&exact->classes[i].own);
        table_destroy(&exact->classes[i].joined);
    }
    free(exact->inside);
    free(exact->size);
}

static uint32_t index_of(const struct exact *exact, uint32_t gpu)
{
    return exact->gpus - 1 - (uint32_t)__builtin_ctz(gpu);
}

/* A set's pairs: those without one GPU, those without another, less those without both, and the two's own. */
static void fill_sets(struct exact *exact, const struct dt_bind_links *links)
{
    for (uint32_t set = 1; set < exact->sets; set++) {
        uint32_t a = lowest_gpu(set), b;

        exact->size[set] = (uint8_t)(exact->size[set >> 1] + (set & 1));
        if (set == a)
            continue;
        b = lowest_gpu(set ^ a);
        exact->inside[set] = exact->inside[set ^ a] + exact->inside[set ^ b] - exact->inside[set ^ a ^ b] +
                             links->quality[index_of(exact, a)][index_of(exact, b)];
    }
}

static void fill_own(struct exact *exact, struct class *class)
{
    for (uint32_t set = 1; set < exact->sets; set++) {
        struct cut cut = {.head_value = exact->inside, .tail_value = class->own.best, .set = set};
        uint32_t gpus = exact->size[set], lowest = lowest_gpu(set);

        if (gpus % class->size != 0 || gpus > class->size * class->count)
            continue;
        cut_try(&cut, lowest, set ^ lowest, gpus - 1, class->size - 1);
        cut_store(&class->own, &cut);
    }
}

/* `before` GPUs go to the earlier classes, at the values `earlier`. */
static void fill_joined(struct exact *exact, struct class *class, const uint64_t *earlier, uint32_t before)
{
    uint32_t gpus = before + class->size * class->count;

    for (uint32_t set = 1; set < exact->sets; set++) {
        struct cut cut = {.head_value = earlier, .tail_value = class->own.best, .set = set};

        if (exact->size[set] != gpus)
            continue;
        cut_try(&cut, 0, set, gpus, before);
        cut_store(&class->joined, &cut);
    }
}

static int add_class(struct exact *exact, uint32_t size, struct dtrain_error *err)
{
    struct class *class = exact->classes;

    while (class < exact->classes + exact->class_count && class->size != size)
        class++;
    if (class == exact->classes + exact->class_count) {
        if (exact->class_count == CLASSES_MAX)
            return dt_error_set(err, "GPU groups of more than %d sizes on one node", CLASSES_MAX);
        exact->class_count++;
        class->size = size;
        if (table_create(&class->own, exact->sets, err) || table_create(&class->joined, exact->sets, err))
            return -1;
    }
    class->count++;
    return 0;
}

static int exact_fill(struct exact *exact, const struct dt_bind_links *links,
                      const struct dt_bind_groups *groups, struct dtrain_error *err)
{
    const uint64_t *earlier;
    uint32_t before = 0;

    exact->inside = calloc(exact->sets, sizeof(*exact->inside));
    exact->size = calloc(exact->sets, sizeof(*exact->size));
    if (exact->inside == NULL || exact->size == NULL)
        return dt_error_memory(err, exact->sets * sizeof(*exact->inside), "GPU groups");
    for (uint32_t group = 0; group < groups->count; group++)
        if (groups->size[group] > 1 && add_class(exact, groups->size[group], err))
            return -1;
    fill_sets(exact, links);
    earlier = exact->inside;
    for (uint32_t i = 0; i < exact->class_count; i++) {
        struct class *class = &exact->classes[i];

        fill_own(exact, class);
        fill_joined(exact, class, earlier, before);
        earlier = class->joined.best;
        before += class->size * class->count;
    }
    return 0;
}

/* The best set of GPUs for all groups of more than one; 0 when there are none. */
static uint32_t best_set(const struct exact *exact)
{
    const struct class *last = exact->classes + exact->class_count - 1;
    uint32_t best = 0, gpus = 0;

    for (uint32_t i = 0; i < exact->class_count; i++)
        gpus += exact->classes[i].size * exact->classes[i].count;
    for (uint32_t set = exact->sets - 1; gpus > 0 && set > 0; set--)
        if (exact->size[set] == gpus && (best == 0 || last->joined.best[set] > last->joined.best[best]))
            best = set;
    return best;
}

static void give(uint8_t part[DT_TOPO_GPUS_MAX], uint32_t gpus, uint32_t set, uint32_t group)
{
    for (uint32_t gpu = 0; gpu < gpus; gpu++)
        if (set >> (gpus - 1 - gpu) & 1)
            part[gpu] = (uint8_t)group;
}

/* The groups of one class from the set that it got. */
static void give_class(uint8_t part[DT_TOPO_GPUS_MAX], const struct exact *exact, const struct class *class,
                       uint32_t set, const struct dt_bind_groups *groups)
{
    for (uint32_t group = 0; set != 0; group++) {
        if (groups->size[group] != class->size)
            continue;
        give(part, exact->gpus, class->own.head[set], group);
        set ^= class->own.head[set];
    }
}

static void give_singles(uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_groups *groups)
{
    uint32_t gpu = 0;

    for (uint32_t group = 0; group < groups->count; group++) {
        if (groups->size[group] != 1)
            continue;
        while (part[gpu] != DT_BIND_IDLE)
            gpu++;
        part[gpu] = (uint8_t)group;
    }
}

int dt_bind_exact(uint8_t part[DT_TOPO_GPUS_MAX], const struct dt_bind_links *links,
                  const struct dt_bind_groups *groups, struct dtrain_error *err)
{
    struct exact exact = {.gpus = links->count, .sets = UINT32_C(1) << links->count};
    uint32_t set;
    int rc = -1;

    if (links->count > DT_BIND_EXACT_GPUS_MAX)
        return dt_error_set(err, "%u GPUs are too many to try all groups: expected at most %u", links->count,
                            DT_BIND_EXACT_GPUS_MAX);
    if (exact_fill(&exact, links, groups, err))
        goto out;
    memset(part, DT_BIND_IDLE, DT_TOPO_GPUS_MAX);
    set = best_set(&exact);
    for (uint32_t i = exact.class_count; i-- > 0;) {
        uint32_t head = exact.classes[i].joined.head[set];

        give_class(part, &exact, &exact.classes[i], set ^ head, groups);
        set = head;
    }
    give_singles(part, groups);
    rc = 0;
out:
    exact_clear(&exact);
    return rc;
}
