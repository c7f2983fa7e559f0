import type { BrokerDriver } from '../port/driver.js';
import { Deferred, VirtualRuntime, realRuntime } from '../runtime/index.js';
import { brokerContract } from './broker-contract.js';
import type { ContractBroker, ContractFixture } from './fixture.js';
import { ContractSuite } from './contract-suite.js';

interface Registered {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/** A test framework that only records its calls. */
class RecordingFramework {
  readonly tests: Registered[] = [];
  readonly skipped: string[] = [];
  readonly afterAll = (): void => undefined;
  readonly describe = (_name: string, body: () => void): void => body();
  readonly it = Object.assign(
    (name: string, run: () => Promise<void>) => void this.tests.push({ name, run }),
    { skip: (name: string) => void this.skipped.push(name) },
  );
}

const emptyDriver = (): BrokerDriver => ({
  name: 'empty',
  capabilities: noCapabilities,
  consumer: () => fail('consumer'),
  producer: () => fail('producer'),
  admin: () => fail('admin'),
  close: () => Promise.resolve(),
});

const noCapabilities = {
  assignors: [],
  compressions: [],
  transactions: false,
  idempotentSends: false,
} as const;

function fail(what: string): never {
  throw new Error(`The empty driver has no ${what}.`);
}

function fixture(changes: Partial<ContractFixture & ContractBroker> = {}): ContractFixture {
  const broker: ContractBroker = {
    runtime: realRuntime,
    createDriver: emptyDriver,
    close: () => Promise.resolve(),
    ...changes,
  };
  return {
    name: 'empty',
    capabilities: noCapabilities,
    abilities: [],
    open: () => broker,
    ...changes,
  };
}

describe('ContractSuite', () => {
  it('registers every case, and names the skipped ones with the reason', () => {
    const framework = new RecordingFramework();
    brokerContract(framework, fixture());
    expect(framework.tests.length).toBeGreaterThan(150);
    expect(new Set(framework.skipped.map(reasonOf))).toEqual(
      new Set([
        'this test environment has no "openTransaction"',
        'this test environment has no "unplug"',
        'this test environment has no "loseAnswers"',
        'this test environment has no "delayAnswers"',
        'this test environment has no "refuseWrites"',
        'this test environment has no "expelMember"',
        'this test environment has no "loseCoordinator"',
        'the driver\'s capabilities say: not "transactions"',
        'the driver\'s capabilities say: not "gzip"',
        'the driver\'s capabilities say: not "snappy"',
        'the driver\'s capabilities say: not "lz4"',
        'the driver\'s capabilities say: not "zstd"',
        'the driver\'s capabilities say: not "range"',
        'the driver\'s capabilities say: not "sticky"',
        'the driver\'s capabilities say: not "cooperative-sticky"',
      ]),
    );
  });

  it('skips only the opposite case if every requirement is met', () => {
    const framework = new RecordingFramework();
    const capabilities = {
      assignors: ['range', 'sticky', 'cooperative-sticky'],
      compressions: ['none', 'gzip', 'snappy', 'lz4', 'zstd'],
      transactions: true,
      idempotentSends: true,
    } as const;
    const abilities = [
      'openTransaction',
      'unplug',
      'loseAnswers',
      'delayAnswers',
      'refuseWrites',
      'expelMember',
      'loseCoordinator',
    ] as const;
    brokerContract(framework, fixture({ capabilities, abilities }));
    expect(framework.skipped.map(reasonOf)).toEqual([
      'the driver\'s capabilities say: not "no transactions"',
    ]);
  });

  it('registers a passing test with the reason in its name if the framework cannot skip', async () => {
    const framework = new RecordingFramework();
    const { describe: group, afterAll: end } = framework;
    const it = (name: string, run: () => Promise<void>) => void framework.tests.push({ name, run });
    const suite = new ContractSuite({ describe: group, afterAll: end, it }, fixture());
    suite.requiring('unplug')('survives', () => Promise.reject(new Error('It ran.')));
    expect(framework.tests.map(({ name }) => name)).toEqual([
      'survives [skipped: this test environment has no "unplug"]',
    ]);
    await framework.tests[0]?.run();
  });

  it('gives every case a unique name', () => {
    const framework = new RecordingFramework();
    const names: string[] = [];
    const describeIn = (path: string) => (name: string, body: () => void) => {
      const outer = describing;
      describing = `${path}${outer} ${name}`;
      body();
      describing = outer;
    };
    let describing = '';
    const it = (name: string): void => void names.push(`${describing} ${name}`);
    brokerContract({ describe: describeIn(''), it, afterAll: framework.afterAll }, fixture());
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('a contract case', () => {
  const register = (changes: Partial<ContractFixture & ContractBroker>) => {
    const framework = new RecordingFramework();
    return { framework, suite: new ContractSuite(framework, fixture(changes)) };
  };

  it('fails with a description of what it waited for', async () => {
    const { framework, suite } = register({ times: { patienceMs: 20 } });
    suite.testCase('hangs', (context) => context.within(new Promise(() => undefined), 'an answer'));
    await expect(framework.tests[0]?.run()).rejects.toThrow('Waited 20 ms for an answer.');
  });

  it('closes its drivers and its broker, also after a failure', async () => {
    const closed: string[] = [];
    const closing = (name: string) => () => {
      closed.push(name);
      return Promise.resolve();
    };
    const { framework, suite } = register({
      createDriver: () => ({ ...emptyDriver(), close: closing('driver') }),
      close: closing('broker'),
    });
    suite.testCase('fails', async (context) => {
      await context.newProcess();
      throw new Error('the case itself');
    });
    await expect(framework.tests[0]?.run()).rejects.toThrow('the case itself');
    expect(closed).toEqual(['driver', 'driver', 'broker']);
  });

  it('fails if a driver cannot be closed', async () => {
    const close = (): Promise<void> => Promise.reject(new Error('stuck'));
    const { framework, suite } = register({ createDriver: () => ({ ...emptyDriver(), close }) });
    suite.testCase('passes', () => Promise.resolve());
    await expect(framework.tests[0]?.run()).rejects.toThrow('stuck');
  });

  it('reports an ability that is declared but missing', async () => {
    const { framework, suite } = register({ abilities: ['unplug'] });
    suite.requiring('unplug')('unplugs', async (context) => void context.ability('unplug'));
    await expect(framework.tests[0]?.run()).rejects.toThrow('lists the ability "unplug"');
  });

  it('starts further cases ahead of their tests, up to the parallel limit', async () => {
    const started: string[] = [];
    const gates = new Map(['a', 'b', 'c', 'd'].map((name) => [name, new Deferred()]));
    const { framework, suite } = register({ parallel: 2 });
    for (const [name, gate] of gates)
      suite.testCase(name, async () => {
        started.push(name);
        await gate.promise;
      });
    const first = framework.tests[0]?.run();
    await turns();
    expect(started).toEqual(['a', 'b']);
    gates.get('b')?.resolve();
    await turns();
    expect(started).toEqual(['a', 'b', 'c']);
    for (const gate of gates.values()) gate.resolve();
    await first;
    await suite.settle();
    expect(started).toEqual(['a', 'b', 'c', 'd']);
  });

  it('starts no case ahead by default', async () => {
    const started: string[] = [];
    const { framework, suite } = register({});
    for (const name of ['a', 'b'])
      suite.testCase(name, () => {
        started.push(name);
        return Promise.resolve();
      });
    await framework.tests[0]?.run();
    await turns();
    expect(started).toEqual(['a']);
  });
});

const turns = (): Promise<void> => new VirtualRuntime().settle();

function reasonOf(name: string): string | undefined {
  return /\[skipped: (.*)\]$/.exec(name)?.[1];
}
