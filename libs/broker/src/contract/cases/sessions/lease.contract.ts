import assert from 'node:assert/strict';
import type { GroupProtocol } from '../../../port/consumer.js';
import type { ContractSuite } from '../../contract-suite.js';

export function leaseContract(suite: ContractSuite): void {
  for (const groupProtocol of ['classic', 'consumer'] as const)
    suite.section(`groupProtocol ${groupProtocol}`, () => leaseOf(suite, groupProtocol));
}

function leaseOf({ testCase, requiring }: ContractSuite, groupProtocol: GroupProtocol): void {
  testCase('each answered heartbeat extends the lease', async (context) => {
    const member = context.member({ topics: [await context.topic()], groupProtocol });
    const { session } = member;
    assert.equal(session.leaseUntil, -Infinity);
    await member.start();
    const first = session.leaseUntil;
    assert.ok(first > context.runtime.monotonic(), 'The lease has begun with the join.');
    await context.eventually('a heartbeat is answered', () => session.leaseUntil > first);
    assert.ok(session.leaseUntil > context.runtime.monotonic());
  });

  testCase('the lease ends with the session', async (context) => {
    const member = await context.join({ topics: [await context.topic()], groupProtocol });
    await member.close();
    assert.equal(member.session.leaseUntil, -Infinity);
  });

  requiring('unplug')('no lease outlasts the loss of the partitions', async (context) => {
    const driver = await context.newProcess();
    let leaseAtLoss: number | undefined;
    const member = context.member({
      topics: [await context.topic()],
      groupProtocol,
      driver,
      on: { onLost: () => void (leaseAtLoss ??= member.session.leaseUntil) },
    });
    await member.start();
    const plugIn = await context.ability('unplug')(driver);
    await context.eventually('the partition is lost', () => leaseAtLoss !== undefined);
    assert.ok((leaseAtLoss ?? Infinity) <= context.runtime.monotonic());
    await plugIn();
    await context.eventually(
      'the group has answered again',
      () => member.session.leaseUntil > context.runtime.monotonic(),
    );
  });
}
