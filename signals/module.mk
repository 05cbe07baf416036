# signals/: what a target links (MIT). signals/*.c is the reader side and the runtime, without dependencies.
MODULES += signals
