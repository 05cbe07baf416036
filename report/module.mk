# report/: the HTML page. Its parts become bytes of the program, charts included: they are ours, nothing is fetched.
$(BUILD)/cli/html/page_parts.o: $(wildcard report/*.css report/*.js report/*.html)
