/* SPDX-License-Identifier: GPL-2.0-or-later */
/* graphviz's library, loaded when it is first needed: cyclescope runs without it. */
#include "cli/procedure/graph.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int graph_render(const char *dot, const char *format, FILE *to, struct cs_error *err)
{
    assert(strcmp(format, "svg") == 0 || strcmp(format, "ps") == 0);
    void *gvc = dlopen("libgvc.so.6", RTLD_NOW), *cgraph = dlopen("libcgraph.so.6", RTLD_NOW);
    void *(*context)(void) = NULL;
    void *(*read)(const char *) = NULL;
    int (*layout)(void *, void *, const char *) = NULL,
                                             (*render)(void *, void *, const char *, FILE *) = NULL;
    int (*free_layout)(void *, void *) = NULL, (*close_graph)(void *) = NULL;
    /* One context for the life of the process: graphviz's font plugin remembers the last font's name, which a
       context frees, and compares it with the next context's. */
    static void *at;
    if (gvc && cgraph) {
        *(void **)&context = dlsym(gvc, "gvContext");
        *(void **)&layout = dlsym(gvc, "gvLayout");
        *(void **)&render = dlsym(gvc, "gvRender");
        *(void **)&free_layout = dlsym(gvc, "gvFreeLayout");
        *(void **)&read = dlsym(cgraph, "agmemread");
        *(void **)&close_graph = dlsym(cgraph, "agclose");
    }
    if (!context || !layout || !render || !free_layout || !read || !close_graph)
        return cs_fail(err, ENOENT,
                       "graphviz's library (libgvc.so.6) is not installed: install graphviz, or use --dot");
    int rc = 0;
    if (!at)
        at = context();
    void *graph = read(dot);
    if (!at || !graph || layout(at, graph, "dot") != 0)
        rc = cs_fail(err, EINVAL, "graphviz could not lay the graph out; --dot shows it");
    else {
        if (render(at, graph, format, to) != 0)
            rc = cs_fail(err, EINVAL, "graphviz could not write %s (its plugins are missing?); use --dot",
                         format);
        free_layout(at, graph);
    }
    if (graph)
        close_graph(graph);
    return rc;
}
