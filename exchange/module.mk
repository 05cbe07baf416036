# exchange/: other tools' formats, and batches for a server
MODULES += exchange
exchange.pkgs := jansson zlib libzstd libxxhash
