export { FakeOutbox, type PlayedEvent } from './fake-outbox.js';
