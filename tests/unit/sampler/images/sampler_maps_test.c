/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Image maps and labels, on a /proc and /sys that the test writes. */
#include "sampler/images/labels.h"
#include "sampler/images/maps.h"
#include "tests/unit/made_root.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <unistd.h>

static void ever_new_files_are_remembered_up_to_a_bound_and_the_rest_is_counted(void **state)
{
    (void)state;
    struct cs_images *images = cs_images_open(proc);
    char path[3000] = "/gone/";
    struct cs_mapped_file file = {
        .pid = 1, .start = 0x1000, .end = 0x2000, .path = path, .build_id = "", .inode = 1};
    memset(path + 6, 'x', sizeof path - 16);
    struct cs_mapped_image *first = cs_images_of_file(images, &file), *last = NULL;
    for (unsigned i = 0; i < 20000; i++) { /* 120 MB if all were kept */
        file.inode = i + 2;
        last = cs_images_of_file(images, &file);
    }
    assert_true(cs_images_count(images) > 1000);
    assert_true(cs_images_count(images) < 3000);
    assert_int_equal(cs_images_count(images) + cs_images_cut(images), 20002); /* and the one for all others */
    assert_true(last->cut);
    assert_false(last->placeable);
    file.inode = 1;
    assert_ptr_equal(cs_images_of_file(images, &file), first);
    cs_images_close(images);
}

/* The kernel reports the same build-id for both; the second path leads to another owner's file. */
static void a_strangers_file_of_the_same_build_id_is_another_image(void **state)
{
    const struct cs_mapped_image *latest[2];
    struct cs_image_segments layout;
    char path[2][200], command[500];
    (void)state;
    if (geteuid() != 0)
        skip(); /* nobody else can own the second one */
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/same-%d", root, i);
        snprintf(command, sizeof command, "cp /bin/true %s", path[i]);
        assert_int_equal(system(command), 0);
    }
    assert_int_equal(chown(path[1], 65534, 65534), 0);
    struct cs_images *images = cs_images_open(proc);
    struct cs_mapped_file file = {.pid = 1, .start = 0x1000, .end = 0x2000, .path = path[1], .build_id = ""};
    int fd = open(path[1], O_RDONLY);
    assert_int_equal(cs_image_segments_of_file(&layout, fd), 0);
    close(fd);
    if (!layout.build_id[0])
        skip();
    file.build_id = layout.build_id;
    struct cs_mapped_image *theirs = cs_images_of_file(images, &file);
    file.path = path[0];
    struct cs_mapped_image *ours = cs_images_of_file(images, &file);
    assert_ptr_not_equal(theirs, ours);
    assert_string_equal(ours->image.id, layout.build_id);
    assert_string_equal(strchr(theirs->image.id, '-'), "-u65534");
    assert_int_equal(cs_images_conflicts(images, latest), 1);
    assert_ptr_equal(latest[1], ours);
    assert_ptr_equal(cs_images_of_file(images, &file), ours);
    /* Root's file in the stranger's place: looked at again. */
    assert_int_equal(rename(path[0], path[1]), 0);
    file.path = path[1];
    file.pid = 2;
    assert_ptr_equal(cs_images_of_file(images, &file), ours);
    cs_images_close(images);
}

struct fixture {
    struct cs_images *images;
    struct cs_maps *maps;
};

static struct fixture begin(enum cs_label label)
{
    struct fixture f = {.images = cs_images_open(proc)};
    f.maps = cs_maps_open(f.images, proc, label);
    return f;
}
static void end(struct fixture *f)
{
    cs_maps_close(f->maps);
    cs_images_close(f->images);
}

/* A mapping of a file that is not there: its build-id says what it is, offsets are the file's. */
static void map(struct fixture *f, pid_t pid, uint64_t start, uint64_t size, const char *build_id,
                uint64_t time)
{
    struct cs_mapped_file file = {
        .pid = pid, .start = start, .end = start + size, .path = "/nowhere/file", .build_id = build_id};
    assert_int_equal(cs_maps_mmap(f->maps, &file, time), 0);
}

