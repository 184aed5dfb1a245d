#include "boot_local.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct seat {
    struct dt_local_table *table;
    uint32_t rank;
    struct dt_boot_counts counts;
    void *card; /* NULL: not published */
    size_t size;
};

struct dt_local_table {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_failed;
    uint32_t n, published;
    struct seat seats[];
};

/* ---- The table -------------------------------------------------------------- */

int dt_local_table_create(struct dt_local_table **made, uint32_t n, struct dtrain_error *err)
{
    size_t bytes = sizeof(struct dt_local_table) + n * sizeof(struct seat);
    struct dt_local_table *table = calloc(1, bytes);
    pthread_condattr_t attributes;

    if (table == NULL)
        return dt_error_memory(err, bytes, "the ranks of this process");
    pthread_mutex_init(&table->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&table->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    table->n = n;
    for (uint32_t i = 0; i < n; i++)
        table->seats[i] = (struct seat){.table = table, .rank = i};
    *made = table;
    return 0;
}

void dt_local_table_destroy(struct dt_local_table *table)
{
    if (table == NULL)
        return;
    for (uint32_t i = 0; i < table->n; i++)
        free(table->seats[i].card);
    pthread_cond_destroy(&table->changed);
    pthread_mutex_destroy(&table->lock);
    free(table);
}

void *dt_local_table_seat(struct dt_local_table *table, uint32_t rank)
{
    return &table->seats[rank];
}

void dt_local_table_fail(struct dt_local_table *table)
{
    pthread_mutex_lock(&table->lock);
    table->has_failed = true;
    pthread_cond_broadcast(&table->changed);
    pthread_mutex_unlock(&table->lock);
}

/* With the lock. Waits for all cards, or for that of one. */
static int await(struct dt_local_table *table, const struct seat *one, const struct dt_deadline *deadline,
                 bool *is_late, struct dtrain_error *err)
{
    struct timespec at = {.tv_sec = deadline->at_ns / 1000000000, .tv_nsec = deadline->at_ns % 1000000000};
    int rc = 0;

    while (!table->has_failed && rc == 0 && (one != NULL ? one->card == NULL : table->published < table->n))
        rc = pthread_cond_timedwait(&table->changed, &table->lock, &at);
    *is_late = one != NULL ? one->card == NULL : table->published < table->n;
    return *is_late && table->has_failed ? dt_error_set(err, "another rank of this process did not start")
                                         : 0;
}

/* ---- As boot.h says ----------------------------------------------------------- */

static bool local_is_available(uint32_t task_count, char *why, size_t size)
{
    (void)task_count;
    snprintf(why, size, "only for the ranks of one process");
    return false;
}

static int local_open(void **state, struct dt_boot_facts *facts, struct dtrain_error *err)
{
    const struct seat *seat = *state;

    (void)err;
    *facts = (struct dt_boot_facts){
        .task = seat->rank,
        .task_count = seat->table->n,
        .local_rank = seat->rank,
        .local_size = seat->table->n,
        .node_count = 1,
    };
    return 0;
}

static void local_close(void *state)
{
    (void)state;
}

static int local_publish(void *state, const void *card, size_t size, struct dtrain_error *err)
{
    struct seat *seat = state;
    void *copy = malloc(size + 1);

    if (copy == NULL)
        return dt_error_memory(err, size, "a rank's card");
    memcpy(copy, card, size);
    pthread_mutex_lock(&seat->table->lock);
    seat->card = copy;
    seat->size = size;
    seat->counts.puts++;
    seat->counts.commits++;
    seat->table->published++;
    pthread_cond_broadcast(&seat->table->changed);
    pthread_mutex_unlock(&seat->table->lock);
    return 0;
}

static int local_fence(void *state, const struct dt_deadline *deadline, bool *is_late,
                       struct dtrain_error *err)
{
    struct seat *seat = state;
    int rc;

    pthread_mutex_lock(&seat->table->lock);
    seat->counts.fences++;
    rc = await(seat->table, NULL, deadline, is_late, err);
    pthread_mutex_unlock(&seat->table->lock);
    return rc;
}

static int local_get(void *state, uint32_t task, void *card, size_t *size, const struct dt_deadline *deadline,
                     bool *is_late, struct dtrain_error *err)
{
    struct seat *seat = state;
    const struct seat *asked = &seat->table->seats[task];
    int rc;

    pthread_mutex_lock(&seat->table->lock);
    seat->counts.gets++;
    rc = await(seat->table, asked, deadline, is_late, err);
    if (rc == 0 && !*is_late) {
        memcpy(card, asked->card, asked->size);
        *size = asked->size;
    }
    pthread_mutex_unlock(&seat->table->lock);
    return rc;
}

static void local_count(const void *state, struct dt_boot_counts *counts)
{
    *counts = ((const struct seat *)state)->counts;
}

const struct dt_boot dt_boot_local = {
    .name = "local",
    .is_available = local_is_available,
    .open = local_open,
    .close = local_close,
    .publish = local_publish,
    .fence = local_fence,
    .get = local_get,
    .count = local_count,
};
