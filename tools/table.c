#include "tools/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 2
#define MORE "..."

void dt_table_init_bare(struct dt_table *table, unsigned width)
{
    assert(width > 0 && width <= DT_TABLE_WIDTH_MAX);
    *table = (struct dt_table){.width = width, .gap = 2};
}

void dt_table_init(struct dt_table *table, const char *const *titles)
{
    unsigned width = 0;

    while (titles[width] != NULL)
        width++;
    dt_table_init_bare(table, width);
    for (unsigned i = 0; i < width; i++)
        dt_table_add(table, "%s", titles[i]);
}

static bool make_room(struct dt_table *table)
{
    size_t room = table->room == 0 ? 64 : table->room * 2;
    void *cells;

    if (table->count < table->room)
        return true;
    cells = realloc(table->cells, room * sizeof(*table->cells));
    if (cells == NULL) {
        table->is_incomplete = true;
        return false;
    }
    table->cells = cells;
    table->room = room;
    return true;
}

void dt_table_add(struct dt_table *table, const char *fmt, ...)
{
    va_list args;
    char *cell;
    int n;

    if (!make_room(table))
        return;
    cell = table->cells[table->count++];
    va_start(args, fmt);
    n = vsnprintf(cell, DT_TABLE_CELL_MAX, fmt, args);
    va_end(args);
    if (n >= DT_TABLE_CELL_MAX)
        strcpy(cell + DT_TABLE_CELL_MAX - sizeof(MORE), MORE);
}

void dt_table_add_index(struct dt_table *table, int index)
{
    if (index < 0)
        dt_table_add(table, "%s", "");
    else
        dt_table_add(table, "%d", index);
}

/* The widest text below the title decides whether a column is there at all. */
static void measure(const struct dt_table *table, int widths[DT_TABLE_WIDTH_MAX])
{
    for (unsigned column = 0; column < table->width; column++) {
        int title = (int)strlen(table->cells[column]);

        widths[column] = 0;
        for (size_t i = column + table->width; i < table->count; i += table->width)
            if ((int)strlen(table->cells[i]) > widths[column])
                widths[column] = (int)strlen(table->cells[i]);
        if (widths[column] > 0 && widths[column] < title)
            widths[column] = title;
    }
}

/* Blanks are written only before a text, so that no line ends in them. */
static void print_row(const struct dt_table *table, struct dt_out *out, size_t first,
                      const int widths[DT_TABLE_WIDTH_MAX])
{
    int at = 0, start = INDENT;

    for (unsigned column = 0; column < table->width; column++) {
        const char *cell = table->cells[first + column];
        int room = DT_TABLE_COLUMNS - start, n = (int)strlen(cell);

        if (widths[column] == 0)
            continue;
        if (n > 0 && room > (int)strlen(MORE)) {
            bool fits = n <= room;

            dt_out_printf(out, "%*s%.*s%s", start - at, "", fits ? n : room - (int)strlen(MORE), cell,
                          fits ? "" : MORE);
            at = start + (fits ? n : room);
        }
        start += widths[column] + (int)table->gap;
    }
    dt_out_text(out, "\n");
}

int dt_table_print(struct dt_table *table, struct dt_out *out, struct dtrain_error *err)
{
    int widths[DT_TABLE_WIDTH_MAX];
    bool is_incomplete = table->is_incomplete;

    if (!is_incomplete && table->count >= table->width) {
        measure(table, widths);
        for (size_t row = 0; row + table->width <= table->count; row += table->width)
            print_row(table, out, row, widths);
    }
    free(table->cells);
    table->cells = NULL;
    return is_incomplete ? dt_error_memory(err, table->room * sizeof(*table->cells), "a table") : 0;
}
