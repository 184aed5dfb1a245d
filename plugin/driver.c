#include "driver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/parse.h"

#define MINOR_MAX 65535u

/* The value of a line "Name:   value", cut at its end. False: there is no such line, or it is too long. */
static bool find_value(char *value, size_t size, const char *text, const char *name)
{
    const char *line = strstr(text, name);
    size_t length;

    if (line == NULL)
        return false;
    line += strlen(name);
    line += strspn(line, " \t");
    length = strcspn(line, " \t\r\n");
    if (length == 0 || length >= size)
        return false;
    memcpy(value, line, length);
    value[length] = '\0';
    return true;
}

bool dt_driver_parse(struct dt_driver_gpu *gpu, const char *text)
{
    char number[16];

    if (!find_value(number, sizeof(number), text, "Device Minor:") ||
        dt_parse_u32(&gpu->minor, number, 0, MINOR_MAX, "Device Minor", NULL))
        return false;
    if (!find_value(gpu->uuid, sizeof(gpu->uuid), text, "GPU UUID:"))
        gpu->uuid[0] = '\0';
    return true;
}

static bool read_text(char *text, size_t size, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n;

    if (fd < 0)
        return false;
    do {
        n = read(fd, text, size - 1);
    } while (n < 0 && errno == EINTR);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static void load_gpu(struct dt_driver *driver, const char *folder, const char *name)
{
    struct dt_driver_gpu *gpu = &driver->gpus[driver->count];
    char path[512], text[DT_DRIVER_INFORMATION_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s/information", folder, name);

    if (n < 0 || (size_t)n >= sizeof(path) || strlen(name) >= sizeof(gpu->pci) || strchr(name, ':') == NULL)
        return;
    strcpy(gpu->pci, name);
    if (read_text(text, sizeof(text), path) && dt_driver_parse(gpu, text))
        driver->count++;
}

void dt_driver_load(struct dt_driver *driver, const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    driver->count = 0;
    if (dir == NULL)
        return;
    while (driver->count < DT_TOPO_GPUS_MAX && (entry = readdir(dir)) != NULL)
        load_gpu(driver, folder, entry->d_name);
    closedir(dir);
}
