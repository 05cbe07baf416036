# man/: pages and shell completion, made from the table of subcommands and from the format pages.
# A format page: MAN5 += NAME:FILE.md gives cyclescope-NAME(5).
MAN5 += store:store/FORMAT.md log:observer/LOG.md json:docs/json.md
GENERATED := $(BUILD)/man/made

$(GENERATED): $(BUILD)/cyclescope man/from-markdown $(foreach p,$(MAN5),$(lastword $(subst :, ,$(p))))
	@rm -rf $(@D); mkdir -p $(@D)/man1 $(@D)/man5 $(@D)/completion
	$(call say,MAN,$(@D))for c in cyclescope $$($(PROGRAM) --subcommands); do \
	    $(PROGRAM) --man $$c > $(@D)/man1/cyclescope$$([ $$c = cyclescope ] || echo -$$c).1 || exit 1; done
	@$(foreach p,$(MAN5),man/from-markdown -v title=CYCLESCOPE-$(shell echo $(firstword $(subst :, ,$(p))) | tr a-z A-Z) -v section=5 \
	    -v version=$(VERSION) $(lastword $(subst :, ,$(p))) > $(@D)/man5/cyclescope-$(firstword $(subst :, ,$(p))).5 &&) :
	@$(PROGRAM) --completion bash > $(@D)/completion/cyclescope && $(PROGRAM) --completion zsh > $(@D)/completion/_cyclescope
	@touch $@
