/* plain.h - text of a terminal as lines and words: without colour codes, each line cut off in place. */
#ifndef DT_TOPO_IMPORT_PLAIN_H
#define DT_TOPO_IMPORT_PLAIN_H

#include <stddef.h>

#include "core/error.h"

/* A copy without colour codes and carriage returns; a NUL inside is refused. The caller frees. */
int dt_plain_copy(char **plain, const char *text, size_t size, struct dtrain_error *err);

/* Cuts off the next line, or word between blanks, and moves *rest behind it; NULL when there is none. */
char *dt_plain_line(char **rest);
char *dt_plain_filled_line(char **rest); /* the next that is not blank */
char *dt_plain_word(char **rest);

#endif
