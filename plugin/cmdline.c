#include "cmdline.h"

#include <string.h>

/* srun's short options that take a value, in the same or in the next word (22.05 to 25.05). */
static const char short_with_value[] = "ABCDFGJLMNSTWbcdeimnopqrtwx";
/* Those whose value, if any, ends the same word. */
static const char short_with_optional[] = "IKk";

static const char *const long_flags[] = {
    "consolidate-segments", "contiguous", "debugger-test", "disable-status", "exact",
    "external-launcher", "help", "hold", "interactive", "label", "multi-prog", "no-allocate",
    "overcommit", "oversubscribe", "preserve-env", "pty", "quiet", "quit-on-interrupt", "reboot",
    "spread-job", "spread-segments", "stepmgr", "test-only", "unbuffered", "usage", "use-min-nodes",
    "verbose", "version", "wait-for-children", "whole",
};

static const char *const long_with_value[] = {
    "accel-bind", "account", "acctg-freq", "autocomplete", "bb", "bbf", "bcast-exclude", "begin",
    "chdir", "cluster", "cluster-constraint", "clusters", "comment", "constraint", "container",
    "container-id", "context", "core-spec", "cores-per-socket", "cpu-bind", "cpu-freq", "cpu_bind",
    "cpus-per-gpu", "cpus-per-task", "deadline", "delay-boot", "dependency", "distribution",
    "epilog", "error", "exclude", "export", "extra-node-info", "gid", "gpu-bind", "gpu-freq",
    "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "gres-flags", "het-group",
    "hint", "input", "job-name", "jobid", "licenses", "mail-type", "mail-user", "mcs-label", "mem",
    "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "mpi", "msg-timeout", "network",
    "nodefile", "nodelist", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu",
    "ntasks-per-node", "ntasks-per-socket", "ntasks-per-tres", "open-mode", "output", "pack-group",
    "partition", "power", "prefer", "priority", "profile", "prolog", "qos", "relative",
    "reservation", "segment", "signal", "slurmd-debug", "sockets-per-node", "switches",
    "task-epilog", "task-prolog", "tasks-per-node", "thread-spec", "threads", "threads-per-core",
    "time", "time-min", "tmp", "treewidth", "tres-bind", "tres-per-task", "uid", "wait", "wckey",
};

static const char *const long_with_optional[] = {
    "bcast", "compress", "exclusive", "immediate", "kill-on-bad-exit", "nice", "no-kill",
    "oom-kill-step", "overlap", "propagate", "resv-ports", "send-libs", "x11",
};

enum argument { ARGUMENT_NONE, ARGUMENT_NEEDED, ARGUMENT_OPTIONAL };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *const *names;
    size_t count;
    enum argument argument;
} tables[] = {
    {long_flags, COUNT(long_flags), ARGUMENT_NONE},
    {long_with_value, COUNT(long_with_value), ARGUMENT_NEEDED},
    {long_with_optional, COUNT(long_with_optional), ARGUMENT_OPTIONAL},
};

/* A long name as getopt_long() resolves it. */
struct match {
    const char *name; /* NULL: unknown or ambiguous */
    enum argument argument;
    bool is_ours;
    bool is_exact;
    uint32_t count;
};

static void match_consider(struct match *match, const char *text, size_t length, const char *name,
                           enum argument argument, bool is_ours)
{
    bool is_exact = strlen(name) == length;

    if (match->is_exact || strncmp(name, text, length) != 0)
        return;
    *match = (struct match){name, argument, is_ours, is_exact, is_exact ? 1 : match->count + 1};
}

static struct match match_find(const char *text, size_t length)
{
    struct match match = {0};
    const struct dt_option *options;
    size_t option_count;

    for (size_t t = 0; t < COUNT(tables); t++)
        for (size_t i = 0; i < tables[t].count; i++)
            match_consider(&match, text, length, tables[t].names[i], tables[t].argument, false);
    options = dt_options(&option_count);
    for (size_t i = 0; i < option_count; i++)
        match_consider(&match, text, length, options[i].name,
                       options[i].kind == DT_ARGUMENT_REQUIRED ? ARGUMENT_NEEDED : ARGUMENT_OPTIONAL, true);
    if (match.count != 1)
        match.name = NULL;
    return match;
}

