import { defineRoutes, type AdminRoute } from '../admin-route.js';
import { object } from '../schema.js';
import {
  binding,
  bindingDetails,
  bindings,
  commandResult,
  decision,
  health,
  registration,
  tierNumber,
} from '../schemas/binding-schemas.js';
import { bindingName, clusterQuery, noteBody } from '../schemas/common-schemas.js';
import { configuration, configurationChange } from '../schemas/configuration-schemas.js';
import { reachQuery } from '../schemas/fleet-schemas.js';

const ofBinding = { params: { name: bindingName }, query: object({}, clusterQuery) } as const;

/** What all commands of the lifecycle have in common. */
const command = {
  ...ofBinding,
  query: object({}, { ...clusterQuery, ...reachQuery }),
  method: 'POST',
  right: 'control',
  changes: true,
  body: noteBody,
  isBodyOptional: true,
  answers: {
    200: {
      description: 'Done: the new state in this process, and who has done it.',
      body: commandResult,
    },
    207: { description: 'Not every instance has done it: see reach.', body: commandResult },
  },
  errors: [404, 409, 503],
} as const satisfies Partial<AdminRoute>;

const ofTier = { ...command, params: { name: bindingName, tier: tierNumber } } as const;

export const bindingRoutes = defineRoutes({
  listBindings: {
    method: 'GET',
    path: 'bindings',
    right: 'read',
    summary: 'Lists all bindings with their states.',
    changes: false,
    answers: { 200: { description: 'The bindings of this process.', body: bindings } },
  },
  registerBinding: {
    method: 'POST',
    path: 'bindings',
    right: 'register',
    summary: 'Registers a binding from JSON, and starts it unless autoStartup is false.',
    changes: true,
    query: object({}, clusterQuery),
    body: registration,
    answers: { 201: { description: 'Registered.', body: binding, hasLocation: true } },
    errors: [404, 409, 422],
  },
  getBinding: {
    ...ofBinding,
    method: 'GET',
    path: 'bindings/{name}',
    right: 'read',
    summary: 'Shows one binding: health, counts, lag, circuit and retry tiers.',
    changes: false,
    answers: { 200: { description: 'The binding in this process.', body: bindingDetails } },
    errors: [404, 409],
  },
  unregisterBinding: {
    ...ofBinding,
    method: 'DELETE',
    path: 'bindings/{name}',
    right: 'register',
    summary: 'Stops a binding and removes it.',
    changes: true,
    body: noteBody,
    isBodyOptional: true,
    answers: { 204: { description: 'Removed.' } },
    errors: [404, 409],
  },
  startBinding: {
    ...command,
    path: 'bindings/{name}/start',
    summary: 'Starts reading.',
  },
  stopBinding: {
    ...command,
    path: 'bindings/{name}/stop',
    summary: 'Waits for running handlers, commits and leaves the group.',
  },
  pauseBinding: {
    ...command,
    path: 'bindings/{name}/pause',
    summary: 'Pauses without leaving the group.',
  },
  resumeBinding: {
    ...command,
    path: 'bindings/{name}/resume',
    summary: 'Removes the pauses of an operator and of routing.',
  },
  pauseTier: {
    ...ofTier,
    path: 'bindings/{name}/tiers/{tier}/pause',
    summary: 'Pauses one retry tier.',
  },
  resumeTier: {
    ...ofTier,
    path: 'bindings/{name}/tiers/{tier}/resume',
    summary: 'Removes the pause of one retry tier.',
  },
  decide: {
    ...command,
    path: 'bindings/{name}/decisions',
    summary: 'Decides about the record for which a partition waits.',
    body: decision,
    isBodyOptional: false,
  },
  getConfiguration: {
    ...ofBinding,
    method: 'GET',
    path: 'bindings/{name}/configuration',
    right: 'read',
    summary: 'Shows options of a binding, where they come from, and which can be changed.',
    changes: false,
    answers: { 200: { description: 'The options in this process.', body: configuration } },
    errors: [404, 409],
  },
  changeConfiguration: {
    ...ofBinding,
    method: 'PATCH',
    path: 'bindings/{name}/configuration',
    right: 'control',
    summary: 'Changes options of a binding in this process, until it ends.',
    changes: true,
    body: configurationChange,
    answers: {
      200: {
        description: 'Changed: the binding has drained and joined again.',
        body: configuration,
      },
    },
    errors: [404, 409],
  },
  getHealth: {
    method: 'GET',
    path: 'health',
    right: 'read',
    summary: 'Shows the health of all bindings, with reasons.',
    changes: false,
    answers: { 200: { description: 'The health of this process.', body: health } },
  },
});
