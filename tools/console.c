#include "tools/console.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS 96

/* Bytes of text that fit `room` columns, ending at a blank where there is one. */
static int line_length(const char *text, int room)
{
    int n = (int)strlen(text);

    if (n <= room)
        return n;
    for (n = room; n > 0 && text[n] != ' ';)
        n--;
    return n > 0 ? n : room;
}

void dt_console_entry(struct dt_out *out, int width, const char *title, const char *text)
{
    dt_out_printf(out, "  %-*s", width - 2, title);
    if ((int)strlen(title) > width - 2)
        dt_out_printf(out, "\n%*s", width, "");
    for (;;) {
        int n = line_length(text, COLUMNS - width - 1);

        dt_out_printf(out, " %.*s\n", n, text);
        text += n;
        if (*text == '\0')
            return;
        text += *text == ' ';
        dt_out_printf(out, "%*s", width, "");
    }
}

static int write_stdout(void *context, const char *text, size_t n)
{
    (void)context;
    while (n > 0) {
        ssize_t done = write(STDOUT_FILENO, text, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        text += done;
        n -= (size_t)done;
    }
    return 0;
}

void dt_console_open(struct dt_out *out)
{
    dt_out_init(out, write_stdout, NULL);
}

enum dt_exit dt_console_close(struct dt_out *out)
{
    struct dtrain_error err;

    if (dt_out_flush(out, &err) != 0)
        return dt_console_fail("dtrain", &err);
    if (close(STDOUT_FILENO) != 0) {
        dt_error_set(&err, "cannot write the output: %s", strerror(errno));
        return dt_console_fail("dtrain", &err);
    }
    return DT_EXIT_OK;
}

enum dt_exit dt_console_fail(const char *who, const struct dtrain_error *err)
{
    fprintf(stderr, "%s: %s\n", who, err->text);
    return DT_EXIT_FAILED;
}

enum dt_exit dt_console_fail_usage(const char *who, const struct dtrain_error *err)
{
    if (err != NULL)
        dt_console_fail(who, err);
    fprintf(stderr, "Try '%s --help'.\n", who);
    return DT_EXIT_USAGE;
}
