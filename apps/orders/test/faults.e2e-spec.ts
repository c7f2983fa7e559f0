import { execFileSync } from 'node:child_process';
import { describeWithKafka } from '../../../test/integration/support/index.js';
import { DemoClient, type Book, type Books } from './support/demo-client.js';
import { DemoProcess, ROOT } from './support/demo-process.js';

const POISON = 3;

const allHandled = (books: Books): boolean =>
  Object.values(books).every(({ open }: Book) => open === 0);

function theDemo(environment: () => Readonly<Record<string, string>>): void {
  let demo: DemoProcess;
  let client: DemoClient;

  async function start(): Promise<void> {
    demo = new DemoProcess({ ORDERS_PER_SECOND: '20', ...environment() });
    client = new DemoClient(await demo.url());
    await client.healthIs(({ state }) => state === 'UP');
  }

  describe('with a broken warehouse and poison pills', () => {
    beforeAll(start, 240_000);
    afterAll(() => demo.end(), 180_000);

    it('opens the circuit of orders, and health says why', async () => {
      await client.post('/faults/warehouse/broken');
      const { bindings } = await client.healthIs(
        ({ bindings: { orders } }) => orders?.reasons?.includes('paused: circuit') ?? false,
      );
      expect(bindings).toMatchObject({
        orders: { state: 'PAUSED', status: 'DEGRADED' },
        payments: { status: 'UP' },
      });
    }, 180_000);

    it('handles every order after the warehouse is repaired', async () => {
      await client.post('/faults/warehouse/healthy');
      await client.healthIs(({ state }) => state === 'UP');
      await client.post('/traffic/stop');
      await client.booksAre(allHandled);
    }, 300_000);

    it('dead-letters poison pills with an alert, and nothing else', async () => {
      await client.post(`/poison/orders?count=${POISON}`);
      await client.post(`/poison/payments?count=${POISON}`);
      const alerts = (): number => demo.lines.filter((line) => /ALERT: orders/.test(line)).length;
      const books = await client.booksAre(() => alerts() >= POISON);
      expect([alerts(), books.orders.open, books.payments.open, books.notifications.open]).toEqual([
        POISON,
        POISON,
        POISON,
        0,
      ]);
    }, 180_000);

    it('redrives the dead letters by REST after the repair, and the books agree', async () => {
      await client.post('/catalogue/teleporter');
      for (const binding of ['orders', 'payments']) {
        const { status } = await client.post(`/eventbus/bindings/${binding}/dlt/replay?count=10`);
        expect([200, 202]).toContain(status);
      }
      await client.booksAre(allHandled);
    }, 300_000);
  });

  describe.each(['slow', 'broken', 'flaky'])('with every dependency %s', (mode) => {
    beforeAll(start, 240_000);
    afterAll(() => demo.end(), 180_000);

    it('ends after Ctrl-C and releases its partitions', async () => {
      await client.breakAll(mode);
      const { orders } = await client.books();
      // By then every binding has called its dependency many times.
      await client.booksAre((books) => books.orders.produced >= orders.produced + 100);
      expect(await demo.end()).toBe('ended');
      for (const container of ['orders', 'payments', 'notifications'])
        await demo.line(new RegExp(`Partitions released {"container":"eventbus-${container}"`));
    }, 300_000);
  });
}

beforeAll(() => {
  execFileSync('npx', ['tsc', '-b', 'apps/orders'], { cwd: ROOT });
}, 240_000);

describe('The demo on the embedded broker', () => theDemo(() => ({})));

describeWithKafka('The demo on Kafka', (kafka) => {
  theDemo(() => ({ KAFKA_BROKERS: kafka.brokers.join(','), INSTANCE: kafka.unique('demo') }));
});
