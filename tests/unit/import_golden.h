/* import_golden.h - what a topology must be, as text; see topo_print.h for its words. */
#ifndef DT_TESTS_IMPORT_GOLDEN_H
#define DT_TESTS_IMPORT_GOLDEN_H

#include "tap.h"
#include "topo/import/import.h"
#include "topo_print.h"

struct import_golden {
    const char *name, *text; /* NULL: of a file or machine of that name */
    const char *gpus;        /* a line for each */
    const char *paths;       /* a row for each */
    const char *used, *unused; /* NICs */
};

/* Every two of eight GPUs have the same path. */
#define EIGHT_BY(p)                                 \
    "X " p " " p " " p " " p " " p " " p " " p "\n" \
    p " X " p " " p " " p " " p " " p " " p "\n"    \
    p " " p " X " p " " p " " p " " p " " p "\n"    \
    p " " p " " p " X " p " " p " " p " " p "\n"    \
    p " " p " " p " " p " X " p " " p " " p "\n"    \
    p " " p " " p " " p " " p " X " p " " p "\n"    \
    p " " p " " p " " p " " p " " p " X " p "\n"    \
    p " " p " " p " " p " " p " " p " " p " X\n"

#define IMPORT_GOLDEN_COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static char import_golden_printed[TOPO_PRINT_MAX];

static inline void import_golden_print_gpus(const struct dt_topo *topo)
{
    size_t used = 0;

    import_golden_printed[0] = '\0';
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        topo_print_gpu(import_golden_printed + used, sizeof(import_golden_printed) - used - 1, topo, i);
        used += strlen(import_golden_printed + used);
        strcpy(import_golden_printed + used++, "\n");
    }
}

static inline void import_golden_same(const char *expected, const char *what, const char *name)
{
    if (!tap_ok(strcmp(import_golden_printed, expected) == 0, "%s: %s", name, what))
        printf("# expected:\n%s\n# got:\n%s\n", expected, import_golden_printed);
}

/* A test of the import, four of all that the golden says, each with its difference shown. */
static inline void __attribute__((unused))
import_golden_check(const struct import_golden *golden, int rc, const struct dt_topo *topo, const char *error)
{
    if (!tap_ok(rc == 0, "%s", golden->name)) {
        printf("# %s\n", error);
        return;
    }
    import_golden_print_gpus(topo);
    import_golden_same(golden->gpus, "GPUs", golden->name);
    topo_print_paths(import_golden_printed, sizeof(import_golden_printed), topo);
    import_golden_same(golden->paths, "paths", golden->name);
    topo_print_nics(import_golden_printed, sizeof(import_golden_printed), topo, true);
    import_golden_same(golden->used, "NICs", golden->name);
    topo_print_nics(import_golden_printed, sizeof(import_golden_printed), topo, false);
    import_golden_same(golden->unused, "NICs that are not for tasks", golden->name);
}

/* The same after dt_import_text() of the golden's own text. */
static inline void __attribute__((unused))
import_golden_check_texts(const struct import_golden *goldens, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct dtrain_error err = {""};
        struct dt_topo *topo = NULL;
        int rc = dt_import_text(&topo, NULL, goldens[i].text, strlen(goldens[i].text), "text", &err);

        import_golden_check(&goldens[i], rc, topo, err.text);
        dt_topo_destroy(topo);
    }
}

struct import_refusal {
    const char *name, *text, *words;
};

/* Each text is refused, with these words. */
static inline void __attribute__((unused))
import_golden_check_refusals(const struct import_refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = refusals[i].text;
        struct dtrain_error err = {""};
        struct dt_topo *topo = NULL;
        int rc = dt_import_text(&topo, NULL, text, strlen(text), "text", &err);

        tap_ok(rc == -1 && topo == NULL, "%s: refused", refusals[i].name);
        tap_holds(err.text, refusals[i].words, refusals[i].name);
        dt_topo_destroy(topo);
    }
}

#endif