static const char *image_at(struct fixture *f, pid_t pid, uint64_t addr, uint64_t from, uint64_t to)
{
    struct cs_maps_location found;
    int rc = cs_maps_find(f->maps, pid, addr, from, to, &found);
    return rc < 0 ? cs_unknown_name((enum cs_unknown)(-rc - 1)) : found.image->image.build_id;
}

static void an_exec_does_not_credit_the_new_image_with_old_samples(void **state)
{
    (void)state;
    struct fixture f = begin(CS_LABEL_NONE);
    cs_maps_fork(f.maps, 10, 1, 100);
    map(&f, 10, 0x1000, 0x1000, "aa", 110);
    cs_maps_exec(f.maps, 10, "next", 200);
    map(&f, 10, 0x1000, 0x1000, "bb", 210);
    assert_string_equal(image_at(&f, 10, 0x1800, 150, 250), "aa");
    assert_string_equal(image_at(&f, 10, 0x1800, 220, 250), "bb");
    end(&f);
}

static void a_reused_pid_is_another_process(void **state)
{
    (void)state;
    struct fixture f = begin(CS_LABEL_NONE);
    cs_maps_fork(f.maps, 10, 1, 100);
    map(&f, 10, 0x1000, 0x1000, "aa", 110);
    cs_maps_exit(f.maps, 10, 200);
    cs_maps_fork(f.maps, 20, 1, 210);
    map(&f, 20, 0x1000, 0x1000, "bb", 220);
    cs_maps_fork(f.maps, 10, 20, 300);
    assert_string_equal(image_at(&f, 10, 0x1000, 190, 400), "aa");
    assert_string_equal(image_at(&f, 10, 0x1000, 310, 400), "bb");
    cs_maps_expire(f.maps, 250);
    assert_string_equal(image_at(&f, 10, 0x1000, 310, 400), "bb");
    assert_string_equal(image_at(&f, 10, 0x1000, 190, 400), "no-process");
    end(&f);
}

static void a_fork_shares_its_parents_maps_until_one_of_them_changes(void **state)
{
    (void)state;
    struct fixture f = begin(CS_LABEL_NONE);
    cs_maps_fork(f.maps, 10, 1, 100);
    map(&f, 10, 0x1000, 0x1000, "aa", 110);
    cs_maps_fork(f.maps, 11, 10, 200);
    map(&f, 11, 0x5000, 0x1000, "bb", 210);
    map(&f, 10, 0x6000, 0x1000, "cc", 220);
    assert_string_equal(image_at(&f, 11, 0x1000, 300, 300), "aa");
    assert_string_equal(image_at(&f, 11, 0x5000, 300, 300), "bb");
    assert_string_equal(image_at(&f, 11, 0x6000, 300, 300), "no-mapping");
    assert_string_equal(image_at(&f, 10, 0x5000, 300, 300), "no-mapping");
    assert_string_equal(image_at(&f, 10, 0x6000, 300, 300), "cc");
    end(&f);
}

static void a_look_for_an_old_sample_replaces_nothing_that_began_later(void **state)
{
    struct fixture f = begin(CS_LABEL_NONE);
    struct cs_maps_location at;
    (void)state;
    map(&f, 7, 0x1000, 0x1000, "aa", 100);
    map(&f, 7, 0x1000, 0x1000, "bb", 60); /* as /proc shows it, for a sample of then */
    map(&f, 7, 0x5000, 0x1000, "cc", 60);
    assert_int_equal(cs_maps_find(f.maps, 7, 0x1800, 70, 300, &at), 0);
    assert_string_equal(at.image->image.build_id, "aa");
    assert_int_equal(cs_maps_find(f.maps, 7, 0x5800, 70, 300, &at), 0);
    assert_string_equal(at.image->image.build_id, "cc");
    end(&f);
}

static void code_without_a_file_is_the_same_whatever_offset_is_told(void **state)
{
    struct fixture f = begin(CS_LABEL_NONE);
    struct cs_maps_location at;
    struct cs_mapped_file anonymous = {
        .pid = 8, .start = 0x7000, .end = 0x9000, .pgoff = 0x7000, .path = "//anon", .build_id = ""};
    (void)state;
    map(&f, 8, 0x1000, 0x1000, "aa", 50);
    assert_int_equal(cs_maps_mmap(f.maps, &anonymous, 100), 0); /* the kernel's record */
    anonymous.pgoff = 0;
    anonymous.path = "";
    assert_int_equal(cs_maps_mmap(f.maps, &anonymous, 150), 0); /* /proc */
    assert_int_equal(cs_maps_find(f.maps, 8, 0x8000, 110, 300, &at), 0);
    assert_int_equal(at.offset, 0x1000);
    end(&f);
}

