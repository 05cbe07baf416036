# report/: the HTML page. uPlot comes from npm by the lock file at build time; without npm or network the page is built
# without charts, and says so.
UPLOT := $(BUILD)/report/uplot.js
$(UPLOT): report/package.json report/package-lock.json
	@mkdir -p $(@D)/npm && cp report/package.json report/package-lock.json $(@D)/npm/
	$(call say,NPM,$@)cd $(@D)/npm && if npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1; then \
	  cp node_modules/uplot/dist/uPlot.iife.min.js ../uplot.js && cp node_modules/uplot/dist/uPlot.min.css ../uplot.css; \
	else echo "report: npm couldn't fetch uPlot ($(@D)/npm/npm.log): pages will have no charts; make clean and build again with a network" >&2; \
	  : > ../uplot.js; : > ../uplot.css; fi
$(BUILD)/cli/html/page_parts.o: $(UPLOT) report/page.css report/page.js report/charts.js report/page.html
