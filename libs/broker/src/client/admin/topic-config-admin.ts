import { alterTopicConfigRequest, describeTopicConfigRequest } from '../../wire/index.js';
import { retryOrThrow } from './admin-call.js';
import type { AdminCalls } from './admin-calls.js';
import { topicError } from './topic-error.js';

type Config = Readonly<Record<string, string | null>>;

const NO_ANSWER = { code: -1, message: null };

export class TopicConfigAdmin {
  constructor(private readonly calls: AdminCalls) {}

  describe(topic: string): Promise<Config> {
    const doing = `Reading the configuration of topic "${topic}"`;
    return this.calls.run(doing, (call) =>
      call.repeat(async () => {
        const [answer] = await call.request('any', describeTopicConfigRequest(topic));
        if (answer?.code === 0) return Object.fromEntries(answer.entries);
        const { code, message } = answer ?? NO_ANSWER;
        return retryOrThrow(code, topicError({ name: topic, code, message }, doing));
      }),
    );
  }

  alter(topic: string, changes: Config): Promise<void> {
    const doing = `Changing the configuration of topic "${topic}"`;
    return this.calls.run(doing, (call) =>
      call.repeat(async () => {
        const [answer] = await call.request('controller', alterTopicConfigRequest(topic, changes));
        const { code, message } = answer ?? NO_ANSWER;
        if (code === 0) return;
        return retryOrThrow(code, topicError({ name: topic, code, message }, doing));
      }),
    );
  }
}
