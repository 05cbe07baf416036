# dte/: double-time-error filtering, pure arithmetic
MODULES += dte
