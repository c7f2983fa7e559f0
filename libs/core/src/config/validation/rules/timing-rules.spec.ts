import { complaintsOf, resolvedOrders } from '../../configuration.spec-support.js';

const complaints = (properties: object, options: object = {}, layers: object = {}) =>
  complaintsOf(() => resolvedOrders(properties, options, layers));

describe('SESSION_TIMEOUT', () => {
  it('allows exactly three heartbeats per session', () => {
    expect(complaints({ sessionTimeoutMs: '30s', heartbeatIntervalMs: '10s' })).toEqual([]);
  });

  it('refuses fewer heartbeats, and names the sources of the values', () => {
    expect(complaints({ sessionTimeoutMs: 29_999 }, { defaults: { preset: 'brokers' } })).toEqual([
      "SESSION_TIMEOUT bindings.orders.sessionTimeoutMs: must be at least three times heartbeatIntervalMs, so that two lost heartbeats do not end the membership: sessionTimeoutMs is 29999 (from the options), heartbeatIntervalMs is 10000 (from preset 'brokers'). Raise the first to 30000 or lower the second to 9999.",
    ]);
  });

  it('suggests no heartbeat interval of 0 ms', () => {
    expect(complaints({ sessionTimeoutMs: 2, heartbeatIntervalMs: 1 })).toEqual([
      'SESSION_TIMEOUT bindings.orders.sessionTimeoutMs: must be at least three times heartbeatIntervalMs, so that two lost heartbeats do not end the membership: sessionTimeoutMs is 2 (from the options), heartbeatIntervalMs is 1 (from the options). Raise the first to 3.',
    ]);
  });

  it('is skipped if one of the two values is invalid', () => {
    const violations = complaints({ sessionTimeoutMs: 'soon', heartbeatIntervalMs: '40s' });
    expect(violations.map((line) => line.split(' ')[0])).toEqual(['DURATION']);
  });
});

describe('BACKOFF_CAP', () => {
  it('refuses a maximum delay that is shorter than the first delay', () => {
    expect(complaints({ retry: { tier0: { initialBackoffMs: '3s' } } })).toEqual([
      "BACKOFF_CAP bindings.orders.retry.tier0.maxBackoffMs: is shorter than the first wait, which it would cut: retry.tier0.maxBackoffMs is 2000 (from the library's defaults), retry.tier0.initialBackoffMs is 3000 (from the options). Raise maxBackoffMs to 3000 or more.",
    ]);
    expect(complaints({ retry: { tier0: { initialBackoffMs: '2s' } } })).toEqual([]);
  });
});

