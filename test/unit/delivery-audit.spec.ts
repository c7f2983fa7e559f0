import { realRuntime } from '@nest-event-bus/broker/runtime';
import { DeliveryAudit } from '../integration/core/support/delivery-audit.js';

/** Writes three records of one key to one partition, and assigns the partition. */
function assigned() {
  const audit = new DeliveryAudit(1);
  for (let count = 0; count < 3; count++) audit.write(0, 'key');
  return { audit, assignment: audit.assign(0) };
}

describe('A delivery audit', () => {
  it('reports a record that is started after its partition was revoked', async () => {
    const { audit, assignment } = assigned();
    assignment.revoke();
    // The record had been delivered before the revocation.
    audit.begin(assignment, 0, 0);
    audit.finish(assignment, 0);
    await new Promise<void>((resolve) => realRuntime.defer(resolve));
    expect(audit.violations).toEqual([]);
    audit.begin(assignment, 0, 1);
    expect(audit.violations).toEqual(['0/1 was started after its partition was revoked']);
  });

  it('reports a record that overtakes another one of its key, unless both are in one slice', () => {
    const { audit, assignment } = assigned();
    audit.begin(assignment, 0, 0);
    audit.begin(assignment, 0, 1, [0]);
    expect(audit.violations).toEqual([]);
    audit.begin(assignment, 0, 2);
    expect(audit.violations).toEqual(['0/2 was started before 1 of its key was done']);
  });

  it('reports a done record that is delivered again, unless its slice was running', () => {
    const { audit } = assigned();
    const [one, slices, other] = [audit.assign(0), audit.assign(0, true), audit.assign(0)];
    const done = (assignment: typeof one, offset: number): void => {
      audit.begin(assignment, 0, offset);
      audit.finish(assignment, offset);
    };
    done(slices, 0);
    audit.commit({ topic: 't', partition: 0, offset: 1 });
    done(slices, 1);
    done(one, 2);
    for (const assignment of [one, slices]) assignment.end();
    for (const offset of [0, 1, 2]) audit.begin(other, 0, offset);
    expect(audit.violations).toEqual(
      ['0/0', '0/2'].map(
        (name) => `${name} was delivered again without having been in flight at the revocation`,
      ),
    );
  });

  it('reports a record that is delivered twice, unless it failed or was returned', () => {
    const { audit, assignment } = assigned();
    audit.begin(assignment, 0, 0);
    audit.begin(assignment, 0, 1, [0]);
    audit.fail(assignment, 0);
    audit.returnToPartition(assignment, 1);
    for (const offset of [0, 1]) {
      audit.begin(assignment, 0, offset);
      audit.finish(assignment, offset);
    }
    expect(audit.violations).toEqual([]);
    audit.begin(assignment, 0, 1);
    expect(audit.violations).toEqual(['0/1 was delivered twice in one assignment']);
  });
});
