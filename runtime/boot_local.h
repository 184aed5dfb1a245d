/*
 * boot_local.h - where the ranks of one process meet: a table of their cards.
 * No launcher, nothing leaves the process.
 */
#ifndef DT_RUNTIME_BOOT_LOCAL_H
#define DT_RUNTIME_BOOT_LOCAL_H

#include "runtime/boot.h"

struct dt_local_table;

/* For n ranks. The caller frees it, after the bring-up of all has ended. */
int dt_local_table_create(struct dt_local_table **table, uint32_t n, struct dtrain_error *err);
void dt_local_table_destroy(struct dt_local_table *table);

/* What dt_boot_local.open() finds in *state as that rank; borrowed from the table. */
void *dt_local_table_seat(struct dt_local_table *table, uint32_t rank);

/* A rank will never come: who waits for it, or comes later, fails. */
void dt_local_table_fail(struct dt_local_table *table);

extern const struct dt_boot dt_boot_local;

#endif
