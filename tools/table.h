/*
 * table.h - cells in columns for people: as wide as their texts, empty columns
 * left out, lines of at most DT_TABLE_COLUMNS characters.
 */
#ifndef DT_TOOLS_TABLE_H
#define DT_TOOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/out.h"

#define DT_TABLE_CELL_MAX 64 /* bytes of a cell with the NUL; what is longer ends in "..." */
#define DT_TABLE_WIDTH_MAX 80u /* columns of a table */
#define DT_TABLE_COLUMNS 100

struct dt_table {
    unsigned width;
    unsigned gap; /* blanks between columns */
    size_t count, room;
    char (*cells)[DT_TABLE_CELL_MAX];
    bool is_incomplete; /* memory ran out */
};

/* titles: NULL-terminated, the first row. width is at most DT_TABLE_WIDTH_MAX. */
void dt_table_init(struct dt_table *table, const char *const *titles);
/* Without titles. */
void dt_table_init_bare(struct dt_table *table, unsigned width);

/* The next cell, row by row. */
void dt_table_add(struct dt_table *table, const char *fmt, ...) DT_PRINTF(2, 3);
/* An os index; negative: not known, an empty cell. */
void dt_table_add_index(struct dt_table *table, int index);

/* Prints and frees. Fails when memory ran out. */
int dt_table_print(struct dt_table *table, struct dt_out *out, struct dtrain_error *err);

#endif
