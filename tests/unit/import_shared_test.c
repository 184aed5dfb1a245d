/* Published texts of real machines: every GPU, path and NIC of each. */
#include "import_golden.h"
#include "shared_file.h"

static const struct import_golden files[] = {
    {"links/a100x8_cgroup-limited-affinity.txt", NULL,
     "GPU0 nvidia numa=-1 cpus=0-14,16-30 nics=mlx5_0,mlx5_1:switches\n"
     "GPU1 nvidia numa=-1 cpus=0-14,16-30 nics=mlx5_0,mlx5_1:switches\n"
     "GPU2 nvidia numa=1 cpus=16-30,144-158 nics=mlx5_2,mlx5_3:switches\n"
     "GPU3 nvidia numa=1 cpus=16-30,144-158 nics=mlx5_2,mlx5_3:switches\n"
     "GPU4 nvidia numa=-1 cpus=0-14,16-30 nics=mlx5_5,mlx5_6:switches\n"
     "GPU5 nvidia numa=-1 cpus=0-14,16-30 nics=mlx5_5,mlx5_6:switches\n"
     "GPU6 nvidia numa=-1 cpus=0-14,16-30 nics=mlx5_7,mlx5_8:switches\n"
     "GPU7 nvidia numa=-1 cpus=0-14,16-30 nics=mlx5_7,mlx5_8:switches\n",
     EIGHT_BY("SW12"), "mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_5 mlx5_6 mlx5_7 mlx5_8", "mlx5_4 mlx5_9 mlx5_10"},
    {"links/dgx-a100_12nic.txt", NULL,
     "GPU0 nvidia numa=3 cpus=48-63,176-191 nics=mlx5_0,mlx5_1:switches\n"
     "GPU1 nvidia numa=3 cpus=48-63,176-191 nics=mlx5_0,mlx5_1:switches\n"
     "GPU2 nvidia numa=1 cpus=16-31,144-159 nics=mlx5_2,mlx5_3:switches\n"
     "GPU3 nvidia numa=1 cpus=16-31,144-159 nics=mlx5_2,mlx5_3:switches\n"
     "GPU4 nvidia numa=7 cpus=112-127,240-255 nics=mlx5_6,mlx5_7:switches\n"
     "GPU5 nvidia numa=7 cpus=112-127,240-255 nics=mlx5_6,mlx5_7:switches\n"
     "GPU6 nvidia numa=5 cpus=80-95,208-223 nics=mlx5_8,mlx5_9:switches\n"
     "GPU7 nvidia numa=5 cpus=80-95,208-223 nics=mlx5_8,mlx5_9:switches\n",
     EIGHT_BY("SW12"), "mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_6 mlx5_7 mlx5_8 mlx5_9",
     "mlx5_4 mlx5_5 mlx5_10 mlx5_11"},
    {"links/dgx1-v100_4ib.txt", NULL,
     "GPU0 nvidia numa=-1 cpus=0-19,40-59 nics=mlx5_0:switch\n"
     "GPU1 nvidia numa=-1 cpus=0-19,40-59 nics=mlx5_0:switch\n"
     "GPU2 nvidia numa=-1 cpus=0-19,40-59 nics=mlx5_1:switch\n"
     "GPU3 nvidia numa=-1 cpus=0-19,40-59 nics=mlx5_1:switch\n"
     "GPU4 nvidia numa=-1 cpus=20-39,60-79 nics=mlx5_2:switch\n"
     "GPU5 nvidia numa=-1 cpus=20-39,60-79 nics=mlx5_2:switch\n"
     "GPU6 nvidia numa=-1 cpus=20-39,60-79 nics=mlx5_3:switch\n"
     "GPU7 nvidia numa=-1 cpus=20-39,60-79 nics=mlx5_3:switch\n",
     "X NV1 NV1 NV2 NV2 SYS SYS SYS\n"
     "NV1 X NV2 NV1 SYS NV2 SYS SYS\n"
     "NV1 NV2 X NV2 SYS SYS NV1 SYS\n"
     "NV2 NV1 NV2 X SYS SYS SYS NV1\n"
     "NV2 SYS SYS SYS X NV1 NV1 NV2\n"
     "SYS NV2 SYS SYS NV1 X NV2 NV1\n"
     "SYS SYS NV1 SYS NV1 NV2 X NV2\n"
     "SYS SYS SYS NV1 NV2 NV1 NV2 X\n",
     "mlx5_0 mlx5_2 mlx5_1 mlx5_3", ""},
    {"links/gh200-quad.txt", NULL,
     "GPU0 nvidia numa=0 cpus=0-71\n"
     "GPU1 nvidia numa=1 cpus=72-143\n"
     "GPU2 nvidia numa=2 cpus=144-215\n"
     "GPU3 nvidia numa=3 cpus=216-287\n",
     "X NV6 NV6 NV6\n"
     "NV6 X NV6 NV6\n"
     "NV6 NV6 X NV6\n"
     "NV6 NV6 NV6 X\n",
     "", ""},
    {"links/h100-pcie_8_cross-socket-nvlink.txt", NULL,
     "GPU0 nvidia numa=0 cpus=-\n"
     "GPU1 nvidia numa=0 cpus=-\n"
     "GPU2 nvidia numa=0 cpus=-\n"
     "GPU3 nvidia numa=1 cpus=-\n"
     "GPU4 nvidia numa=1 cpus=-\n"
     "GPU5 nvidia numa=1 cpus=-\n"
     "GPU6 nvidia numa=1 cpus=-\n"
     "GPU7 nvidia numa=1 cpus=-\n",
     "X NODE NODE SYS SYS NV12 SYS SYS\n"
     "NODE X NV12 SYS SYS SYS SYS SYS\n"
     "NODE NV12 X SYS SYS SYS SYS SYS\n"
     "SYS SYS SYS X NV12 NODE NODE NODE\n"
     "SYS SYS SYS NV12 X NODE NODE NODE\n"
     "NV12 SYS SYS NODE NODE X NODE NODE\n"
     "SYS SYS SYS NODE NODE NODE X NV12\n"
     "SYS SYS SYS NODE NODE NODE NV12 X\n",
     "", ""},
    {"links/h100x4_nv6_nps4.txt", NULL,
     "GPU0 nvidia numa=3 cpus=6,14,22,30 nics=NIC0:switch\n"
     "GPU1 nvidia numa=1 cpus=4,12,20,28 nics=NIC1:switch\n"
     "GPU2 nvidia numa=7 cpus=7,15,23,31 nics=NIC2:switch\n"
     "GPU3 nvidia numa=5 cpus=5,13,21,29 nics=NIC3:switch\n",
     "X NV6 NV6 NV6\n"
     "NV6 X NV6 NV6\n"
     "NV6 NV6 X NV6\n"
     "NV6 NV6 NV6 X\n",
     "NIC0 NIC1 NIC2 NIC3", ""},
    {"links/hgx-h100_10nic.txt", NULL,
     "GPU0 nvidia numa=0 cpus=0-55,112-167 nics=NIC0:switch\n"
     "GPU1 nvidia numa=0 cpus=0-55,112-167 nics=NIC1:switch\n"
     "GPU2 nvidia numa=0 cpus=0-55,112-167 nics=NIC2:switch\n"
     "GPU3 nvidia numa=0 cpus=0-55,112-167 nics=NIC5:switch\n"
     "GPU4 nvidia numa=1 cpus=56-111,168-223 nics=NIC6:switch\n"
     "GPU5 nvidia numa=1 cpus=56-111,168-223 nics=NIC7:switch\n"
     "GPU6 nvidia numa=1 cpus=56-111,168-223 nics=NIC8:switch\n"
     "GPU7 nvidia numa=1 cpus=56-111,168-223 nics=NIC9:switch\n",
     EIGHT_BY("SW18"), "NIC0 NIC1 NIC2 NIC5 NIC6 NIC7 NIC8 NIC9", "NIC3 NIC4"},
    {"links/lumi-g_rocm-smi-showtoponuma.txt", NULL,
     "GPU0 amd numa=3 cpus=-\n"
     "GPU1 amd numa=3 cpus=-\n"
     "GPU2 amd numa=1 cpus=-\n"
     "GPU3 amd numa=1 cpus=-\n"
     "GPU4 amd numa=0 cpus=-\n"
     "GPU5 amd numa=0 cpus=-\n"
     "GPU6 amd numa=2 cpus=-\n"
     "GPU7 amd numa=2 cpus=-\n",
     "X NODE - - - - - -\n"
     "NODE X - - - - - -\n"
     "- - X NODE - - - -\n"
     "- - NODE X - - - -\n"
     "- - - - X NODE - -\n"
     "- - - - NODE X - -\n"
     "- - - - - - X NODE\n"
     "- - - - - - NODE X\n",
     "", ""},
    {"links/pcie8_pix-pairs.txt", NULL,
     "GPU0 nvidia numa=0 cpus=0-23,48-71\n"
     "GPU1 nvidia numa=0 cpus=0-23,48-71\n"
     "GPU2 nvidia numa=0 cpus=0-23,48-71\n"
     "GPU3 nvidia numa=0 cpus=0-23,48-71\n"
     "GPU4 nvidia numa=1 cpus=24-47,72-95\n"
     "GPU5 nvidia numa=1 cpus=24-47,72-95\n"
     "GPU6 nvidia numa=1 cpus=24-47,72-95\n"
     "GPU7 nvidia numa=1 cpus=24-47,72-95\n",
     "X PIX NODE NODE SYS SYS SYS SYS\n"
     "PIX X NODE NODE SYS SYS SYS SYS\n"
     "NODE NODE X PIX SYS SYS SYS SYS\n"
     "NODE NODE PIX X SYS SYS SYS SYS\n"
     "SYS SYS SYS SYS X PIX NODE NODE\n"
     "SYS SYS SYS SYS PIX X NODE NODE\n"
     "SYS SYS SYS SYS NODE NODE X PIX\n"
     "SYS SYS SYS SYS NODE NODE PIX X\n",
     "", ""},
    {"links/polaris_4xA100.txt", NULL,
     "GPU0 nvidia numa=3 cpus=24-31,56-63 nics=mlx5_0,mlx5_1:system\n"
     "GPU1 nvidia numa=2 cpus=16-23,48-55 nics=mlx5_1:bridge\n"
     "GPU2 nvidia numa=1 cpus=8-15,40-47 nics=mlx5_0,mlx5_1:system\n"
     "GPU3 nvidia numa=0 cpus=0-7,32-39 nics=mlx5_0:bridge\n",
     "X NV4 NV4 NV4\n"
     "NV4 X NV4 NV4\n"
     "NV4 NV4 X NV4\n"
     "NV4 NV4 NV4 X\n",
     "mlx5_0 mlx5_1", ""},
    {"links/rtx4090x8_all-sys.txt", NULL,
     "GPU0 nvidia numa=0 cpus=0-55,112-167 nics=NIC0,NIC1:system\n"
     "GPU1 nvidia numa=0 cpus=0-55,112-167 nics=NIC0,NIC1:system\n"
     "GPU2 nvidia numa=0 cpus=0-55,112-167 nics=NIC0,NIC1:system\n"
     "GPU3 nvidia numa=0 cpus=0-55,112-167 nics=NIC0,NIC1:system\n"
     "GPU4 nvidia numa=1 cpus=56-111,168-223 nics=NIC0,NIC1:system\n"
     "GPU5 nvidia numa=1 cpus=56-111,168-223 nics=NIC0,NIC1:system\n"
     "GPU6 nvidia numa=1 cpus=56-111,168-223 nics=NIC0,NIC1:bridge\n"
     "GPU7 nvidia numa=1 cpus=56-111,168-223 nics=NIC0,NIC1:system\n",
     "X SYS SYS SYS SYS SYS SYS SYS\n"
     "SYS X SYS SYS SYS SYS SYS SYS\n"
     "SYS SYS X SYS SYS SYS SYS SYS\n"
     "SYS SYS SYS X SYS SYS SYS SYS\n"
     "SYS SYS SYS SYS X SYS SYS SYS\n"
     "SYS SYS SYS SYS SYS X SYS SYS\n"
     "SYS SYS SYS SYS SYS SYS X SYS\n"
     "SYS SYS SYS SYS SYS SYS SYS X\n",
     "NIC0 NIC1", ""},
    {"nccl-topo/aws_p4d-24xl-topo.xml", NULL,
     "0000:10:1c.0 nvidia numa=0 cpus=0-23,48-71 nics=0000:10:1b.0:switch\n"
     "0000:10:1d.0 nvidia numa=0 cpus=0-23,48-71 nics=0000:10:1b.0:switch\n"
     "0000:20:1c.0 nvidia numa=0 cpus=0-23,48-71 nics=0000:20:1b.0:switch\n"
     "0000:20:1d.0 nvidia numa=0 cpus=0-23,48-71 nics=0000:20:1b.0:switch\n"
     "0000:90:1c.0 nvidia numa=1 cpus=24-47,72-95 nics=0000:90:1b.0:switch\n"
     "0000:90:1d.0 nvidia numa=1 cpus=24-47,72-95 nics=0000:90:1b.0:switch\n"
     "0000:a0:1c.0 nvidia numa=1 cpus=24-47,72-95 nics=0000:a0:1b.0:switch\n"
     "0000:a0:1d.0 nvidia numa=1 cpus=24-47,72-95 nics=0000:a0:1b.0:switch\n",
     "X PIX NODE NODE SYS SYS SYS SYS\n"
     "PIX X NODE NODE SYS SYS SYS SYS\n"
     "NODE NODE X PIX SYS SYS SYS SYS\n"
     "NODE NODE PIX X SYS SYS SYS SYS\n"
     "SYS SYS SYS SYS X PIX NODE NODE\n"
     "SYS SYS SYS SYS PIX X NODE NODE\n"
     "SYS SYS SYS SYS NODE NODE X PIX\n"
     "SYS SYS SYS SYS NODE NODE PIX X\n",
     "0000:10:1b.0 0000:20:1b.0 0000:90:1b.0 0000:a0:1b.0", ""},
    {"nccl-topo/azure_ndv4-topo.xml", NULL,
     "0001:00:00.0 nvidia numa=1 cpus=24-47 nics=0101:00:00.0,0102:00:00.0:switch\n"
     "0002:00:00.0 nvidia numa=1 cpus=24-47 nics=0101:00:00.0,0102:00:00.0:switch\n"
     "0003:00:00.0 nvidia numa=0 cpus=0-23 nics=0103:00:00.0,0104:00:00.0:switch\n"
     "0004:00:00.0 nvidia numa=0 cpus=0-23 nics=0103:00:00.0,0104:00:00.0:switch\n"
     "000b:00:00.0 nvidia numa=3 cpus=72-95 nics=0105:00:00.0,0106:00:00.0:switch\n"
     "000c:00:00.0 nvidia numa=3 cpus=72-95 nics=0105:00:00.0,0106:00:00.0:switch\n"
     "000d:00:00.0 nvidia numa=2 cpus=48-71 nics=0107:00:00.0,0108:00:00.0:switch\n"
     "000e:00:00.0 nvidia numa=2 cpus=48-71 nics=0107:00:00.0,0108:00:00.0:switch\n",
     "X PIX SYS SYS SYS SYS SYS SYS\n"
     "PIX X SYS SYS SYS SYS SYS SYS\n"
     "SYS SYS X PIX SYS SYS SYS SYS\n"
     "SYS SYS PIX X SYS SYS SYS SYS\n"
     "SYS SYS SYS SYS X PIX SYS SYS\n"
     "SYS SYS SYS SYS PIX X SYS SYS\n"
     "SYS SYS SYS SYS SYS SYS X PIX\n"
     "SYS SYS SYS SYS SYS SYS PIX X\n",
     "0101:00:00.0 0102:00:00.0 0103:00:00.0 0104:00:00.0 0105:00:00.0 0106:00:00.0 0107:00:00.0 "
     "0108:00:00.0",
     ""},
    {"nccl-topo/rccl_topo_8p_rome_n4.xml", NULL,
     "0000:03:00.0 amd numa=3 cpus=48-63 nics=mlx5_0:system\n"
     "0000:23:00.0 amd numa=2 cpus=32-47 nics=mlx5_0:system\n"
     "0000:26:00.0 amd numa=2 cpus=32-47 nics=mlx5_0:system\n"
     "0000:43:00.0 amd numa=1 cpus=16-31 nics=mlx5_0:system\n"
     "0000:83:00.0 amd numa=7 cpus=112-127 nics=mlx5_0:system\n"
     "0000:a3:00.0 amd numa=6 cpus=96-111 nics=mlx5_0:system\n"
     "0000:c3:00.0 amd numa=5 cpus=80-95 nics=mlx5_0:system\n"
     "0000:c6:00.0 amd numa=5 cpus=80-95 nics=mlx5_0:system\n",
     "X SYS SYS XG1 SYS SYS SYS XG1\n"
     "SYS X NODE SYS XG1 SYS XG1 SYS\n"
     "SYS NODE X XG1 SYS SYS SYS XG1\n"
     "XG1 SYS XG1 X SYS SYS SYS SYS\n"
     "SYS XG1 SYS SYS X XG1 SYS SYS\n"
     "SYS SYS SYS SYS XG1 X XG1 SYS\n"
     "SYS XG1 SYS SYS SYS XG1 X NODE\n"
     "XG1 SYS XG1 SYS SYS SYS NODE X\n",
     "mlx5_0", ""},
};

static void test_file(const struct import_golden *golden)
{
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    char path[4096];
    int rc;

    if (!shared_file_path(path, sizeof(path), golden->name)) {
        tap_skip(golden->name, "no such file beside the source tree");
        return;
    }
    rc = dt_import_file(&topo, NULL, path, &err);
    if (strstr(err.text, "built without expat") != NULL)
        tap_skip(golden->name, "this build has no XML parser");
    else
        import_golden_check(golden, rc, topo, err.text);
    dt_topo_destroy(topo);
}

int main(void)
{
    for (size_t i = 0; i < IMPORT_GOLDEN_COUNT(files); i++)
        test_file(&files[i]);
    return tap_done();
}
