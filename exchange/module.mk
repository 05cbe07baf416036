# exchange/: other tools' formats, and batches for a server
MODULES += exchange
