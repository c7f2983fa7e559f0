import { DemoClient, type Book } from './support/demo-client.js';
import { DemoProcess } from './support/demo-process.js';

describe('npm start', () => {
  let demo: DemoProcess;
  let client: DemoClient;

  beforeAll(async () => {
    demo = new DemoProcess({ ORDERS_PER_SECOND: '20' }, ['npm', 'start', '--silent']);
    client = new DemoClient(await demo.url());
  }, 240_000);
  afterAll(() => demo.end(), 180_000);

  it('starts an application that logs no warning', () => {
    expect(demo.lines.filter((line) => /WARN|ERROR/.test(line))).toEqual([]);
  });

  it('starts an application whose three bindings are UP', async () => {
    const health = await client.healthIs(({ state }) => state === 'UP');
    expect(health.bindings).toMatchObject({
      orders: { state: 'RUNNING', status: 'UP' },
      payments: { state: 'RUNNING', status: 'UP' },
      notifications: { state: 'RUNNING', status: 'UP' },
    });
  });

  it('starts an application that handles the traffic of all three bindings', async () => {
    await client.booksAre((books) =>
      Object.values(books).every(({ handled }: Book) => handled >= 50),
    );
  });

  it('starts an application that handles an order that is posted by HTTP', async () => {
    const { status, body } = await client.post<{ customer: string }>('/orders', {
      customer: 'Zoe',
    });
    expect([status, body.customer]).toEqual([201, 'Zoe']);
  });

  it('starts an application whose metrics Prometheus can read', async () => {
    const text = await (await fetch(`${client.url}/metrics`)).text();
    expect(text).toMatch(/^eventbus_records_processed_total\{[^}]*binding="orders"[^}]*\} [1-9]/m);
  });

  it.each([
    ['/faults/warehouse/melted', 'The mode must be one of healthy, slow, broken, flaky.'],
    ['/faults/moon/broken', 'The dependency must be one of warehouse, bank, mail.'],
    ['/poison/coffee', 'The binding must be one of orders, payments, notifications.'],
    ['/poison/orders?count=0', 'The count must be an integer from 1 to 1000.'],
    ['/poison/orders?kind=bad', 'The kind must be one of unknown-article, unreadable.'],
  ])('refuses POST %s with 400 and says what is allowed', async (path, message) => {
    const { status, body } = await client.post(path);
    expect([status, body]).toMatchObject([400, { message }]);
  });

  it('commits every event after the traffic has stopped and Ctrl-C was pressed', async () => {
    await client.post('/traffic/stop');
    const { orders } = await client.booksAre((books) =>
      Object.values(books).every(({ open }: Book) => open === 0),
    );
    expect(await demo.end()).toBe('ended');
    const released = demo.lines.filter((line) =>
      line.includes('Partitions released {"container":"eventbus-orders"'),
    );
    const committed = released.flatMap((line) =>
      [...line.matchAll(/"committed":(\d+)/g)].map(([, offset]) => Number(offset)),
    );
    expect(committed.reduce((sum, offset) => sum + offset, 0)).toBe(orders.produced);
  }, 240_000);
});
