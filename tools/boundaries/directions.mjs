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
  'outbox-nest': ['outbox', 'outbox-sql'],
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
  core: {
    model: { layers: [], onlyPackages: ['class-transformer', 'node:crypto'] },
    errors: { layers: ['model'], onlyPackages: [] },
    // Logs problems that last, for all layers that find one.
    problems: { layers: [], onlyPackages: [] },
    // Contains the rules that decide whether the message or a dependency caused a failure.
    'failures/faults': { layers: ['errors'], onlyPackages: [] },
    config: { layers: ['model', 'errors', 'failures/faults'] },
    presets: { layers: ['model', 'errors', 'config'] },
    discovery: { layers: ['model', 'errors', 'config'] },
    pipeline: {
      layers: ['model', 'errors', 'problems', 'failures/faults', 'config', 'discovery'],
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
    events: { layers: ['model', 'problems'], onlyPackages: ['rxjs'] },
    // Reads what the other layers have counted. Other layers use only its figures.
    observability: { layers: ['model', 'containers'], onlyPackages: [] },
    // Brings dead letters back.
    redrive: {
      layers: ['model', 'errors', 'config', 'failures'],
      onlyPackages: ['node:crypto'],
    },
    topics: { layers: ['model', 'problems', 'config', 'containers'], onlyPackages: [] },
    // Creates and connects the objects of the other layers. It does not use modules and hooks of
    // Nest.
    assembly: {
      layers: [
        'model',
        'errors',
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
        'redrive',
        'topics',
      ],
    },
    nest: {
      layers: [
        'model',
        'errors',
        'config',
        'discovery',
        'failures',
        'containers',
        'publisher',
        'events',
        'observability',
        'redrive',
        'assembly',
      ],
    },
    terminus: { layers: ['model', 'containers'] },
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
        'redrive',
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
};
