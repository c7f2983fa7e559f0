import { choice, named } from '../schema.js';

export const bindingState = named(
  'BindingState',
  choice('CREATED', 'RUNNING', 'PAUSED', 'STOPPED', 'DESTROYED'),
);