static void nobody_is_credited_where_one_image_replaced_another(void **state)
{
    (void)state;
    struct fixture f = begin(CS_LABEL_NONE);
    cs_maps_fork(f.maps, 10, 1, 100);
    map(&f, 10, 0x1000, 0x4000, "aa", 110);
    map(&f, 10, 0x2000, 0x1000, "bb", 200);
    assert_string_equal(image_at(&f, 10, 0x2800, 150, 250), "replaced");
    assert_string_equal(image_at(&f, 10, 0x2800, 120, 190), "aa");
    assert_string_equal(image_at(&f, 10, 0x2800, 201, 250), "bb");
    assert_string_equal(image_at(&f, 10, 0x1800, 150, 250), "aa"); /* left and right of it */
    assert_string_equal(image_at(&f, 10, 0x4800, 150, 250), "aa");
    struct cs_maps_location found;
    assert_int_equal(cs_maps_find(f.maps, 10, 0x4800, 250, 250, &found), 0);
    assert_int_equal(found.offset, 0x3800);
    end(&f);
}

/* What is forgotten is said, and never credited to what came after; what is known stays. */
static void a_storm_of_mappings_is_bounded_and_what_is_cut_is_said(void **state)
{
    (void)state;
    enum { STORM = 20000 };
    struct fixture f = begin(CS_LABEL_NONE);
    cs_maps_fork(f.maps, 10, 1, 0);
    cs_maps_batch(f.maps, true);
    map(&f, 10, 0x1000, 0x1000, "aa", 1);
    for (int t = 2; t < STORM; t++) /* one after the other at one place */
        map(&f, 10, 0x2000, 0x1000, t % 2 ? "bb" : "cc", (uint64_t)t);
    cs_maps_batch(f.maps, false);
    assert_string_equal(image_at(&f, 10, 0x1800, 5, STORM), "aa");
    assert_string_equal(image_at(&f, 10, 0x2800, 5, 5), "cut");
    assert_string_equal(image_at(&f, 10, 0x2800, STORM, STORM), "bb");
    assert_int_equal(cs_maps_cut(f.maps), 0); /* none that is there is missing */
    for (int i = 0; i < STORM; i++)           /* one beside the other */
        map(&f, 10, 0x100000 + (uint64_t)i * 0x2000, 0x1000, "dd", STORM + 1);
    assert_true(cs_maps_cut(f.maps) > 0 && cs_maps_cut(f.maps) < STORM);
    assert_string_equal(image_at(&f, 10, 0x100800, STORM + 2, STORM + 2), "dd");
    assert_string_equal(image_at(&f, 10, 0x100800 + (STORM - 1) * 0x2000ULL, STORM + 2, STORM + 2), "cut");
    end(&f);
}

/* The same, against a model: a page table with times. */
static void lookups_agree_with_a_page_by_page_model(void **state)
{
    (void)state;
    enum { PAGES = 40, STEPS = 400 };
    static int model[STEPS + 1][PAGES];
    struct fixture f = begin(CS_LABEL_NONE);
    unsigned seed = 7;
    cs_maps_fork(f.maps, 10, 1, 0);
    for (int t = 1; t <= STEPS; t++) {
        char id[16];
        int first = rand_r(&seed) % PAGES, n = 1 + rand_r(&seed) % (PAGES - first),
            image = 1 + rand_r(&seed) % 5;
        memcpy(model[t], model[t - 1], sizeof model[t]);
        for (int p = first; p < first + n; p++)
            model[t][p] = image;
        snprintf(id, sizeof id, "%02d", image);
        map(&f, 10, (uint64_t)first << 12, (uint64_t)n << 12, id, (uint64_t)t * 10);
    }
    for (int i = 0; i < 20000; i++) {
        int t = rand_r(&seed) % STEPS, p = rand_r(&seed) % PAGES;
        char id[16];
        uint64_t at = (uint64_t)t * 10 + 5;
        snprintf(id, sizeof id, "%02d", model[t][p]);
        const char *found = image_at(&f, 10, (uint64_t)p << 12, at, at);
        assert_string_equal(found, model[t][p] ? id : "no-mapping");
    }
    end(&f);
}

