import { errorOfCode, findCoordinatorRequest, type ApiRequest } from '../../wire/index.js';
import { againAfter, type AdminCall, type Again } from './admin-call.js';

/** Asks the group's coordinator, looking for it each time: it may have moved since. */
export function askCoordinator<Answer, Result>(
  call: AdminCall,
  groupId: string,
  request: ApiRequest<Answer>,
  judge: (answer: Answer) => Promise<Result | Again> | Result | Again,
): Promise<Result> {
  return call.repeat<Result>(async () => {
    const found = await call.request('any', findCoordinatorRequest(groupId));
    if (found.errorCode !== 0)
      return againAfter(
        found.errorCode,
        errorOfCode(found.errorCode, `Finding the coordinator of group "${groupId}"`),
      );
    const { nodeId } = found.coordinator;
    call.cluster.metadata.learnAddress(nodeId, found.coordinator);
    return judge(await call.request(nodeId, request));
  });
}
