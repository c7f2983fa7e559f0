// Permitted imports. Data only: import-direction.mjs reads it.

/**
 * Packages under libs/, and which of them each may import.
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
 * The layers (folders of src) of a package, and which others each may import. A nested folder may be
 * a layer of its own (`failures/faults`). `root` stands for the files directly in src. `onlyPackages`
 * lists the packages that a layer is restricted to.
 * @type {Record<string, Record<string, { layers: string[], onlyPackages?: string[] }>>}
 */
export const layers = {
  broker: {
    runtime: { layers: [] },
    port: { layers: ['runtime'] },
    records: { layers: ['runtime', 'port'] },
    assignment: { layers: ['runtime', 'port', 'records'] },
    memory: { layers: ['runtime', 'port', 'records', 'assignment'] },
    // Sockets, requests and responses. Only this layer imports kafkajs.
    wire: { layers: ['runtime', 'port', 'records'] },
    client: { layers: ['runtime', 'port', 'records', 'assignment', 'wire'] },
    kafkajs: { layers: ['port', 'client'] },
    contract: { layers: ['runtime', 'port'], onlyPackages: ['node:assert', 'node:assert/strict'] },
    root: { layers: ['runtime', 'port', 'records'] },
  },
  core: {
    model: { layers: [], onlyPackages: [] },
    errors: { layers: ['model'], onlyPackages: [] },
    // Rules that decide whether the message or a dependency caused a failure.
    'failures/faults': { layers: ['errors'], onlyPackages: [] },
    config: { layers: ['model', 'errors', 'failures/faults'] },
    presets: { layers: ['model', 'errors', 'config'] },
    discovery: { layers: ['model', 'errors', 'config'] },
    pipeline: { layers: ['model', 'errors', 'failures/faults', 'config', 'discovery'] },
    // Decides where a failed record goes, and writes it there.
    failures: {
      layers: ['model', 'errors', 'failures/faults', 'config'],
      onlyPackages: ['node:crypto'],
    },
    // Moves records from the poll to the commit. Knows nothing of Nest.
    consuming: { layers: ['model', 'errors'], onlyPackages: [] },
    containers: { layers: ['model', 'errors', 'config', 'consuming'], onlyPackages: [] },
    publisher: { layers: ['model', 'errors'], onlyPackages: [] },
    // Reads what the other layers have counted. No other layer asks it for more than the figures.
    observability: { layers: ['model', 'containers'], onlyPackages: [] },
    topics: { layers: ['model', 'config', 'containers'], onlyPackages: [] },
    // Puts the pieces together. Knows nothing of Nest's modules and hooks.
    assembly: {
      layers: [
        'model',
        'errors',
        'config',
        'discovery',
        'pipeline',
        'failures',
        'consuming',
        'containers',
        'publisher',
        'observability',
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
        'observability',
        'assembly',
      ],
    },
    terminus: { layers: ['model', 'containers'] },
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
        'observability',
        'nest',
      ],
    },
  },
};

/**
 * Packages that only one folder may touch.
 * @type {Record<string, string>}
 */
export const confined = {
  kafkajs: 'libs/broker/src/wire/',
};