static void a_real_file_gets_its_elf_addresses(void **state)
{
    (void)state;
    struct fixture f = begin(CS_LABEL_NONE);
    char self[256], build_id[41];
    struct cs_image_segments layout;
    struct cs_maps_location found;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    struct stat st;
    assert_int_equal(stat(self, &st), 0);
    FILE *in = fopen(self, "r");
    assert_int_equal(cs_image_segments_of_file(&layout, fileno(in)), 0);
    fclose(in);
    assert_true(layout.is_elf);
    strcpy(build_id, layout.build_id);
    const struct cs_image_segment *text = NULL;
    for (unsigned i = 0; i < layout.n_segments; i++)
        if (layout.segments[i].executable)
            text = &layout.segments[i];
    assert_non_null(text);
    struct cs_mapped_file file = {.pid = 10,
                                  .start = 0x7f0000001000,
                                  .end = 0x7f0000001000 + 0x10000,
                                  .pgoff = text->file_offset & ~0xfffULL,
                                  .path = self,
                                  .build_id = build_id};
    assert_int_equal(cs_maps_mmap(f.maps, &file, 1), 0);
    uint64_t within = text->file_offset & 0xfff;
    assert_int_equal(cs_maps_find(f.maps, 10, 0x7f0000001000 + within + 5, 2, 2, &found), 0);
    assert_int_equal(found.offset, text->vaddr + 5);
    assert_int_equal(found.image->image.kind, CS_IMAGE_ELF);

    /* Another file of that name, told by another build-id, is not it. */
    file.build_id = "0123";
    file.pid = 11;
    assert_int_equal(cs_maps_mmap(f.maps, &file, 1), 0);
    assert_int_equal(cs_maps_find(f.maps, 11, 0x7f0000001005, 2, 2, &found), 0);
    assert_int_equal(found.image->image.kind, CS_IMAGE_FILE);
    assert_string_equal(found.image->image.build_id, "0123");
    end(&f);
}

static void processes_that_run_already_are_read_from_proc(void **state)
{
    (void)state;
    put("proc/77/comm", "worker\n");
    put("proc/77/cgroup", "0::/system.slice/worker.service\n");
    put("proc/77/maps", "00400000-00401000 r--p 00000000 08:01 99 /opt/worker\n"
                        "00401000-00402000 r-xp 00001000 08:01 99 /opt/worker\n"
                        "f7000000-f7001000 r-xp 00000000 00:00 0 \n"
                        "7fff0000-7fff1000 r-xp 00000000 00:00 0 [vsyscall]\n");
    struct fixture f = begin(CS_LABEL_CGROUP);
    struct cs_maps_location found;
    assert_int_equal(cs_maps_scan_all(f.maps, 0), 1);
    assert_string_equal(image_at(&f, 77, 0x401000, 5, 5),
                        "no-file"); /* no build-id, and the file isn't there */
    assert_int_equal(cs_maps_find(f.maps, 77, 0xf7000010, 5, 5, &found), 0);
    assert_true(found.jit);
    assert_int_equal(found.offset, 0x10);
    assert_string_equal(cs_maps_label(f.maps, found.label), "/system.slice/worker.service");
    assert_string_equal(image_at(&f, 77, 0x7fff0000, 5, 5), "no-mapping");
    end(&f);
}

/* Two pods of one class: their paths are alike for 59 bytes, and a profile's head holds 63. */
#define POD(pod)                                                                                             \
    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" pod ".slice/cri-containerd-"
#define CONTAINER "3f1a5b7c9d0e2f4a6b8c0d2e4f6a8b0c1d3e5f7a9b1c3d5e7f9a0b2c4d6e8f"

