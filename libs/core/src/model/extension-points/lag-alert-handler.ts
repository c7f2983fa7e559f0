import type { LagAlertRaised } from '../events/event-bus-events.js';

/**
 * Gets every change of an alert level, for example to send a message to the people on call. An
 * error or a hanging promise changes nothing for records and other listeners.
 */
export interface LagAlertHandler {
  onLagAlert(alert: LagAlertRaised): unknown;
}
