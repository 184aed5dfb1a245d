/*
 * cmdline.h - what srun's own command line asks for, read before srun has
 * parsed it: the kind of MPI must be chosen before options are (srun reads
 * SLURM_MPI_TYPE first). Pure: works on a vector of words.
 */
#ifndef DT_PLUGIN_CMDLINE_H
#define DT_PLUGIN_CMDLINE_H

#include "core/request.h"

#define DT_CMDLINE_BYTES_MAX (128u * 1024u) /* read of a command line; srun's options stand first */
#define DT_CMDLINE_WORDS_MAX 16384u

struct dt_cmdline {
    bool has_mpi;        /* the user's own --mpi */
    bool is_interactive; /* the shell that salloc starts in the allocation */
    bool has_components; /* a heterogeneous step: ":" or several groups in --het-group */
    unsigned bound;      /* by the user's own --cpu-bind and the like: enum dt_bind_item as bits */
    const char *unsure;  /* first option that may or may not take the next word; NULL: none. Borrowed */
};

/*
 * Reads words[1..count-1] as srun's getopt_long() does: options up to the first
 * other word or "--", unique prefixes of long names, values in the same or the
 * next word; after ":" the options of the next component of a heterogeneous
 * step. dtrain's options are applied to request, on top of what it holds; a
 * value that is refused is left out, srun's own callback reports it.
 */
void dt_cmdline_scan(struct dt_cmdline *cmdline, struct dt_request *request, const char *const *words,
                     uint32_t count);

/* Whether a value of --cpu-bind, or of its variable, chooses anything: "verbose" does not. */
bool dt_cmdline_chooses(const char *value);

/*
 * Splits a /proc/PID/cmdline (words that end in NUL) in place: *words borrows
 * from text. A word without its NUL at the end is dropped. Returns the count.
 */
uint32_t dt_cmdline_split(const char **words, uint32_t max, const char *text, size_t bytes);

#endif