static void cgroups_that_only_end_differently_stay_apart(void **state)
{
    (void)state;
    static const char *const groups[] = {POD("1c0a") CONTAINER "00.scope", POD("1c0a") CONTAINER "01.scope",
                                         POD("2d1b") CONTAINER "00.scope"};
    struct cs_labels *labels = cs_labels_open();
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(cs_labels_number(labels, groups[i]), i + 1);
    for (unsigned i = 0; i < 3; i++) {
        const char *text = cs_labels_text(labels, i + 1);
        struct cs_store_profile_head head;
        assert_true(strlen(text) < sizeof head.label); /* nothing cuts it again */
        assert_int_equal(cs_labels_number(labels, groups[i]), i + 1);
        assert_memory_equal(text, "\xe2\x80\xa6", 3);
        const char *end = i == 1 ? "01.scope~" : "00.scope~";
        assert_memory_equal(text + strlen(text) - 17, end, 9);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(text, cs_labels_text(labels, k + 1));
    }
    cs_labels_close(labels);
}

static void a_label_that_fits_is_kept_and_one_is_cut_between_characters(void **state)
{
    (void)state;
    char text[101];
    struct cs_labels *labels = cs_labels_open();
    memset(text, 'x', sizeof text);
    text[63] = '\0';
    assert_string_equal(cs_labels_text(labels, cs_labels_number(labels, text)), text);
    for (unsigned i = 0; i < 100; i++)
        text[i] = "\xc3\x9f"[i % 2];
    text[100] = '\0';
    const char *cut = cs_labels_text(labels, cs_labels_number(labels, text));
    assert_int_equal(strlen(cut), 62);
    assert_memory_equal(cut, "\xe2\x80\xa6\xc3\x9f", 5);
    cs_labels_close(labels);
}

static void a_process_whose_end_was_not_told_is_forgotten(void **state)
{
    (void)state;
    struct fixture f = begin(CS_LABEL_NONE);
    assert_int_equal(cs_maps_scan_all(f.maps, 0), 1); /* process 77 of the test before */
    map(&f, 99, 0x1000, 0x1000, "99", 5);
    assert_int_equal(cs_maps_processes(f.maps), 2);
    assert_int_equal(cs_maps_scan_all(f.maps, 50), 1);
    assert_string_equal(image_at(&f, 99, 0x1000, 10, 10), "99"); /* as long as samples may come */
    cs_maps_expire(f.maps, 100);
    assert_int_equal(cs_maps_processes(f.maps), 1);
    assert_string_equal(image_at(&f, 99, 0x1000, 10, 10), "no-process");
    end(&f);
}

static void labels_follow_the_command(void **state)
{
    (void)state;
    struct fixture f = begin(CS_LABEL_COMMAND);
    cs_maps_fork(f.maps, 10, 1, 100);
    cs_maps_exec(f.maps, 10, "first", 110);
    map(&f, 10, 0x1000, 0x1000, "aa", 120);
    cs_maps_fork(f.maps, 11, 10, 130);
    cs_maps_comm(f.maps, 11, "renamed", 140);
    assert_string_equal(cs_maps_label(f.maps, cs_maps_label_of(f.maps, 10, 150)), "first");
    assert_string_equal(cs_maps_label(f.maps, cs_maps_label_of(f.maps, 11, 150)), "renamed");
    end(&f);
}

static const char *label_at(const struct fixture *f, pid_t pid, uint64_t time_ns)
{
    return cs_maps_label(f->maps, cs_maps_label_of(f->maps, pid, time_ns));
}

