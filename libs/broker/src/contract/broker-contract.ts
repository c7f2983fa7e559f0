import { adminGroupsContract } from './cases/admin/admin-groups.contract.js';
import { adminTopicsContract } from './cases/admin/admin-topics.contract.js';
import { committingContract } from './cases/consuming/committing.contract.js';
import { consumerProtocolContract } from './cases/groups/consumer-protocol.contract.js';
import { cooperativeContract } from './cases/groups/cooperative.contract.js';
import { growthContract } from './cases/groups/growth.contract.js';
import { handoverContract } from './cases/groups/handover.contract.js';
import { isolationContract } from './cases/consuming/isolation.contract.js';
import { lifetimeContract } from './cases/sessions/closing.contract.js';
import { partitioningContract } from './cases/producing/partitioning.contract.js';
import { pausingContract } from './cases/consuming/pausing.contract.js';
import { pollingContract } from './cases/consuming/polling.contract.js';
import { readRangeContract } from './cases/admin/read-range.contract.js';
import { recordBytesContract } from './cases/producing/record-bytes.contract.js';
import { seekingContract } from './cases/consuming/seeking.contract.js';
import { sendFailuresContract } from './cases/producing/send-failures.contract.js';
import { sendingContract } from './cases/producing/sending.contract.js';
import { sharingContract } from './cases/groups/sharing.contract.js';
import { startPolicyContract } from './cases/consuming/start-policy.contract.js';
import { staticMembersContract } from './cases/groups/static-members.contract.js';
import { leaseContract } from './cases/sessions/lease.contract.js';
import { statusContract } from './cases/sessions/status.contract.js';
import { takeoverContract } from './cases/groups/takeover.contract.js';
import { transactionsContract } from './cases/producing/transactions.contract.js';
import { validationContract } from './cases/sessions/validation.contract.js';
import type { ContractFixture } from './fixture.js';
import type { TestFramework } from './test-framework.js';
import { ContractSuite } from './contract-suite.js';

const sections: Readonly<Record<string, (suite: ContractSuite) => void>> = {
  polling: pollingContract,
  'record content': recordBytesContract,
  'start position': startPolicyContract,
  pausing: pausingContract,
  seeking: seekingContract,
  committing: committingContract,
  'partition assignment': sharingContract,
  'partition handover': handoverContract,
  'cooperative rebalancing': cooperativeContract,
  'the consumer protocol (KIP-848)': consumerProtocolContract,
  'added partitions': growthContract,
  'static members': staticMembersContract,
  'session expiry': takeoverContract,
  'session status': statusContract,
  'session lease': leaseContract,
  sending: sendingContract,
  'choice of the partition': partitioningContract,
  'failed sends': sendFailuresContract,
  isolation: isolationContract,
  transactions: transactionsContract,
  'topic administration': adminTopicsContract,
  'group administration': adminGroupsContract,
  readRange: readRangeContract,
  'invalid options': validationContract,
  closing: lifetimeContract,
};

/**
 * Registers the tests of every promise of the driver port. A driver that passes can replace any
 * other driver. If the documentation of the port and this suite differ, one of them is wrong.
 */
export function brokerContract(framework: TestFramework, fixture: ContractFixture): void {
  framework.describe(`broker contract: ${fixture.name}`, () => {
    const suite = new ContractSuite(framework, fixture);
    framework.afterAll(() => suite.settle());
    for (const [name, register] of Object.entries(sections))
      suite.section(name, () => register(suite));
  });
}
