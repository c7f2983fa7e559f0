// Who may import whom. Data only: import-direction.mjs reads it.

/**
 * Packages under libs/, and which of ours each may import.
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
 * The rooms (folders of src) of a package that has layers inside, and which others each may
 * import. `root` stands for the files directly in src. `onlyPackages` lists the packages that a room
 * is restricted to.
 * @type {Record<string, Record<string, { rooms: string[], onlyPackages?: string[] }>>}
 */
export const rooms = {
  broker: {
    runtime: { rooms: [] },
    port: { rooms: ['runtime'] },
    records: { rooms: ['runtime', 'port'] },
    assignment: { rooms: ['runtime', 'port', 'records'] },
    memory: { rooms: ['runtime', 'port', 'records', 'assignment'] },
    kafkajs: { rooms: ['runtime', 'port', 'records', 'assignment'] },
    contract: { rooms: ['runtime', 'port'], onlyPackages: ['node:assert', 'node:assert/strict'] },
    root: { rooms: ['runtime', 'port', 'records'] },
  },
  core: {
    model: { rooms: [], onlyPackages: [] },
    errors: { rooms: ['model'], onlyPackages: [] },
    // Whose fault a failure is: rules, and nothing but rules.
    faults: { rooms: ['errors'], onlyPackages: [] },
    config: { rooms: ['model', 'errors', 'faults'] },
    presets: { rooms: ['model', 'errors', 'config'] },
    discovery: { rooms: ['model', 'errors', 'config'] },
    pipeline: { rooms: ['model', 'errors', 'faults', 'config', 'discovery'] },
    // Where a failed record goes: what decides it, and what writes it there.
    routing: { rooms: ['model', 'errors', 'faults', 'config'], onlyPackages: ['node:crypto'] },
    // What moves records knows nothing of Nest.
    intake: { rooms: ['model', 'errors'], onlyPackages: [] },
    container: { rooms: ['model', 'errors', 'config', 'intake'], onlyPackages: [] },
    publisher: { rooms: ['model', 'errors'], onlyPackages: [] },
    // Reads what the others have measured; nobody asks it for anything but the figures.
    observability: { rooms: ['model', 'container'], onlyPackages: [] },
    module: {
      rooms: [
        'model',
        'errors',
        'faults',
        'config',
        'discovery',
        'pipeline',
        'routing',
        'intake',
        'container',
        'publisher',
        'observability',
      ],
    },
    terminus: { rooms: ['model', 'container'] },
    root: {
      rooms: [
        'model',
        'errors',
        'faults',
        'config',
        'discovery',
        'pipeline',
        'routing',
        'intake',
        'container',
        'publisher',
        'observability',
        'module',
      ],
    },
  },
};

/**
 * Packages that only one folder may touch.
 * @type {Record<string, string>}
 */
export const confined = {
  kafkajs: 'libs/broker/src/kafkajs/wire/',
};
