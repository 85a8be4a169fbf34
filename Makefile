# The relay: every target is one plain line. make prints this help.
GO ?= go
GOLANGCI_VERSION = v2.15.0
HELM_VERSION = v3.22.0
# From the changelog; a tag of an image, as the chart writes it.
VERSION = $(shell .ci/version)
TOOLS = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/slackrelay-tools

.PHONY: help test goldens race lint chart page pictures bench bench-scale soak mutation fuzz run image push imagetest dist dist-check version notes servers redis luacheck
help: ## print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: servers ## run all tests (installs the servers that they run against, and curl, where it may)
	$(GO) test ./...

goldens: redis ## rewrite every golden file with what the tests make; read the difference before you commit it
	$(GO) generate ./...
	$(GO) test -count=1 -tags chart -run Golden $$($(GO) list -tags chart -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | awk '/[[ ]slackrelay\/test\/golden[] ]/ {print $$1}') -update

race: servers ## run all tests under the race detector (needs gcc)
	CGO_ENABLED=1 $(GO) test -race ./...

lint: luacheck $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION) ## lint Go and Lua
	$(TOOLS)/golangci-lint-$(GOLANGCI_VERSION) run ./...
	luacheck --quiet lua

chart: servers $(TOOLS)/helm-$(HELM_VERSION) ## lint the chart and check what it renders, with the real helm, and the alerts with promtool
	HELM=$(TOOLS)/helm-$(HELM_VERSION) $(GO) test -count=1 -tags chart ./helm/...

page: servers ## try the dashboard in a real Chromium
	@command -v chromium >/dev/null || .ci/install chromium
	$(GO) test -count=1 -tags page -run 'Dashboard|Preview' ./test

pictures: servers ## make the pictures of messages in docs/img, with the font of Slack and one for emoji
	@command -v chromium >/dev/null || .ci/install chromium
	@fc-list | grep -q NotoColorEmoji || .ci/install fonts-noto-color-emoji
	@fc-list | grep -q Lato-Regular || .ci/install fonts-lato
	PICTURES=$(CURDIR)/docs/img $(GO) test -count=1 -tags page -run TestPreviewOfMessages ./test
	rm docs/img/messages-*-dark.png

bench: redis ## measure against a bare handler and the plain script, in one run
	$(GO) test -run '^$$' -bench . ./test ./server ./store/redis ./ratelimit/replica ./events

SCALE ?= 10 100 1000 10000
bench-scale: redis ## measure what many channels cost (SCALE="10 100": numbers of channels; RECORD=v1.4.0: keep it in docs/benchmarks)
	$(GO) run ./test/scale -channels "$(SCALE)" -record "$(RECORD)" $(ARGS)