static void a_process_that_lasts_has_a_label_of_its_own_and_brief_ones_share_their_commands(void **state)
{
    (void)state;
    const uint64_t second = 1000000000;
    struct fixture f = begin(CS_LABEL_LASTING);
    for (pid_t pid = 10; pid < 13; pid++) {
        cs_maps_fork(f.maps, pid, 1, second);
        cs_maps_exec(f.maps, pid, "a-b", second);
    }
    cs_maps_exit(f.maps, 10, 2 * second);
    cs_maps_note_lasting(f.maps, 2 * second);
    for (pid_t pid = 10; pid < 13; pid++)
        assert_string_equal(label_at(&f, pid, 2 * second), "a-b");
    cs_maps_exit(f.maps, 11, 3 * second); /* between two looks */
    cs_maps_note_lasting(f.maps, 3 * second);
    assert_string_equal(label_at(&f, 10, 2 * second), "a-b");
    assert_string_equal(label_at(&f, 11, 2 * second), "a-b-11");
    assert_string_equal(label_at(&f, 12, 2 * second), "a-b-12");
    cs_maps_fork(f.maps, 13, 12, 3 * second);
    assert_string_equal(label_at(&f, 13, 3 * second), "a-b");
    cs_maps_comm(f.maps, 12, "c", 3 * second);
    cs_maps_comm(f.maps, 13, "d", 3 * second);
    assert_string_equal(label_at(&f, 12, 4 * second), "c-12");
    assert_string_equal(label_at(&f, 13, 4 * second), "d");
    end(&f);
}

struct reader {
    struct fixture *f;
    bool stop;
    unsigned long found;
};

static void *read_on(void *arg)
{
    struct reader *r = arg;
    while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
        struct cs_maps_location found;
        if (cs_maps_find(r->f->maps, 10, 0x1800, UINT64_MAX, UINT64_MAX, &found) == 0) {
            assert_int_equal(found.offset, 0x800);
            r->found++;
        }
    }
    return NULL;
}

static void readers_on_other_threads_never_see_what_was_freed(void **state)
{
    (void)state;
    struct fixture f = begin(CS_LABEL_NONE);
    struct reader r = {.f = &f};
    pthread_t thread;
    cs_maps_fork(f.maps, 10, 1, 0);
    map(&f, 10, 0x1000, 0x1000, "aa", 1);
    assert_int_equal(pthread_create(&thread, NULL, read_on, &r), 0);
    for (uint64_t t = 1; t < 3000; t++) {
        map(&f, 10, 0x1000, 0x1000, t & 1 ? "aa" : "bb", t * 10);
        cs_maps_fork(f.maps, (pid_t)(100 + t), 10, t * 10 + 1);
        cs_maps_exit(f.maps, (pid_t)(100 + t), t * 10 + 2);
        if (t % 300 == 0)
            cs_maps_exec(f.maps, 10, "x", t * 10 + 3);
        cs_maps_expire(f.maps, t * 10 - 10);
    }
    __atomic_store_n(&r.stop, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    assert_true(r.found > 0);
    assert_in_range(cs_maps_processes(f.maps), 1, 10); /* and what ended was forgotten */
    end(&f);
}

/* ---- the kernel ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strangers_file_of_the_same_build_id_is_another_image),
        cmocka_unit_test(an_exec_does_not_credit_the_new_image_with_old_samples),
        cmocka_unit_test(a_reused_pid_is_another_process),
        cmocka_unit_test(a_fork_shares_its_parents_maps_until_one_of_them_changes),
        cmocka_unit_test(nobody_is_credited_where_one_image_replaced_another),
        cmocka_unit_test(a_look_for_an_old_sample_replaces_nothing_that_began_later),
        cmocka_unit_test(code_without_a_file_is_the_same_whatever_offset_is_told),
        cmocka_unit_test(a_storm_of_mappings_is_bounded_and_what_is_cut_is_said),
        cmocka_unit_test(lookups_agree_with_a_page_by_page_model),
        cmocka_unit_test(a_real_file_gets_its_elf_addresses),
        cmocka_unit_test(processes_that_run_already_are_read_from_proc),
        cmocka_unit_test(a_process_whose_end_was_not_told_is_forgotten),
        cmocka_unit_test(cgroups_that_only_end_differently_stay_apart),
        cmocka_unit_test(a_label_that_fits_is_kept_and_one_is_cut_between_characters),
        cmocka_unit_test(labels_follow_the_command),
        cmocka_unit_test(a_process_that_lasts_has_a_label_of_its_own_and_brief_ones_share_their_commands),
        cmocka_unit_test(readers_on_other_threads_never_see_what_was_freed),
        cmocka_unit_test(ever_new_files_are_remembered_up_to_a_bound_and_the_rest_is_counted),
    };
    return cmocka_run_group_tests(tests, make_root, drop_root);
}
