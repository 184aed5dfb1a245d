/*
 * hostlist_term.h - one entry of a hostlist, "x[0-1]c[07-09]": read, measured and
 * expanded. Of hostlist.c alone.
 */
#ifndef DT_CORE_HOSTLIST_TERM_H
#define DT_CORE_HOSTLIST_TERM_H

#include <stdbool.h>

#include "hostlist.h"

/* LOW-HIGH or LOW: numbers are printed with LOW's width at least. */
struct dt_hostlist_range {
    uint64_t low, high;
    uint32_t width;
};

/* [RANGE,...]: the numbers of it that the product stands at. */
struct dt_hostlist_bracket {
    const char *first; /* behind the "[" */
    const char *next;  /* behind the current range */
    struct dt_hostlist_range range;
    uint64_t number;
    uint32_t count;  /* numbers in all */
    uint64_t digits; /* bytes of all of them */
    size_t width;    /* bytes of the longest one */
};

/* Text and brackets in turn: piece[0] bracket[0] piece[1] ...; no name ends in text behind a bracket. */
struct dt_hostlist_term {
    struct {
        const char *text;
        size_t length;
    } piece[DT_HOSTLIST_BRACKETS_MAX + 1];
    struct dt_hostlist_bracket bracket[DT_HOSTLIST_BRACKETS_MAX];
    unsigned brackets;
    uint64_t count; /* names */
    uint64_t bytes; /* of all names with their NULs */
};

/*
 * Each of these moves *at behind what it read and returns NULL, or returns what is
 * wrong with *at where.
 */
const char *dt_hostlist_term_take(struct dt_hostlist_term *term, const char **at);
/* Decimal digits; *width is how many there are. */
const char *dt_hostlist_number_take(uint64_t *number, uint32_t *width, const char **at);

/* Writes the name that the term stands at, with its NUL. Returns what is behind. */
char *dt_hostlist_term_write(char *to, const struct dt_hostlist_term *term);
/* Goes to the next name in Slurm's order; behind the last comes the first. */
void dt_hostlist_term_advance(struct dt_hostlist_term *term);

/* Bytes of a number that is printed with leading zeros up to width. */
uint32_t dt_hostlist_number_width(uint64_t number, uint32_t width);
/* Printable, and no blank, comma, semicolon (it ends a field of the plan's text) or bracket. */
bool dt_hostlist_is_name_byte(char c);

#endif
