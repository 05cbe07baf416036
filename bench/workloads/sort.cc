// SPDX-License-Identifier: GPL-2.0-or-later
// Sorting and searching in C++: templates, comparisons that no predictor guesses, hash and tree lookups.
// usage: sort [ROUNDS]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

struct record {
    uint32_t key;
    uint32_t group;
    double weight;
    bool operator<(const record &o) const { return group != o.group ? group < o.group : key < o.key; }
};

static uint64_t state = 88172645463325252u;
static uint64_t draw()
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

template <typename T> static void shell_sort(std::vector<T> &v)
{
    for (size_t gap = v.size() / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (size_t i = gap; i < v.size(); i++) {
            T x = v[i];
            size_t j = i;
            for (; j >= gap && x < v[j - gap]; j -= gap)
                v[j] = v[j - gap];
            v[j] = x;
        }
}

static unsigned find(const std::vector<record> &v, uint32_t group)
{
    size_t low = 0, high = v.size();
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (v[middle].group < group)
            low = middle + 1;
        else
            high = middle;
    }
    return static_cast<unsigned>(low);
}

int main(int argc, char **argv)
{
    uint64_t total = 0;
    for (int round = argc > 1 ? std::atoi(argv[1]) : 16; round-- > 0;) {
        std::vector<record> records(40000);
        for (auto &r : records)
            r = {static_cast<uint32_t>(draw()), static_cast<uint32_t>(draw() % 5000), static_cast<double>(draw() % 100)};
        std::vector<record> copy = records;
        std::sort(records.begin(), records.end());
        shell_sort(copy);
        std::stable_sort(records.begin(), records.end(), [](const record &a, const record &b) { return a.weight < b.weight; });
        for (uint32_t g = 0; g < 30000; g++)
            total += find(copy, static_cast<uint32_t>(draw() % 5000));
        std::unordered_map<uint32_t, unsigned> seen;
        for (auto &r : records)
            seen[r.group * 7 + r.key % 3]++;
        for (auto &[key, n] : seen)
            total += n > 4 ? key : 1;
        std::make_heap(copy.begin(), copy.end(), [](const record &a, const record &b) { return a.key < b.key; });
        total += copy[0].key + records[1].group;
    }
    std::printf("%llu\n", static_cast<unsigned long long>(total));
}