soak: servers ## what takes long: repetitions, many random decisions, fuzzing
	SOAK=20 CGO_ENABLED=1 $(GO) test -race -count=1 -timeout 60m -run 'TestTwoReplicas|TestKilled|TestOutagePolicies|TestUnsentMessages|TestChaos' -v ./test
	SOAK=1 $(GO) test -count=1 -timeout 10m -run TestSendersCannotHurtOtherChannels -v ./test
	$(GO) test -count=1 -timeout 120m -run TestTheTwinsAgree -v ./store/storetest -rapid.checks=5000
	SOAK=1 $(GO) test -count=1 -timeout 20m -run 'TestDayWith|TestASimulation|TestRedisAndMemory' ./simulation -histories=200
	SOAK_HISTORIES=100000 $(GO) test -count=1 -timeout 10m -run TestHistoriesOfHoldAndFlapping -v ./problem
	SOAK_DECISIONS=200000 $(GO) test -count=1 -timeout 180m -run TestStore/random_histories -v ./store/memory ./store/redis
	SOAK_DECISIONS=200000 $(GO) test -count=1 -timeout 60m -run 'TestMultiAgainstTheOracle|TestManyProcesses|TestWorker' -v ./ratelimit/multi ./store/redis
	$(MAKE) mutation
	$(MAKE) fuzz FUZZTIME=2m
	for source in $(filter-out corpus fuzz,$(notdir $(wildcard events/testdata/*))); do SOAK_SOURCE=$$source $(GO) test -run '^$$' -fuzz FuzzDecode -fuzztime 20s -fuzzminimizetime 1x ./events || exit 1; done

SAMPLE ?= 200
mutation: redis ## change operators of the state machine, and see that tests notice (SAMPLE=0: all, which takes hours; ONLY=lua/src/claim)
	nice $(GO) run ./test/mutation -sample $(SAMPLE) $(if $(ONLY),-run $(ONLY)) $(ARGS)

FUZZTIME ?= 10s
fuzz: ## fuzz everything that reads bytes from outside, FUZZTIME each
	$(GO) test -run '^$$' -fuzz FuzzDecode -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./events
	$(GO) test -run '^$$' -fuzz FuzzRender -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./notifier
	$(GO) test -run '^$$' -fuzz FuzzRule -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./events
	$(GO) test -run '^$$' -fuzz FuzzHook -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./server
	$(GO) test -run '^$$' -fuzz FuzzDoors -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./server
	$(GO) test -run '^$$' -fuzz FuzzGenericAgreesWithReflection -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./events
	$(GO) test -run '^$$' -fuzz FuzzReceiptIsWrittenAsEncodingJSONDoes -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./pipeline
	$(GO) test -run '^$$' -fuzz FuzzCredentials -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./server
	$(GO) test -run '^$$' -fuzz FuzzInteraction -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./interaction

run: ## run the relay with configs/relay.yaml
	$(GO) run ./cmd/relay serve --config configs/relay.yaml

IMAGE ?= slackrelay
image: ## build the image with docker, podman or buildah (BUILDER=..., IMAGE=registry.example/slackrelay, ARGS="--platform linux/arm64")
	$(or $(BUILDER),docker) build -t $(IMAGE):$(VERSION) --build-arg VERSION=$(VERSION) --build-arg REVISION=$$(git rev-parse HEAD) \
		--build-arg CREATED=$$(git log -1 --format=%cI) $(ARGS) .

push: image ## build the image, push it to the registry of IMAGE, and print the values for the chart
	$(or $(BUILDER),docker) push $(IMAGE):$(VERSION)
	@echo "helm upgrade … --set-string image.repository=$(IMAGE),image.tag=$(VERSION)"

imagetest: ## build the image with buildah, from base images made here, and run the program in it (needs root)
	.ci/image

dist: ## make the files of a release in dist/: binaries, bills of materials, licences, checksums (PLATFORMS="linux/amd64")
	.ci/dist

dist-check: ## build a release twice and compare the hashes (for this machine, or PLATFORMS)
	.ci/dist-check

version: ## print the version of this tree, from the changelog
	@echo $(VERSION)

notes: ## print the release notes of the newest version
	@awk '/^## / {in_it = /\[[0-9]/ && !n++} in_it' CHANGELOG.md

redis:
	@command -v redis-server >/dev/null && command -v redis-cli >/dev/null || .ci/install redis-server

servers: redis
	@command -v prometheus-alertmanager >/dev/null || .ci/install prometheus-alertmanager
	@command -v prometheus >/dev/null && command -v promtool >/dev/null || .ci/install prometheus
	@command -v curl >/dev/null || .ci/install curl

luacheck:
	@command -v luacheck >/dev/null || .ci/install lua-check

$(TOOLS)/golangci-lint-$(GOLANGCI_VERSION):
	GOBIN=$(TOOLS)/new $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(TOOLS)/new/golangci-lint $@

$(TOOLS)/helm-$(HELM_VERSION):
	GOBIN=$(TOOLS)/new $(GO) install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)
	mv $(TOOLS)/new/helm $@
