// Mutants of the wiring that no test noticed when they were found. Each names the spec that must fail with it.

/** @typedef {import('../scratch-tree/scratch-tree.mjs').SourceChange & { name: string, spec: string }} KnownMutant */

const CORE = 'libs/core/src';

/** @type {readonly KnownMutant[]} */
export const KNOWN_MUTANTS = [
  {
    name: 'failed records are written to the first cluster, not to that of their binding',
    spec: 'libs/core/test/lifecycle/second-cluster.spec.ts',
    file: `${CORE}/assembly/failure-handling-factory.ts`,
    text: 'producer: () => clusters.durableProducer(binding.cluster),',
    replacement: 'producer: () => clusters.durableProducer(clusters.aliases[0]!),',
  },
  {
    name: 'large failed records are compressed by a producer of the first cluster',
    spec: 'libs/core/test/lifecycle/second-cluster.spec.ts',
    file: `${CORE}/assembly/failure-handling-factory.ts`,
    text: 'clusters.compressingProducer(binding.cluster)',
    replacement: 'clusters.compressingProducer(clusters.aliases[0]!)',
  },
  {
    name: "retry tiers without their binding's circuit breaker",
    spec: 'libs/core/test/failures/circuit-breaker.spec.ts',
    file: `${CORE}/assembly/binding-builder.ts`,
    text: 'they call the same handler.\n        breaker,',
    replacement: 'they call the same handler.\n        breaker: tier ? undefined : breaker,',
  },
  {
    name: 'topics are checked and created on the first cluster',
    spec: 'libs/core/test/lifecycle/second-cluster.spec.ts',
    file: `${CORE}/assembly/event-bus-kernel.ts`,
    text: "this.#settings.require('check topics').clusters.driver(cluster)",
    replacement:
      "((clusters) => clusters.driver(cluster && clusters.aliases[0]!))(this.#settings.require('check topics').clusters)",
  },
  {
    name: 'clusters are closed in onModuleDestroy',
    spec: 'libs/core/test/lifecycle/last-hooks.spec.ts',
    file: `${CORE}/nest/event-bus-bootstrap.ts`,
    text: 'async onModuleDestroy(): Promise<void> {\n    await this.#drain();',
    replacement:
      'async onModuleDestroy(): Promise<void> {\n    await this.#drain();\n    await this.kernel.closeClusters();',
  },
  {
    name: 'a pause does not commit',
    spec: 'libs/core/test/lifecycle/registration.spec.ts',
    file: `${CORE}/consuming/session/member-session.ts`,
    text: 'await this.#committer.flush([...lanes], FINAL_COMMIT_TIMEOUT_MS);',
    replacement: '',
  },
  {
    name: 'startup.concurrency is ignored',
    spec: 'libs/core/test/configuration/application-options.spec.ts',
    file: `${CORE}/assembly/event-bus-kernel.ts`,
    text: '() => (this.#settings.options ?? EVENTBUS_DEFAULTS).startup.concurrency,',
    replacement: '() => EVENTBUS_DEFAULTS.startup.concurrency,',
  },
  {
    name: 'a destroy that hangs holds up the shutdown',
    spec: 'libs/core/src/containers/shutdown/shutdown-coordinator.spec.ts',
    file: `${CORE}/containers/shutdown/shutdown-coordinator.ts`,
    text: "await this.#withTimeout(mainContainer.id, 'close', COMMAND_TIMEOUT_MS, destroyed);",
    replacement: 'await destroyed;',
  },
  {
    name: 'a session that hangs holds up the shutdown',
    spec: 'libs/core/src/containers/message-container.spec.ts',
    file: `${CORE}/containers/container-run.ts`,
    text: "reports.push(await this.#withTimeout('close', drainMs + TIMEOUTS_MS.close, closed));",
    replacement: 'reports.push(await closed);',
  },
  {
    name: 'the @DltHandler of another binding is asked',
    spec: 'libs/core/test/configuration/dead-letter-methods.spec.ts',
    file: `${CORE}/assembly/failure-handling-factory.ts`,
    text: 'handlers: options.dltHandlers.filter(isConcerned),',
    replacement: 'handlers: options.dltHandlers,',
  },
  {
    name: 'a shutdown waits for the next call of a retry in memory',
    spec: 'libs/core/test/failures/retries-in-memory.spec.ts',
    file: `${CORE}/consuming/session/lane-drain.ts`,
    text: 'for (const lane of lanes) lane.abortWaits(reason);',
    replacement: '',
  },
  {
    name: 'offsets in commit metadata are cut to 32 bits',
    spec: 'libs/core/src/consuming/commits/commit-metadata-format.spec.ts',
    file: `${CORE}/consuming/commits/commit-metadata-format.ts`,
    text: 'rest = Math.floor(rest / MORE);',
    replacement: 'rest = rest >> BITS;',
  },
  {
    name: 'offsets that a broker answers are cut to 32 bits',
    spec: 'libs/broker/src/wire/requests/large-offsets.spec.ts',
    file: 'libs/broker/src/wire/requests/reader.ts',
    text: 'const value = this.bytes.readInt32BE(at) * 2 ** 32 + this.bytes.readUInt32BE(at + 4);',
    replacement: 'const value = this.bytes.readInt32BE(at + 4);',
  },
  {
    name: 'a late send on a captured transaction is swallowed',
    spec: 'libs/core/test/transactions/transactional-outputs.spec.ts',
    file: `${CORE}/pipeline/transactions/record-outputs.ts`,
    text: 'if (this.#isClosed())\n      throw',
    replacement: 'if (this.#isClosed()) return;\n    if (false)\n      throw',
  },
  {
    name: 'records of a retry tier are due 50 ms early',
    spec: 'libs/core/src/failures/retry-topics/retry-topic-filter.spec.ts',
    file: `${CORE}/failures/retry-topics/due-times.ts`,
    text: 'return this.#writeTimeOf(record, readAt) + delayMsOf(tier, delivery);',
    replacement: 'return this.#writeTimeOf(record, readAt) + delayMsOf(tier, delivery) - 50;',
  },
  {
    name: 'getByTopic finds topics by their prefix',
    spec: 'libs/core/src/containers/container-registry.spec.ts',
    file: `${CORE}/containers/container-registry.ts`,
    text: 'config.topic === topic)',
    replacement: 'config.topic.startsWith(topic))',
  },
  {
    name: 'unregister closes only the main container',
    spec: 'libs/core/test/lifecycle/registration.spec.ts',
    file: `${CORE}/containers/lifecycle/lifecycle-manager.ts`,
    text: 'const started = containersOf(registration).filter(({ isStarted }) => isStarted);',
    replacement:
      'const started = [registration.mainContainer].filter(({ isStarted }) => isStarted);',
  },
  {
    name: 'a recreated retry topic is not read',
    spec: 'libs/core/test/failures/recreated-retry-topic.spec.ts',
    file: `${CORE}/containers/container-factory.ts`,
    text: "onTopicRecreated: tier > 0 ? 'earliest' : binding.onTopicRecreated,",
    replacement: 'onTopicRecreated: binding.onTopicRecreated,',
  },
  {
    name: 'the leader epoch of commit metadata is not checked',
    spec: 'libs/core/src/consuming/commits/partition-progress.spec.ts',
    file: `${CORE}/consuming/commits/commit-metadata-verification.ts`,
    text: 'record.offset === next && record.leaderEpoch === leaderEpoch;',
    replacement: 'record.offset === next && leaderEpoch === leaderEpoch;',
  },
  {
    name: 'routing pauses a binding in the name of the operator',
    spec: 'libs/core/test/failures/failure-routing.spec.ts',
    file: `${CORE}/assembly/binding-builder.ts`,
    text: "addPause({ name, cluster }, 'routing', note)",
    replacement: "addPause({ name, cluster }, 'operator', note)",
  },
  {
    name: 'a binding is registered although a shutdown began during its preparation',
    spec: 'libs/core/src/containers/lifecycle/event-bus-connector.spec.ts',
    file: `${CORE}/containers/lifecycle/event-bus-connector.ts`,
    text: "// The shutdown may have begun during the preparation.\n    shutdownGate.assertOpen(`register binding '${name}'`);",
    replacement: '',
  },
  {
    name: 'all sessions of a container have the index 0',
    spec: 'libs/core/test/transactions/transactional-producers.spec.ts',
    file: `${CORE}/containers/container-factory.ts`,
    text: '          sessionIndex,\n          driver,',
    replacement: '          sessionIndex: 0 * sessionIndex,\n          driver,',
  },
  {
    name: 'drivers are closed before their producers',
    spec: 'libs/core/src/assembly/clusters.spec.ts',
    file: `${CORE}/assembly/clusters.ts`,
    text: 'const clusters = [...this.#opened.values()];',
    replacement:
      'const clusters = [...this.#opened.values()];\n    for (const { driver } of clusters) await driver.close();',
  },
  {
    name: 'an idle session asks for records without a pause',
    spec: 'libs/core/test/lifecycle/idle-sessions.spec.ts',
    file: `${CORE}/containers/consumer-settings.ts`,
    text: 'fetch: { maxWaitMs: binding.pollTimeoutMs },',
    replacement: 'fetch: { maxWaitMs: 0 * binding.pollTimeoutMs },',
  },
  {
    name: 'an idle session asks Kafka for records without a pause',
    spec: 'test/integration/core/consuming/idle-sessions.spec.ts',
    file: `${CORE}/containers/consumer-settings.ts`,
    text: 'fetch: { maxWaitMs: binding.pollTimeoutMs },',
    replacement: 'fetch: { maxWaitMs: 0 * binding.pollTimeoutMs },',
  },
];
