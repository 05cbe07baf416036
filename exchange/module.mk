# exchange/: other tools' formats, and batches for a server
MODULES += exchange
COLD += exchange
exchange.pkgs := jansson zlib libzstd libxxhash
INSTALLED += exchange/fleet/grafana.json:share/cyclescope/grafana.json
