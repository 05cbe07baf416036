# sampler/: the DCPI-style interrupt sampler
MODULES += sampler
sampler.bpf  := $(wildcard sampler/*.bpf.c)
sampler.pkgs := liburcu-bp libbpf libxxhash
sampler.libs := -lpfm