describe('RETRY_BUDGET', () => {
  const financial = { maxAttempts: 6, initialBackoffMs: '5s', maxBackoffMs: '1m' };

  it('refuses retries that could exceed the poll interval, and lists every remedy', () => {
    expect(complaints({ retry: { tier0: financial } })).toEqual([
      "RETRY_BUDGET bindings.orders.maxPollRecords: at worst one slice takes 135000 ms x 50 records = 6750000 ms, which must be less than 70 % of maxPollIntervalMs (420000 ms): maxPollRecords is 50 (from the library's defaults), maxPollIntervalMs is 600000 (from the library's defaults), retry.mode is 'in-line' (from the library's defaults). Lower maxPollRecords to 3, or raise maxPollIntervalMs to 9642858, or set retry.mode to 'seek', or retry less often or with shorter waits.",
    ]);
  });

  it.each([
    [{ retry: { tier0: financial }, maxPollRecords: 3 }],
    [{ retry: { tier0: financial }, maxPollIntervalMs: 9_642_858 }],
    [{ retry: { tier0: financial, mode: 'seek' } }],
  ])('accepts each remedy that it lists: %j', (properties) => {
    expect(complaints(properties)).toEqual([]);
  });

  it.each([
    [{ retry: { tier0: financial }, maxPollRecords: 4 }],
    [{ retry: { tier0: financial }, maxPollIntervalMs: 9_642_857 }],
  ])('refuses anything less than a listed remedy: %j', (properties) => {
    expect(complaints(properties)).toHaveLength(1);
  });

  it('applies to presets as well', () => {
    expect(complaints({ preset: 'brokers', retry: { mode: 'in-line' } })).toEqual([
      "RETRY_BUDGET bindings.orders.maxPollRecords: at worst one slice takes 7000 ms x 500 records = 3500000 ms, which must be less than 70 % of maxPollIntervalMs (420000 ms): maxPollRecords is 500 (from preset 'brokers'), maxPollIntervalMs is 600000 (from the library's defaults), retry.mode is 'in-line' (from the options). Lower maxPollRecords to 59, or raise maxPollIntervalMs to 5000001, or set retry.mode to 'seek', or retry less often or with shorter waits.",
    ]);
  });

  it('includes the expected time of the handler: expectedProcessingMs', () => {
    expect(complaints({ expectedProcessingMs: '2699ms' })).toEqual([]);
    const [complaint] = complaints({ expectedProcessingMs: '2700ms' });
    expect(complaint).toContain('at worst one slice takes 8400 ms x 50 records = 420000 ms');
  });

  it('lists no remedy that would not help', () => {
    const seek = { maxAttempts: 2, initialBackoffMs: '10m', maxBackoffMs: '10m' };
    const [complaint] = complaints({ retry: { mode: 'seek', tier0: seek } });
    expect(complaint).toBe(
      "RETRY_BUDGET bindings.orders.maxPollRecords: at worst one slice takes 0 ms x 50 records + the longest wait of 600000 ms = 600000 ms, which must be less than 70 % of maxPollIntervalMs (420000 ms): maxPollRecords is 50 (from the library's defaults), maxPollIntervalMs is 600000 (from the library's defaults), retry.mode is 'seek' (from the options). Raise maxPollIntervalMs to 857143, or retry less often or with shorter waits.",
    );
  });
});

describe('PUBLISH_TIMEOUT', () => {
  const quick = { retry: { tier0: { maxAttempts: 1 } } };

  it('refuses a write timeout that is longer than the poll interval', () => {
    expect(complaints({ ...quick, maxPollIntervalMs: '30s' })).toEqual([
      "PUBLISH_TIMEOUT bindings.orders.dlt.publishTimeoutMs: must be less than maxPollIntervalMs, or a topic that cannot be written to would be taken for a handler that hangs: dlt.publishTimeoutMs is 30000 (from the library's defaults), maxPollIntervalMs is 30000 (from the options). Lower the first or raise the second.",
    ]);
  });

  it('allows a shorter write timeout', () => {
    const dlt = { publishTimeoutMs: '5s' };
    expect(complaints({ ...quick, maxPollIntervalMs: '30001ms' })).toEqual([]);
    expect(complaints({ ...quick, dlt, maxPollIntervalMs: '30s' })).toEqual([]);
  });
});

describe('BREAKER_WINDOW', () => {
  it('refuses a minimum that is larger than the window', () => {
    expect(complaints({ circuitBreaker: { slidingWindowSize: 5 } })).toEqual([
      "BREAKER_WINDOW bindings.orders.circuitBreaker.minimumNumberOfCalls: is more than the window holds, so that the circuit could never open: circuitBreaker.minimumNumberOfCalls is 10 (from the library's defaults), circuitBreaker.slidingWindowSize is 5 (from the options). Lower the first or raise the second.",
    ]);
    expect(complaints({ circuitBreaker: { slidingWindowSize: 10 } })).toEqual([]);
  });
});

describe('BREAKER_PAUSE', () => {
  const unwired = { lifecycleManager: false };

  it('refuses a breaker that should pause the binding without a lifecycle manager', () => {
    expect(complaints({ circuitBreaker: { enabled: true } }, {}, unwired)).toEqual([
      'BREAKER_PAUSE bindings.orders.circuitBreaker.automaticPauseOnOpen: needs a LifecycleManager to pause the binding with, and there is none. Provide one, or set automaticPauseOnOpen to false.',
    ]);
  });

  it('accepts a breaker that is disabled, does not pause, or has a lifecycle manager', () => {
    const failFast = { enabled: true, automaticPauseOnOpen: false };
    expect(complaints({}, {}, unwired)).toEqual([]);
    expect(complaints({ circuitBreaker: failFast }, {}, unwired)).toEqual([]);
    expect(complaints({ circuitBreaker: { enabled: true } })).toEqual([]);
  });
});
