/* The plugin's parts that need no step: GPUs of a request, MASTER_ADDR and MASTER_PORT, dtrain.conf's file.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/gpus.h"
#include "plugin/master.h"
#include "plugin/site.h"
#include "tap.h"

/* ---- GPUs ---- */

static const struct {
    const char *per_node, *per_step;
    uint32_t nodes, expected;
} gpus[] = {
    {"gres:gpu:8", NULL, 4, 8},
    {"gres:gpu:a100:8", NULL, 4, 8},
    {"gres/gpu:8", NULL, 4, 8},
    {"gres/gpu:a100:8", "", 4, 8},
    {"gres/gpu=8", NULL, 4, 8},
    {"gpu:4", NULL, 1, 4},
    {"gres:gpu", NULL, 1, 1},
    {"gres:gpu:a100", NULL, 1, 1},
    {"gres:gpu:a100:2,gres:gpu:h100:3", NULL, 1, 5},
    {"cpu:4,gres:gpu:2,gres:nic:1", NULL, 1, 2},
    {"cpu:4", "cpu:16", 2, 0},
    {NULL, "cpu:4,gres:gpu:4", 1, 4},
    /* every other node has one at least */
    {NULL, "gres:gpu:4", 2, 3},
    {NULL, "gres:gpu:4", 4, 1},
    {NULL, "gres:gpu:2", 4, 0},
    {NULL, "gres:gpu:2", 0, 0},
    {NULL, NULL, 4, 0},
    {"gres:none", NULL, 4, 0},
    {"gres:gpux:4", NULL, 1, 0},
    {"gres:gpu:4k", NULL, 1, 0},
    {"gres:gpu:99999999999", NULL, 1, 0},
    {",,,", NULL, 1, 0},
};

static void test_gpus(void)
{
    char wide[DT_GPUS_ITEM_MAX + 8] = "gres:gpu:";

    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        uint32_t got = dt_gpus_per_node(gpus[i].per_node, gpus[i].per_step, gpus[i].nodes);

        tap_ok(got == gpus[i].expected, "%s a node, %s in all on %u nodes: %u GPUs (got %u)",
               gpus[i].per_node ? gpus[i].per_node : "-", gpus[i].per_step ? gpus[i].per_step : "-",
               gpus[i].nodes, gpus[i].expected, got);
    }
    memset(wide + strlen(wide), '1', sizeof(wide) - strlen(wide) - 1);
    tap_ok(dt_gpus_count(wide) == 0, "an item that is too long shows nothing");
}

/* ---- Port ---- */

static void test_port(void)
{
    struct dt_master_key key = {.job_id = 1};
    bool in_range = true, differ = true;
    uint16_t first = dt_master_port(&key, 20000, 29999), last = first;

    for (key.step_id = 1; key.step_id < 500; key.step_id++) {
        uint16_t port = dt_master_port(&key, 20000, 29999);

        in_range = in_range && port >= 20000 && port <= 29999;
        differ = differ && port != last && port != first;
        last = port;
    }
    tap_ok(in_range, "ports of 500 steps lie in the range");
    tap_ok(differ, "and none is its neighbour's or the first");
    tap_ok(dt_master_port(&(struct dt_master_key){7, 3, 0}, 20000, 29999) !=
               dt_master_port(&(struct dt_master_key){7, 3, 1}, 20000, 29999),
           "a restart changes the port");
    tap_ok(dt_master_port(&(struct dt_master_key){7, 3, 0}, 20000, 29999) !=
               dt_master_port(&(struct dt_master_key){8, 3, 0}, 20000, 29999),
           "another job has another port");
    tap_ok(dt_master_port(&(struct dt_master_key){7, 3, 1}, 20000, 29999) ==
               dt_master_port(&(struct dt_master_key){7, 3, 1}, 20000, 29999),
           "the same step has the same port");
    tap_ok(dt_master_port(&(struct dt_master_key){7, UINT32_MAX, UINT32_MAX}, 1024, 65535) >= 1024,
           "the largest ids");
    tap_ok(dt_master_port(&(struct dt_master_key){7, 3, 1}, 5000, 5000) == 5000, "a range of one port");
    tap_ok(dt_master_port(&(struct dt_master_key){7, 3, 1}, 5000, 4000) == 5000, "a range that is none");
}

/* ---- Address ---- */

static const struct {
    const char *name;
    bool is_alone;
    const char *expected; /* NULL: refused */
    const char *words;
} addresses[] = {
    {"10.1.2.3", false, "10.1.2.3", ""},
    {"2001:db8::1", false, "2001:db8::1", ""},
    {"127.0.0.1", true, "127.0.0.1", ""},
    {"127.0.1.1", false, NULL, "node 127.0.1.1 resolves only to addresses that other nodes cannot reach"},
    {"::1", false, NULL, "cannot reach"},
    {"::1", true, "::1", ""},
    {"fe80::1", true, NULL, "link-local"},
    {"no such host", false, NULL, "node no such host cannot be resolved"},
};

