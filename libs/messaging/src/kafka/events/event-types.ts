/** The types of the events, as their headers name them. */
export const EventTypes = Object.freeze({
  USER_REGISTERED: 'UserRegistered',
  USER_DELETION_SCHEDULED: 'UserDeletionScheduled',
  USER_DELETED: 'UserDeleted',
  PASSWORD_CHANGED: 'PasswordChanged',
  PASSWORD_RESET_REQUESTED: 'PasswordResetRequested',
  PASSWORD_RESET_SUCCESSFUL: 'PasswordResetSuccessful',
  WELCOME_EVENT: 'WelcomeEvent',
  ADMIN_CREATED: 'AdminCreated',
  OCR_REQUESTED: 'OcrRequested',
  ES_DOCUMENT_INDEX: 'EsDocumentIndex',
  ES_USER_INDEX: 'EsUserIndex',
  ES_PAYMENT_INDEX: 'EsPaymentIndex',
  ES_SUBSCRIPTION_INDEX: 'EsSubscriptionIndex',
  TEAM_TRIAL_EXPIRING: 'TeamTrialExpiring',
  TEAM_SUBSCRIPTION_CHARGED: 'TeamSubscriptionCharged',
  TEAM_SUBSCRIPTION_FAILED: 'TeamSubscriptionFailed',
  TEAM_CREATED: 'TeamCreated',
} as const);

export type EventTypeName = (typeof EventTypes)[keyof typeof EventTypes];
