// SPDX-License-Identifier: GPL-2.0-or-later
// A search whose code is a header's, inlined into the program's own function, in a thread that main joins: for explain_culprits.sh.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static size_t distinct(const std::vector<unsigned> &all)
{
    std::vector<unsigned> seen;
    for (unsigned one : all)
        if (std::find(seen.begin(), seen.end(), one) == seen.end()) // inlined
            seen.push_back(one);
    return seen.size();
}

int main(int argc, char **argv)
{
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(argc > 1 ? atof(argv[1]) : 1);
    size_t n = 0;
    std::thread worker([&] {
        std::vector<unsigned> all;
        for (unsigned i = 0; i < 8000; i++)
            all.push_back(i * 7919 % 6007);
        while (std::chrono::steady_clock::now() < until)
            n += distinct(all);
    });
    worker.join();
    printf("%zu\n", n);
}