static void test_addresses(void)
{
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        char address[DT_PLAN_ADDR_MAX] = "";
        struct dtrain_error err = {""};
        int rc = dt_master_resolve(address, addresses[i].name, addresses[i].is_alone, &err);

        if (addresses[i].expected != NULL)
            tap_ok(rc == 0 && strcmp(address, addresses[i].expected) == 0, "%s is %s (%s)", addresses[i].name,
                   addresses[i].expected, err.text);
        else
            tap_ok(rc == -1 && strstr(err.text, addresses[i].words) != NULL, "refuses %s: %s",
                   addresses[i].name, err.text);
    }
}

/* ---- dtrain.conf ---- */

static char folder[] = "/tmp/dtrain-site-XXXXXX";

static char *write_conf(const char *name, const char *text, size_t bytes)
{
    static char argument[256];
    FILE *file;

    snprintf(argument, sizeof(argument), "conf=%s/%s", folder, name);
    file = fopen(argument + 5, "w");
    fwrite(text, 1, bytes, file);
    fclose(file);
    return argument;
}

static void test_refused(char *argument, const char *words)
{
    struct dtrain_error err = {""};
    struct dt_conf conf;

    tap_ok(dt_site_load(&conf, 1, &argument, &err) == -1, "refuses %.60s", argument);
    tap_holds(err.text, words, "and says why");
}

static void test_site(void)
{
    struct dt_conf conf;
    struct dtrain_error err = {""};
    char *large = calloc(1, DT_CONF_FILE_MAX + 1);
    char *argument;
    char path[300];

    memset(large, '#', DT_CONF_FILE_MAX + 1);
    if (mkdtemp(folder) == NULL)
        tap_ok(false, "a folder for files: %s", strerror(errno));
    argument = write_conf("good", "port_min = 30000\nport_max = 30010\nmpi = pmix_v4\n", 48);
    tap_ok(dt_site_load(&conf, 1, &argument, &err) == 0 && conf.port_min == 30000 &&
               strcmp(conf.mpi, "pmix_v4") == 0,
           "a file is read (%s)", err.text);
    tap_ok(dt_site_load(&conf, 0, NULL, &err) == 0 && conf.port_min == 20000, "no file: the defaults");
    test_refused(write_conf("bad", "port_min = 30000\nport_mix = 1\n", 30), "bad:2: ");
    test_refused(write_conf("large", large, DT_CONF_FILE_MAX + 1), "has 65537 bytes: expected at most 65536");
    snprintf(path, sizeof(path), "conf=%s/missing", folder);
    test_refused(path, "missing cannot be opened: No such file");
    snprintf(path, sizeof(path), "conf=%s", folder);
    test_refused(path, "is no regular file");
    snprintf(path, sizeof(path), "conf=%s/fifo", folder);
    mkfifo(path + 5, 0600);
    test_refused(path, "is no regular file");
    test_refused((char[]){"conf=dtrain.conf"}, "expected an absolute path behind the =");
    test_refused((char[]){"config=/etc/x"}, "argument 'config=/etc/x' is not known: expected conf=FILE");
    free(large);
}

/* The sample, its keys uncommented: all keys there are, each with its default. */
static void test_sample(void)
{
    struct dt_conf defaults, conf;
    struct dtrain_error err = {""};
    char path[4096], text[8192], *line = NULL;
    size_t count, room = 0, used = 0;
    const struct dt_conf_key *keys = dt_conf_keys(&count);
    FILE *file;

    snprintf(path, sizeof(path), "%s/etc/dtrain.conf", getenv("DT_SRCDIR") ? getenv("DT_SRCDIR") : ".");
    file = fopen(path, "r");
    if (!tap_ok(file != NULL, "the sample dtrain.conf: %s", path))
        return;
    while (getline(&line, &room, file) > 0)
        if (line[0] == '#' && line[1] != ' ' && used + strlen(line) < sizeof(text))
            used += (size_t)sprintf(text + used, "%s", line + 1);
    fclose(file);
    free(line);
    dt_conf_defaults(&defaults);
    dt_conf_defaults(&conf);
    tap_ok(dt_conf_parse(&conf, text, used, "sample", &err) == 0 &&
               memcmp(&conf, &defaults, sizeof(conf)) == 0,
           "its keys have their defaults (%s)", err.text);
    for (size_t i = 0; i < count; i++) {
        char start[64];

        snprintf(start, sizeof(start), "%s = %s\n", keys[i].name, keys[i].fallback);
        tap_holds(text, start, keys[i].name);
    }
}

static void remove_files(void)
{
    static const char *const names[] = {"good", "bad", "large", "fifo"};
    char path[300];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

int main(void)
{
    test_gpus();
    test_port();
    test_addresses();
    test_site();
    test_sample();
    remove_files();
    return tap_done();
}
