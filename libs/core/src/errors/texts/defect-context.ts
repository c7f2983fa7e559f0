import { errorFramesOf, errorReasonOf, hasOwnMessage } from '@nest-event-bus/broker';

/** Number of frames in a log line. */
const MAX_FRAMES = 5;

export type DefectContext = Readonly<{
  reason: string;
  /** Where the error was thrown; only for errors whose message is left out. */
  at?: readonly string[];
}>;

/** Returns the context of a log line about an error that nobody expects, such as that of a listener. */
export function defectContext(thrown: unknown): DefectContext {
  const reason = errorReasonOf(thrown);
  if (hasOwnMessage(thrown)) return { reason };
  return { reason, at: errorFramesOf(thrown).slice(0, MAX_FRAMES) };
}
