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
import { statusContract } from './cases/sessions/status.contract.js';
import { takeoverContract } from './cases/groups/takeover.contract.js';
import { transactionsContract } from './cases/producing/transactions.contract.js';
import { validationContract } from './cases/sessions/validation.contract.js';
import type { ContractFixture } from './fixture.js';
import type { TestFramework } from './test-framework.js';
import { ContractSuite } from './contract-suite.js';

const sections: Readonly<Record<string, (suite: ContractSuite) => void>> = {
  polling: pollingContract,
  'a record on its way': recordBytesContract,
  'where reading starts': startPolicyContract,
  pausing: pausingContract,
  seeking: seekingContract,
  committing: committingContract,
  'sharing in a group': sharingContract,
  'handing over in a group': handoverContract,
  'a cooperative group': cooperativeContract,
  'a group whose broker decides': consumerProtocolContract,
  'partitions that are added': growthContract,
  'static members': staticMembersContract,
  'taking over from the dead': takeoverContract,
  'the status of a session': statusContract,
  sending: sendingContract,
  'choosing a partition': partitioningContract,
  'sending that fails': sendFailuresContract,
  'reading what is committed': isolationContract,
  'writing in transactions': transactionsContract,
  'administering topics': adminTopicsContract,
  'administering groups': adminGroupsContract,
  'reading a range without a group': readRangeContract,
  'options that make no sense': validationContract,
  'beginning and ending': lifetimeContract,
};

/**
 * What every driver of the port promises, as tests of the framework given. A driver that passes
 * can stand in for any other; where the port's text and this suite differ, one of them is wrong.
 */
export function brokerContract(framework: TestFramework, fixture: ContractFixture): void {
  framework.describe(`broker contract: ${fixture.name}`, () => {
    const suite = new ContractSuite(framework, fixture);
    framework.afterAll(() => suite.settle());
    for (const [name, chapter] of Object.entries(sections))
      suite.section(name, () => chapter(suite));
  });
}
