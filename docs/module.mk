# docs/: the public structs and functions of all rooms as one page. Tested by tests/integration/api_docs.sh.
API_PAGE    := $(BUILD)/docs/api.html
API_HEADERS := $(shell git ls-files '*.h' 2>/dev/null | grep -E '^(signals|store|dte|image|observer|sampler|analysis|exchange)/' | \
                 grep -vE '_internal\.h$$|\.bpf\.h$$|/(runner|examples|plugin)/')

.PHONY: docs-api
docs-api: $(API_PAGE) ## public structs and functions as one page, build/docs/api.html (needs doxygen)
$(API_PAGE): $(API_HEADERS) $(addprefix docs/api/,Doxyfile doc-comments one-page)
	@command -v doxygen >/dev/null || { echo "docs-api: install doxygen first (apt-get install doxygen)" >&2; exit 1; }
	@rm -rf $(@D)/xml $(@D)/headers; mkdir -p $(@D)
	$(call say,DOXYGEN,$@)docs/api/doc-comments $(@D)/headers $(API_HEADERS) && \
	  { cat docs/api/Doxyfile; echo "INPUT = $(@D)/headers"; echo "OUTPUT_DIRECTORY = $(@D)"; } | doxygen - && \
	  docs/api/one-page $(@D)/xml $(@D)/headers > $@.new && mv $@.new $@
