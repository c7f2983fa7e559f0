// Permitted imports. Data only: import-direction.mjs reads it.

/**
 * Packages under libs/, and the other packages that each may import.
 * @type {Record<string, string[]>}
 */
export const packages = {
  broker: [],
  core: ['broker'],
  testing: ['broker', 'core'],
  messaging: ['broker', 'core'],
  outbox: [],
  'outbox-sql': ['outbox'],
  // Only the entry `bus` uses core, which is an optional peer.
  'outbox-nest': ['outbox', 'outbox-sql', 'core'],
  dashboard: ['core'],
};

/**
 * Layers (folders of src) of each package, and the other layers that each may import. A nested
 * folder may be a layer of its own (`failures/faults`). `root` stands for the files directly in
 * src. `onlyPackages` lists the only external packages that a layer may import.
 * @type {Record<string, Record<string, { layers: string[], onlyPackages?: string[] }>>}
 */
export const layers = {
  broker: {
    runtime: { layers: [] },
    port: { layers: ['runtime'] },
    records: { layers: ['runtime', 'port'] },
    assignment: { layers: ['runtime', 'port', 'records'] },
    memory: { layers: ['runtime', 'port', 'records', 'assignment'] },
    // Contains sockets, requests and responses. Only this layer imports kafkajs.
    wire: { layers: ['runtime', 'port', 'records'] },
    client: { layers: ['runtime', 'port', 'records', 'assignment', 'wire'] },
    kafkajs: { layers: ['port', 'client'] },
    contract: { layers: ['runtime', 'port'], onlyPackages: ['node:assert', 'node:assert/strict'] },
    root: { layers: ['runtime', 'port', 'records'] },
  },
  // Without external packages and without Nest.
  outbox: {
    runtime: {
      layers: [],
      onlyPackages: ['node:crypto', 'node:os', 'node:perf_hooks', 'node:timers'],
    },
    errors: { layers: [], onlyPackages: [] },
    model: { layers: ['runtime', 'errors'], onlyPackages: [] },
    util: { layers: ['runtime', 'errors'], onlyPackages: [] },
    // The ports: store, connections, transactions, purgers, schema, metrics, logger.
    spi: { layers: ['errors', 'model'], onlyPackages: ['node:console'] },
    registry: { layers: ['errors', 'model'], onlyPackages: [] },
    dispatch: {
      layers: ['runtime', 'errors', 'model', 'spi', 'registry'],
      onlyPackages: ['node:async_hooks'],
    },
    poller: {
      layers: ['runtime', 'errors', 'model', 'util', 'spi', 'dispatch'],
      onlyPackages: ['node:async_hooks'],
    },
    purge: { layers: ['runtime', 'errors', 'util', 'spi'], onlyPackages: ['node:async_hooks'] },
    dead: { layers: ['runtime', 'errors', 'model', 'spi'], onlyPackages: [] },
    // Claims with leases and tokens, in batches.
    leased: {
      layers: ['runtime', 'errors', 'model', 'util', 'spi', 'registry', 'dispatch', 'poller'],
      onlyPackages: ['node:async_hooks'],
    },
    // The writer and the builders that wire everything.
    api: {
      layers: [
        'runtime',
        'errors',
        'model',
        'util',
        'spi',
        'registry',
        'dispatch',
        'poller',
        'leased',
        'purge',
      ],
      onlyPackages: [],
    },
    memory: {
      layers: ['runtime', 'errors', 'model', 'util', 'spi'],
      onlyPackages: ['node:async_hooks'],
    },
    contract: { layers: ['model', 'spi'], onlyPackages: ['node:assert/strict'] },
    root: {
      layers: [
        'runtime',
        'errors',
        'model',
        'util',
        'spi',
        'registry',
        'dispatch',
        'poller',
        'leased',
        'purge',
        'dead',
        'api',
      ],
      onlyPackages: [],
    },
  },
  messaging: {
    // Messages, results and the interfaces of producers and consumers. No broker is known here.
    core: { layers: [] },
    // The topic catalogue, events, and the producers on the drivers of the brokers.
    kafka: { layers: ['core'] },
    service: { layers: ['core', 'kafka'] },
    // Entry point: the driver for RabbitMQ. Only this layer imports amqplib.
    rabbitmq: { layers: [] },
    config: { layers: ['core', 'kafka', 'service'] },
    root: { layers: ['core', 'kafka', 'service', 'config'] },
  },
  'outbox-nest': {
    // Runs work in the transactions of ORMs and drivers. It imports none of them.
    transactions: {
      layers: [],
      onlyPackages: ['@nest-event-bus/outbox', '@nest-event-bus/outbox-sql'],
    },
    // Tells whether events are dispatched. It knows neither Nest nor the bus.
    health: { layers: [], onlyPackages: ['@nest-event-bus/outbox'] },
    // What operators can do. It knows neither Nest nor the bus.
    admin: { layers: [], onlyPackages: ['@nest-event-bus/outbox', 'node:crypto'] },
    // Handles messages once, in transactions.
    inbox: {
      layers: ['transactions'],
      onlyPackages: ['@nest-event-bus/outbox', '@nest-event-bus/outbox-sql'],
    },
    terminus: { layers: ['health'] },
    // Entry point: an outbox for tests of applications, without a database.
    testing: { layers: ['transactions', 'inbox', 'root'] },
    bus: { layers: ['admin', 'root'] },
    root: { layers: ['transactions', 'health', 'admin', 'inbox'] },
  },
  core: {
    model: { layers: [], onlyPackages: ['class-transformer', 'node:crypto'] },
    errors: { layers: ['model'], onlyPackages: [] },
    // Logs problems that last, for all layers that find one.
    problems: { layers: [], onlyPackages: [] },
    // Carries the context of a record to log lines.
    logging: { layers: [], onlyPackages: ['node:async_hooks', '@nestjs/common'] },
    // Contains the rules that decide whether the message or a dependency caused a failure.
    'failures/faults': { layers: ['errors'], onlyPackages: [] },
    config: { layers: ['model', 'errors', 'failures/faults'] },
    presets: { layers: ['model', 'errors', 'config'] },
    discovery: { layers: ['model', 'errors', 'config'] },
    pipeline: {
      layers: ['model', 'errors', 'problems', 'logging', 'failures/faults', 'config', 'discovery'],
    },
    // Decides where a failed record goes, and writes it there.
    failures: {
      layers: ['model', 'errors', 'problems', 'failures/faults', 'config'],
      onlyPackages: ['node:crypto'],
    },
    // Moves records from the poll to the commit. It does not depend on Nest.
    consuming: { layers: ['model', 'errors'], onlyPackages: [] },
    containers: {
      layers: ['model', 'errors', 'problems', 'config', 'consuming'],
      onlyPackages: [],
    },
    publisher: { layers: ['model', 'errors'], onlyPackages: [] },
    // Passes the events of the bus to its parts and to the listeners of the application.
    events: { layers: ['model', 'problems', 'logging'], onlyPackages: ['rxjs'] },
    // Reads what the other layers have counted. Other layers use only its figures.
    observability: { layers: ['model', 'problems', 'config', 'containers'], onlyPackages: [] },
    // Brings dead letters back.
    redrive: {
      layers: ['model', 'errors', 'problems', 'config', 'failures'],
      onlyPackages: ['node:crypto'],
    },
    // Passes commands of operators between the processes of a group.
    fleet: { layers: ['model', 'errors', 'problems', 'config', 'containers'], onlyPackages: [] },
    // Contains the routes of the admin API as data. It also runs in a browser.
    'admin/api': { layers: [], onlyPackages: [] },
    // Contains what operators can do, and what the routes answer.
    admin: {
      layers: ['model', 'errors', 'config', 'containers', 'fleet', 'redrive', 'admin/api'],
      onlyPackages: [],
    },
    // Contains the controllers and the module of the admin API.
    'admin/http': {
      layers: ['model', 'errors', 'admin', 'admin/api'],
    },
    // Entry point: the typed client of the admin API, which also runs in a browser.
    'admin-client': { layers: ['admin/api'], onlyPackages: [] },
    // Program `eventbus`: the commands of operators on a terminal.
    cli: { layers: ['admin/api', 'admin-client'], onlyPackages: ['node:util'] },
    topics: { layers: ['model', 'problems', 'config', 'containers'], onlyPackages: [] },
    // Creates and connects the objects of the other layers. It does not use modules and hooks of
    // Nest.
    assembly: {
      layers: [
        'model',
        'errors',
        'logging',
        'problems',
        'config',
        'discovery',
        'pipeline',
        'failures',
        'consuming',
        'containers',
        'publisher',
        'events',
        'observability',
        'fleet',
        'redrive',
        'admin',
        'topics',
      ],
    },
    nest: {
      layers: [
        'model',
        'errors',
        'logging',
        'config',
        'discovery',
        'failures',
        'containers',
        'publisher',
        'events',
        'observability',
        'fleet',
        'redrive',
        'admin',
        'assembly',
      ],
    },
    // Entry point that adds the metrics to a registry of prom-client.
    prometheus: { layers: ['errors', 'observability', 'nest'] },
    terminus: { layers: ['model', 'containers', 'observability'] },
    // Entry point that creates spans and exports the metrics with OpenTelemetry.
    opentelemetry: { layers: ['model', 'errors', 'discovery', 'observability', 'nest'] },
    // Replays dead letters by the scheduler of Nest.
    schedule: { layers: ['errors', 'containers', 'redrive'] },
    // Entry point with parts of the bus, for tests and tools.
    internals: {
      layers: [
        'model',
        'problems',
        'failures/faults',
        'config',
        'discovery',
        'pipeline',
        'failures',
        'consuming',
        'containers',
      ],
    },
    root: {
      layers: [
        'model',
        'errors',
        'logging',
        'failures/faults',
        'config',
        'discovery',
        'pipeline',
        'failures',
        'consuming',
        'containers',
        'publisher',
        'events',
        'observability',
        'fleet',
        'redrive',
        'admin',
        'admin/api',
        'admin/http',
        'nest',
      ],
    },
  },
};

/**
 * Packages that only the files in one folder may import.
 * @type {Record<string, string>}
 */
export const confined = {
  kafkajs: 'libs/broker/src/wire/',
  amqplib: 'libs/messaging/src/rabbitmq/',
};
