import { containersOf, type ContainerRegistration } from '../container-registration.js';

export interface Liveness {
  readonly status: 'UP' | 'DOWN';
  readonly reasons: readonly string[];
}

/**
 * Says whether only a restart of the process helps: a handler goes on for as long again, after
 * maxPollIntervalMs has ended its membership and aborted its signal. Nothing in this process can
 * end that handler. A broker that does not answer, or a topic that is missing, is no reason.
 */
export function livenessOf(registrations: readonly ContainerRegistration[], now: number): Liveness {
  const reasons = registrations.flatMap((registration) => {
    const limitMs = 2 * registration.config.maxPollIntervalMs;
    return containersOf(registration).flatMap(({ id, status: { oldestHandlerSince: since } }) =>
      since !== undefined && now - since > limitMs
        ? [`${id}: a handler runs for longer than twice maxPollIntervalMs, and ignores its signal`]
        : [],
    );
  });
  return { status: reasons.length > 0 ? 'DOWN' : 'UP', reasons };
}
