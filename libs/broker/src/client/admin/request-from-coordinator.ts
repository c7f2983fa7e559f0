import { errorOfCode, findCoordinatorRequest, type ApiRequest } from '../../wire/index.js';
import { retryOrThrow, type AdminCall, type Retry } from './admin-call.js';

/**
 * Sends a request to the coordinator of the group. The coordinator is looked up for each attempt,
 * because it may have moved.
 */
export function requestFromCoordinator<Answer, Result>(
  call: AdminCall,
  groupId: string,
  request: ApiRequest<Answer>,
  judge: (answer: Answer) => Promise<Result | Retry> | Result | Retry,
): Promise<Result> {
  return call.repeat<Result>(async () => {
    const found = await call.request('any', findCoordinatorRequest(groupId));
    if (found.errorCode !== 0)
      return retryOrThrow(
        found.errorCode,
        errorOfCode(found.errorCode, `Finding the coordinator of group "${groupId}"`),
      );
    const { nodeId } = found.coordinator;
    call.cluster.metadata.updateAddress(nodeId, found.coordinator);
    return judge(await call.request(nodeId, request));
  });
}
