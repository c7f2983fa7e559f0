import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ALL_METRICS } from '../../libs/core/src/observability/event-bus-metrics.js';

const root = join(__dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Rules {
  readonly groups: readonly [{ readonly rules: readonly { alert: string; expr: string }[] }];
}
interface Dashboard {
  readonly panels: readonly { title: string; targets: readonly { expr: string }[] }[];
}
interface Compose {
  readonly services: Readonly<Record<string, { image: string; volumes?: readonly string[] }>>;
}

const { rules } = (parse(read('deploy/prometheus-rules.yml')) as Rules).groups[0];
const { panels } = JSON.parse(read('deploy/grafana/event-bus.json')) as Dashboard;

/** Names of a metric in Prometheus. */
function namesOf({ name, type, unit }: (typeof ALL_METRICS)[number]): readonly string[] {
  const base = name.replaceAll('.', '_');
  const full = unit && !base.endsWith(`_${unit}`) ? `${base}_${unit}` : base;
  if (type === 'counter') return [`${full}_total`];
  return type === 'histogram' ? [`${full}_bucket`] : [full];
}

const known = new Set(ALL_METRICS.flatMap(namesOf));
const unknownIn = (expr: string): readonly string[] =>
  [...expr.matchAll(/\b(?:eventbus|kafka)_[a-z_]+/g)]
    .map(([name]) => name)
    .filter((name) => !known.has(name));

/** Returns undefined where Debian's package prometheus is not installed. */
function promtool(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v promtool'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

describe('The files of deploy/', () => {
  it('are up to date with tools/deploy and the reference of metrics', () => {
    const check = (): string =>
      execFileSync(process.execPath, ['tools/deploy-files.mjs', '--check'], {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    expect(check).not.toThrow();
  }, 60_000);

  it.each(rules)('have the rule $alert with metrics that exist', ({ expr }) => {
    expect(unknownIn(expr)).toEqual([]);
  });

  it.each(panels)('have the panel $title with metrics that exist', ({ targets }) => {
    expect(targets.flatMap(({ expr }) => unknownIn(expr))).toEqual([]);
  });

  it('are mounted by docker-compose.yml, which has all services of the guide', () => {
    const { services } = parse(read('docker-compose.yml')) as Compose;
    expect(Object.keys(services)).toEqual(['kafka', 'schema-registry', 'prometheus', 'grafana']);
    const mounted = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.map((volume) => volume.split(':')[0] ?? ''),
    );
    expect(mounted.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    for (const { image } of Object.values(services)) expect(image).toMatch(/:v?\d+\.\d+/);
  });
});

describe('The rules of Prometheus', () => {
  const tool = promtool();
  const itWithTool = tool === undefined ? it.skip : it;
  const run = (...args: readonly string[]): string =>
    execFileSync(tool ?? 'promtool', args, { cwd: join(root, 'deploy'), encoding: 'utf8' });

  itWithTool(
    'are accepted by promtool, which the package prometheus has',
    () => {
      const found = run('check', 'rules', 'prometheus-rules.yml');
      expect(found).toContain(`${rules.length} rules found`);
    },
    60_000,
  );

  itWithTool(
    'fire when they are to fire, and are silent otherwise',
    () => {
      expect(run('test', 'rules', 'prometheus-rules.test.yml')).toContain('SUCCESS');
    },
    60_000,
  );
});
