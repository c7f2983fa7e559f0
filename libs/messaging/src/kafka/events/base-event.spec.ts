import { IllegalArgumentError } from '@nest-event-bus/core';
import { BaseEvent, EventMetadata } from './base-event.js';
import { EventTypes } from './event-types.js';

class UserService {}

describe('BaseEvent', () => {
  it('consists of metadata and a payload, and is frozen', () => {
    const metadata = EventMetadata.of({ eventType: 'UserDeleted', eventSource: UserService });
    const event = BaseEvent.of(metadata, { userId: '7' });
    expect(event).toEqual({ metadata, payload: { userId: '7' } });
    expect(event.metadata).toBe(metadata);
    expect(Object.isFrozen(event)).toBe(true);
  });

  it('creates its metadata from their fields', () => {
    const { metadata } = BaseEvent.of({ eventType: 'UserDeleted', eventSource: 'cron' }, null);
    expect(metadata).toBeInstanceOf(EventMetadata);
    expect(metadata).toMatchObject({ eventType: 'UserDeleted', eventSource: 'cron' });
  });
});

describe('EventMetadata', () => {
  it('has a new correlation id and the current time by default', () => {
    const before = Date.now();
    const metadata = EventMetadata.of({ eventType: 'UserDeleted', eventSource: 'cron' });
    expect(metadata.correlationId).toMatch(/^[\da-f]{8}-[\da-f]{4}-/);
    expect(metadata.eventTimestamp).toBeGreaterThanOrEqual(before);
    expect(metadata.eventTimestamp).toBeLessThanOrEqual(Date.now());
    expect(Object.isFrozen(metadata)).toBe(true);
  });

  it.each([
    ['a class', UserService],
    ['an instance', new UserService()],
    ['a name', 'UserService'],
  ])('names the class that publishes, given %s', (_what, eventSource) => {
    const metadata = EventMetadata.of({ eventType: 'UserDeleted', eventSource });
    expect(metadata.eventSource).toBe('UserService');
  });

  it('is written to headers and read from them', () => {
    const metadata = EventMetadata.of({
      eventType: 'UserDeleted',
      eventSource: UserService,
      eventTimestamp: 1_700_000_000_000,
      correlationId: 'c',
    });
    expect(metadata.toHeaders()).toEqual({
      'event-type': 'UserDeleted',
      'event-source': 'UserService',
      'event-timestamp': '1700000000000',
      'correlation-id': 'c',
    });
    expect(EventMetadata.fromHeaders(metadata.toHeaders())).toEqual(metadata);
    expect(EventMetadata.fromHeaders({})).toBeUndefined();
  });

  it('refuses an event without a type', () => {
    const make = (): unknown => EventMetadata.of({ eventType: '', eventSource: 'cron' });
    expect(make).toThrow(IllegalArgumentError);
  });
});

describe('EventTypes', () => {
  it('has the names of user events', () => {
    expect(EventTypes).toMatchObject({
      USER_REGISTERED: 'UserRegistered',
      USER_DELETION_SCHEDULED: 'UserDeletionScheduled',
      USER_DELETED: 'UserDeleted',
      PASSWORD_CHANGED: 'PasswordChanged',
      PASSWORD_RESET_REQUESTED: 'PasswordResetRequested',
      PASSWORD_RESET_SUCCESSFUL: 'PasswordResetSuccessful',
      WELCOME_EVENT: 'WelcomeEvent',
      ADMIN_CREATED: 'AdminCreated',
    });
  });

  it('has the names of OCR and index events', () => {
    expect(EventTypes).toMatchObject({
      OCR_REQUESTED: 'OcrRequested',
      ES_DOCUMENT_INDEX: 'EsDocumentIndex',
      ES_USER_INDEX: 'EsUserIndex',
      ES_PAYMENT_INDEX: 'EsPaymentIndex',
      ES_SUBSCRIPTION_INDEX: 'EsSubscriptionIndex',
    });
  });

  it('has the names of team events', () => {
    expect(EventTypes).toMatchObject({
      TEAM_TRIAL_EXPIRING: 'TeamTrialExpiring',
      TEAM_SUBSCRIPTION_CHARGED: 'TeamSubscriptionCharged',
      TEAM_SUBSCRIPTION_FAILED: 'TeamSubscriptionFailed',
      TEAM_CREATED: 'TeamCreated',
    });
  });
});
