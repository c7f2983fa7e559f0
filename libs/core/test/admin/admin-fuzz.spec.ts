import { Agent } from 'node:http';
import type { OpenApiDocument } from '../../src/admin/api/open-api.js';
import { ADMIN_ROUTES } from '../../src/admin/api/routes/admin-routes.js';
import type { AdminRoutes } from '../../src/admin/api/admin-route.js';
import { complaintsAbout } from '../../src/admin/api/schema-check.js';
import { AdminModel } from './admin-model.spec-support.js';
import { AdminRequests, Random, type GeneratedRequest } from './admin-requests.spec-support.js';
import { AdminTestBus, type AdminAnswer } from './admin-test-bus.spec-support.js';

const REQUESTS = Number(process.env['ADMIN_FUZZ_REQUESTS'] ?? 1_000);
/** Always the same requests, unless another seed is given. */
const SEED = Number(process.env['ADMIN_FUZZ_SEED'] ?? 725_262);
const LETTERS_AT_ONCE = 40;

describe('The admin API under generated requests', () => {
  let bus: AdminTestBus;
  const model = new AdminModel();
  const agent = new Agent({ keepAlive: true });

  afterEach(async () => {
    agent.destroy();
    await bus.end();
  });

  it(
    `answers ${REQUESTS} requests as a model of the state predicts (seed ${SEED})`,
    async () => {
      bus = await AdminTestBus.started(
        {},
        { bindings: { audit: { topic: 'audit', groupId: 'audit' } } },
      );
      bus.isCured = true;
      await bus.topic('second');
      await addLetters();
      const { body } = await bus.ask('GET', 'openapi.json');
      const random = new Random(SEED);
      const requests = new AdminRequests(body as unknown as OpenApiDocument, random);
      const statuses: Record<number, number> = {};
      for (let index = 0; index < REQUESTS; index++) {
        const request = random.chance(0.5) ? requests.valid() : requests.invalid();
        const status = await check(request, index);
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (index % 25 === 24) await compareStates(index);
        if (model.counts.open < 10) await addLetters();
      }
      process.stderr.write(`admin fuzz: seed ${SEED}, ${JSON.stringify(statuses)}\n`);
      expect(Object.keys(statuses)).toEqual(
        expect.arrayContaining(['200', '201', '202', '204', '400', '404', '409', '422']),
      );
    },
    Math.max(300_000, REQUESTS * 200),
  );

  async function check(request: GeneratedRequest, index: number): Promise<number> {
    const { call, method, path, mutation } = request;
    // A stream of an operation that nobody runs would never end.
    const isEndless =
      call.operation === 'followOperation' &&
      model.operations.get(String(call.params['id']))?.state === 'planned';
    if (isEndless && mutation === undefined) return 0;
    const expected = mutation === undefined ? model.give(call) : { status: 400 };
    const answer = await bus.done(bus.send(method, path, { body: request.body, agent }));
    // Operations run in the background. They end before the next request.
    if (answer.status === 202) await bus.runtime.advance(10_000);
    const told = { index, seed: SEED, method, path, sent: request.body, mutation };
    expect({ ...told, status: answer.status, body: answer.body }).toMatchObject({
      ...told,
      ...expected,
    });
    const complaints = complaintsOf(call.operation, answer);
    if (complaints.length > 0)
      throw new Error(`Not what the document promises: ${JSON.stringify({ ...told, complaints })}`);
    return answer.status;
  }

  /** Compares the answer with the schema that the document promises for its status. */
  function complaintsOf(
    operation: string,
    { status, body, headers }: AdminAnswer,
  ): readonly unknown[] {
    if (status >= 400) {
      const isProblem = String(headers['content-type']).startsWith('application/problem+json');
      return isProblem && typeof body['code'] === 'string' ? [] : ['no problem details'];
    }
    const answer = (ADMIN_ROUTES as AdminRoutes)[operation]?.answers[status];
    return answer?.body && !answer.isStream ? complaintsAbout(answer.body.json, body) : [];
  }

  async function compareStates(index: number): Promise<void> {
    const { body } = await bus.ask('GET', 'bindings');
    const states = (body['bindings'] as { name: string; state: string }[]).map(
      ({ name, state }) => [name, state] as const,
    );
    expect({ index, states: new Map(states) }).toEqual({ index, states: model.bindings });
    const stats = await bus.ask('GET', 'bindings/orders/dlt/stats');
    expect({ index, ...stats.body }).toMatchObject({ index, byStatus: model.counts });
  }

  /** Writes dead letters as the binding would have written them. */
  async function addLetters(): Promise<void> {
    const first = model.letters.length;
    const letters = Array.from({ length: LETTERS_AT_ONCE }, (_, index) => {
      const offset = first + index;
      const headers = {
        'x-eventbus-version': '1',
        'x-eventbus-binding-name': 'orders',
        'x-eventbus-group-id': 'shop',
        'x-eventbus-original-topic': 'orders',
        'x-eventbus-original-partition': '0',
        'x-eventbus-original-offset': String(offset),
        'x-eventbus-original-timestamp': '1700000000000',
        'x-eventbus-total-attempts': '4',
        'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
        'x-eventbus-dlt-cause': 'exhausted',
        'x-eventbus-last-exception-class': offset % 2 === 0 ? 'OutOfStock' : 'TimeoutError',
        'x-eventbus-last-exception-message': 'it failed',
      };
      return {
        value: String(offset),
        headers: Object.entries(headers).map(([key, value]) => ({ key, value })),
      };
    });
    await bus.write('orders.DLT', ...letters);
    model.addLetters(LETTERS_AT_ONCE);
  }
});
