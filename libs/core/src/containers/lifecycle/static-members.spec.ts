import { binding, busWith, tier } from '../bus-test-bed.spec-support.js';
import { staticMemberId, staticMemberWarning } from './static-members.js';

const member = (change: object = {}) =>
  binding('orders', {
    staticMembership: true,
    groupInstanceId: '{binding}-{hostname}-{index}',
    ...change,
  });

describe('the id of a static member', () => {
  it('consists of binding, host and index', () => {
    expect(staticMemberId(member(), 'shop-0', 2)).toBe('orders-shop-0-2');
  });

  it('follows groupInstanceId', () => {
    const named = member({ groupInstanceId: 'eu.{index}.{binding}' });
    expect(staticMemberId(named, 'shop-0', 1)).toBe('eu.1.orders');
  });

  it('is undefined without staticMembership', () => {
    expect(staticMemberId(member({ staticMembership: false }), 'shop-0', 0)).toBeUndefined();
  });

  it('is legal for every host name, and keeps its index', () => {
    expect(staticMemberId(member(), 'my host/ä', 3)).toBe('orders-my-host---3');
    const id = staticMemberId(member(), 'h'.repeat(400), 12)!;
    expect(id).toHaveLength(249);
    expect(id.endsWith('-12')).toBe(true);
  });

  it('keeps its index at any place, and shortens the host name', () => {
    const named = member({ groupInstanceId: '{index}-{hostname}-{hostname}.{binding}' });
    const id = staticMemberId(named, `${'h'.repeat(300)}-pod-7`, 12)!;
    expect(id).toMatch(/^12-h+-pod-7-h+-pod-7\.orders$/);
    expect(id.length).toBeLessThanOrEqual(249);
  });

  it('reaches each session of the main topic and of the tiers', async () => {
    const { add, lifecycle, sessions, runtime } = busWith();
    add(member({ concurrency: 2, tiers: [tier(1)] }));
    await lifecycle.start('orders');
    const host = runtime.hostname();
    const ids = sessions.all.map(({ options }) => options.consumer.groupInstanceId);
    expect(ids).toEqual([`orders-${host}-0`, `orders-${host}-1`, `orders-${host}-0`]);
  });

  it('is left out for ordinary members', async () => {
    const { add, lifecycle, sessions } = busWith();
    add(binding());
    await lifecycle.start('orders');
    expect(sessions.all[0]!.options.consumer).not.toHaveProperty('groupInstanceId');
  });
});

describe('a host whose name changes with every rollout', () => {
  it.each([
    'shop-7c9d8b6f5d-x2k4j',
    '3f2a9c1b7d6e',
    // Names of pods of a DaemonSet or a Job.
    'shop-x2k4j',
    'eu-west-shop-9tzqm',
  ])('gets a warning: %s', (hostname) => {
    expect(staticMemberWarning(member(), hostname)).toContain(`the host '${hostname}'`);
  });

  it.each([
    'shop-0',
    'worker-eu-west',
    'ip-10-0-0-7',
    'shop-srv24',
    'shop-vm245',
    'shop-24579',
    'shop-3rdfl',
    'shop-north',
    'shop-mngmt',
    'x2k4j',
    'shopx2k4j',
  ])('gets no warning: %s', (hostname) => {
    expect(staticMemberWarning(member(), hostname)).toBeUndefined();
  });

  it('gets no warning if the id does not contain the host, or the members are ordinary', () => {
    const host = 'shop-7c9d8b6f5d-x2k4j';
    expect(staticMemberWarning(member({ groupInstanceId: 'a-{index}' }), host)).toBeUndefined();
    expect(staticMemberWarning(member({ staticMembership: false }), host)).toBeUndefined();
  });

  it('gets its warning when the binding is built', () => {
    const { add, runtime, logger } = busWith();
    Object.assign(runtime, { hostname: () => 'shop-7c9d8b6f5d-x2k4j' });
    add(member());
    expect(logger.lines.some(({ message }) => message.includes('another name'))).toBe(true);
  });
});
