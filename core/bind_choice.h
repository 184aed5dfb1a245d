/*
 * bind_choice.h - what a step's user and its site want of the binder: which
 * things it binds, how GPUs are shown, and what it says. srun decides, and hands
 * it to the nodes in SLURM_DTRAIN_BIND, so that all of them do the same.
 */
#ifndef DT_CORE_BIND_CHOICE_H
#define DT_CORE_BIND_CHOICE_H

#include <stdbool.h>

#include "error.h"

#define DT_BIND_CHOICE_NAME "SLURM_DTRAIN_BIND"
#define DT_BIND_CHOICE_MAX 128 /* bytes of its value, or of an option's, with the NUL */

/* In the order of topo/bind.h's bits: item i is 1 << i. */
enum dt_bind_item {
    DT_BIND_ITEM_GPU,
    DT_BIND_ITEM_CPU,
    DT_BIND_ITEM_NIC,
    DT_BIND_ITEM_MEM,
    DT_BIND_ITEM_COUNT
};
#define DT_BIND_ITEMS_ALL ((1u << DT_BIND_ITEM_COUNT) - 1u)

/* all: every GPU of the node, index LOCAL_RANK being the task's own; own: only that one. */
enum dt_visible_mode { DT_VISIBLE_ALL, DT_VISIBLE_OWN };
extern const char *const dt_visible_words[2]; /* "all", "own" */

/* Who says what was bound: nobody, one line a node, one line a task. */
enum dt_bind_say { DT_BIND_SAY_NOTHING, DT_BIND_SAY_NODE, DT_BIND_SAY_TASKS };

struct dt_bind_choice {
    unsigned items; /* to be bound */
    unsigned kept;  /* wanted, but bound by an option of Slurm's that the user gave */
    enum dt_visible_mode visible;
    enum dt_bind_say say;
};

/*
 * "gpu,cpu,nic,mem": items joined by commas, or none; verbose adds words, and
 * alone means all items. *is_verbose is whether it is there.
 */
int dt_bind_choice_parse_items(unsigned *items, bool *is_verbose, const char *value, const char *what,
                               struct dtrain_error *err);

/* The value of SLURM_DTRAIN_BIND, "gpu,nic,mem;cpu;all;tasks", both ways. The text is hostile. */
void dt_bind_choice_encode(char text[DT_BIND_CHOICE_MAX], const struct dt_bind_choice *choice);
int dt_bind_choice_decode(struct dt_bind_choice *choice, const char *text, struct dtrain_error *err);

#endif