static bool names_het_group(const char *name)
{
    return strcmp(name, "het-group") == 0 || strcmp(name, "pack-group") == 0;
}

static const struct {
    const char *name;
    enum dt_bind_item item;
} binders[] = {
    {"cpu-bind", DT_BIND_ITEM_CPU}, {"cpu_bind", DT_BIND_ITEM_CPU},  {"mem-bind", DT_BIND_ITEM_MEM},
    {"gpu-bind", DT_BIND_ITEM_GPU}, {"tres-bind", DT_BIND_ITEM_GPU}, {"accel-bind", DT_BIND_ITEM_GPU},
};

bool dt_cmdline_chooses(const char *value)
{
    static const char *const manners[] = {"", "v", "verbose", "q", "quiet"};

    if (value == NULL)
        return false;
    for (size_t i = 0; i < COUNT(manners); i++)
        if (strcmp(value, manners[i]) == 0)
            return false;
    return true;
}

static unsigned bound_by(const char *name, const char *value)
{
    for (size_t i = 0; i < COUNT(binders); i++)
        if (strcmp(name, binders[i].name) == 0 && dt_cmdline_chooses(value))
            return 1u << binders[i].item;
    return 0;
}

/* Returns how many words the option takes: 1 or 2. */
static uint32_t scan_long(struct dt_cmdline *cmdline, struct dt_request *request, const char *word,
                          const char *next)
{
    const char *equals = strchr(word, '=');
    struct match match = match_find(word + 2, equals ? (size_t)(equals - word) - 2 : strlen(word + 2));
    bool takes_next = match.argument == ARGUMENT_NEEDED && equals == NULL && next != NULL;
    const char *value = equals ? equals + 1 : takes_next ? next : NULL;

    if (match.name == NULL) {
        if (equals == NULL && cmdline->unsure == NULL)
            cmdline->unsure = word;
        return 1;
    }
    if (match.is_ours)
        (void)dt_request_apply(request, match.name, value, NULL);
    else if (strcmp(match.name, "mpi") == 0)
        cmdline->has_mpi = true;
    else if (strcmp(match.name, "interactive") == 0)
        cmdline->is_interactive = true;
    else if (names_het_group(match.name) && value != NULL && strpbrk(value, ",-") != NULL)
        cmdline->has_components = true;
    cmdline->bound |= bound_by(match.name, value);
    return takes_next ? 2 : 1;
}

/* One word of short options: -lN4, -N 4. */
static uint32_t scan_short(const char *word)
{
    for (const char *c = word + 1; *c; c++) {
        if (strchr(short_with_value, *c) != NULL)
            return c[1] ? 1 : 2;
        if (strchr(short_with_optional, *c) != NULL)
            return 1;
    }
    return 1;
}

/* Returns the index of the first word that is no option. */
static uint32_t scan_options(struct dt_cmdline *cmdline, struct dt_request *request, const char *const *words,
                             uint32_t count, uint32_t i)
{
    while (i < count && words[i][0] == '-' && words[i][1] != '\0') {
        if (strcmp(words[i], "--") == 0)
            return i + 1;
        if (words[i][1] == '-')
            i += scan_long(cmdline, request, words[i], i + 1 < count ? words[i + 1] : NULL);
        else
            i += scan_short(words[i]);
    }
    return i;
}

void dt_cmdline_scan(struct dt_cmdline *cmdline, struct dt_request *request, const char *const *words,
                     uint32_t count)
{
    uint32_t i = 1;

    *cmdline = (struct dt_cmdline){0};
    while (i < count) {
        i = scan_options(cmdline, request, words, count, i);
        while (i < count && strcmp(words[i], ":") != 0)
            i++;
        cmdline->has_components = cmdline->has_components || i < count;
        i++;
    }
}

uint32_t dt_cmdline_split(const char **words, uint32_t max, const char *text, size_t bytes)
{
    const char *end = text + bytes;
    const char *stop;
    uint32_t count = 0;

    while (count < max && text < end && (stop = memchr(text, '\0', (size_t)(end - text))) != NULL) {
        words[count++] = text;
        text = stop + 1;
    }
    return count;
}
