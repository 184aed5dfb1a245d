/* A saved topology that root reads: only root's own, in folders that are root's own. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"
#include "topo/topo_hwloc.h"

#define PATH_BYTES 512
#define NOBODY 65534

/* A folder of root's below folders of root's; /tmp is everybody's. */
static char folder[] = "/run/dtrain-topo-XXXXXX";

static char *path_of(const char *name)
{
    static char path[PATH_BYTES];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text, size_t size)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

    if (fd < 0 || write(fd, text, size) != (ssize_t)size)
        exit(1);
    close(fd);
}

static void make_link(const char *to, const char *name)
{
    if (symlink(to, path_of(name)) != 0)
        exit(1);
}

static void make_folder(const char *name, unsigned mode)
{
    if (mkdir(path_of(name), 0755) != 0 || chmod(path_of(name), mode) != 0)
        exit(1);
}

static void make_all(const char *text, size_t size)
{
    write_file("good", text, size);
    write_file("empty", "", 0);
    write_file("text", "no topology", 11);
    write_file("group", text, size);
    write_file("other", text, size);
    write_file("nobody", text, size);
    write_file("huge", text, size);
    make_folder("open", 0777);
    make_folder("closed", 0755);
    write_file("open/good", text, size);
    write_file("closed/good", text, size);
    make_link("good", "link");
    make_link("closed", "way");
    if (chmod(path_of("group"), 0664) || chmod(path_of("other"), 0646) ||
        chown(path_of("nobody"), NOBODY, 0) || truncate(path_of("huge"), DT_TOPO_XML_MAX + 1) ||
        mkfifo(path_of("fifo"), 0644))
        exit(1);
}

static const struct {
    const char *name, *words; /* words NULL: it is read */
    bool is_absent;
} rows[] = {
    {"good", NULL, false},
    {"closed/good", NULL, false},
    {"absent", "cannot open 'absent'", true},
    {"nowhere/absent", "cannot open 'nowhere'", true},
    {"empty", "has 0 bytes: expected 1 to 16777216", false},
    {"text", "has no <topology>", false},
    {"group", "'group' belongs to user 0 with mode 0664: expected root's", false},
    {"other", "'other' belongs to user 0 with mode 0646: expected root's", false},
    {"nobody", "'nobody' belongs to user 65534", false},
    {"open/good", "'open' belongs to user 0 with mode 0777", false},
    {"huge", "has 16777217 bytes", false},
    {"link", "cannot open 'link'", false},
    {"way/good", "cannot open 'way'", false},
    {"closed/../good", "without '..'", false},
    {"fifo", "is no regular file", false},
    {"closed", "is no regular file", false},
};

static void test_rows(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dtrain_error err = {""};
        struct dt_topo *topo = NULL;
        bool is_absent = !rows[i].is_absent;
        int rc = dt_topo_from_trusted_file(&topo, path_of(rows[i].name), &is_absent, &err);

        tap_ok((rc == 0) == (rows[i].words == NULL) && (topo != NULL) == (rc == 0), "%s: %s %s", rows[i].name,
               rows[i].words == NULL ? "read" : "refused", rc == 0 ? "" : err.text);
        tap_ok(is_absent == rows[i].is_absent, "%s is %s", rows[i].name,
               rows[i].is_absent ? "absent" : "not absent");
        if (rows[i].words != NULL)
            tap_holds(err.text, rows[i].words, rows[i].name);
        dt_topo_destroy(topo);
    }
}

static void test_relative(void)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    bool is_absent;

    tap_ok(dt_topo_from_trusted_file(&topo, "topo.xml", &is_absent, &err) == -1,
           "a relative path is refused");
    tap_holds(err.text, "'topo.xml' is no full path", "a relative path");
}

static void remove_all(void)
{
    static const char *const names[] = {"good",      "empty",       "text", "group", "other",
                                        "nobody",    "huge",        "link", "way",   "fifo",
                                        "open/good", "closed/good", "open", "closed"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        remove(path_of(names[i]));
    rmdir(folder);
}

/* Why a folder that root may be trusted with cannot be made here; NULL: it was made. */
static const char *make_trusted_folder(void)
{
    struct stat run;

    if (geteuid() != 0)
        return "root is needed";
    if (stat("/run", &run) != 0 || run.st_uid != 0 || (run.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "/run here is not root's alone, as it is on a machine";
    return mkdtemp(folder) == NULL ? "no folder can be made in /run" : NULL;
}

int main(void)
{
    struct dtrain_error err = {""};
    const char *why = make_trusted_folder();
    char *text = NULL;
    size_t size = 0;

    test_relative();
    if (why != NULL) {
        tap_skip("files of root's", why);
        return tap_done();
    }
    if (chmod(folder, 0755) != 0 || dt_topo_export_machine(&text, &size, &err) != 0) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    umask(022);
    make_all(text, size);
    test_rows();
    remove_all();
    free(text);
    return tap_done();
}
