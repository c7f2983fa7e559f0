import type { BrokerDriver } from '../port/driver.js';
import { Deferred, VirtualRuntime, realRuntime } from '../runtime/index.js';
import { brokerContract } from './broker-contract.js';
import type { ContractBroker, ContractFixture } from './fixture.js';
import { ContractSuite } from './contract-suite.js';

interface Registered {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/** A framework that only writes down what it is given. */
class Notebook {
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

describe('the contract suite', () => {
  it('registers every case, and names those that cannot run with the reason', () => {
    const notebook = new Notebook();
    brokerContract(notebook, fixture());
    expect(notebook.tests.length).toBeGreaterThan(150);
    expect(new Set(notebook.skipped.map(reasonOf))).toEqual(
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

  it('skips nothing but the opposite where all is there', () => {
    const notebook = new Notebook();
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
    brokerContract(notebook, fixture({ capabilities, abilities }));
    expect(notebook.skipped.map(reasonOf)).toEqual([
      'the driver\'s capabilities say: not "no transactions"',
    ]);
  });

  it('lets a note pass by name where the framework cannot skip', async () => {
    const notebook = new Notebook();
    const { describe: group, afterAll: end } = notebook;
    const it = (name: string, run: () => Promise<void>) => void notebook.tests.push({ name, run });
    const suite = new ContractSuite({ describe: group, afterAll: end, it }, fixture());
    suite.requiring('unplug')('survives', () => Promise.reject(new Error('It ran.')));
    expect(notebook.tests.map(({ name }) => name)).toEqual([
      'survives [skipped: this test environment has no "unplug"]',
    ]);
    await notebook.tests[0]?.run();
  });

  it('gives names that are all different', () => {
    const notebook = new Notebook();
    const names: string[] = [];
    const describeIn = (path: string) => (name: string, body: () => void) => {
      const outer = describing;
      describing = `${path}${outer} ${name}`;
      body();
      describing = outer;
    };
    let describing = '';
    const it = (name: string): void => void names.push(`${describing} ${name}`);
    brokerContract({ describe: describeIn(''), it, afterAll: notebook.afterAll }, fixture());
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('a case', () => {
  const register = (changes: Partial<ContractFixture & ContractBroker>) => {
    const notebook = new Notebook();
    return { notebook, suite: new ContractSuite(notebook, fixture(changes)) };
  };

  it('fails by what it was waiting for', async () => {
    const { notebook, suite } = register({ times: { patienceMs: 20 } });
    suite.testCase('hangs', (context) => context.within(new Promise(() => undefined), 'Godot'));
    await expect(notebook.tests[0]?.run()).rejects.toThrow('Waited 20 ms in vain for Godot.');
  });

  it('closes its drivers and its broker, also when it fails', async () => {
    const closed: string[] = [];
    const closing = (name: string) => () => {
      closed.push(name);
      return Promise.resolve();
    };
    const { notebook, suite } = register({
      createDriver: () => ({ ...emptyDriver(), close: closing('driver') }),
      close: closing('broker'),
    });
    suite.testCase('fails', async (context) => {
      await context.newProcess();
      throw new Error('the case itself');
    });
    await expect(notebook.tests[0]?.run()).rejects.toThrow('the case itself');
    expect(closed).toEqual(['driver', 'driver', 'broker']);
  });

  it('fails when a driver cannot be closed', async () => {
    const close = (): Promise<void> => Promise.reject(new Error('stuck'));
    const { notebook, suite } = register({ createDriver: () => ({ ...emptyDriver(), close }) });
    suite.testCase('passes', () => Promise.resolve());
    await expect(notebook.tests[0]?.run()).rejects.toThrow('stuck');
  });

  it('tells of an ability that was promised and is not there', async () => {
    const { notebook, suite } = register({ abilities: ['unplug'] });
    suite.requiring('unplug')('unplugs', async (context) => void context.ability('unplug'));
    await expect(notebook.tests[0]?.run()).rejects.toThrow('lists the ability "unplug"');
  });

  it('begins others ahead of their tests, so many at a time', async () => {
    const begun: string[] = [];
    const gates = new Map(['a', 'b', 'c', 'd'].map((name) => [name, new Deferred()]));
    const { notebook, suite } = register({ parallel: 2 });
    for (const [name, gate] of gates)
      suite.testCase(name, async () => {
        begun.push(name);
        await gate.promise;
      });
    const first = notebook.tests[0]?.run();
    await turns();
    expect(begun).toEqual(['a', 'b']);
    gates.get('b')?.resolve();
    await turns();
    expect(begun).toEqual(['a', 'b', 'c']);
    for (const gate of gates.values()) gate.resolve();
    await first;
    await suite.settle();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });

  it('begins nothing ahead unless it is allowed to', async () => {
    const begun: string[] = [];
    const { notebook, suite } = register({});
    for (const name of ['a', 'b'])
      suite.testCase(name, () => {
        begun.push(name);
        return Promise.resolve();
      });
    await notebook.tests[0]?.run();
    await turns();
    expect(begun).toEqual(['a']);
  });
});

const turns = (): Promise<void> => new VirtualRuntime().settle();

function reasonOf(name: string): string | undefined {
  return /\[skipped: (.*)\]$/.exec(name)?.[1];
}
