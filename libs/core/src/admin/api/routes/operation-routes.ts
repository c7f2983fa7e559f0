import { defineRoutes, type AdminRoute } from '../admin-route.js';
import { object } from '../schema.js';
import { bindingName, clusterQuery, noteBody } from '../schemas/common-schemas.js';
import {
  newOperation,
  operation,
  operationId,
  operations,
  runBody,
} from '../schemas/operation-schemas.js';

const query = object({}, clusterQuery);

const ofOperation = {
  params: { name: bindingName, id: operationId },
  query,
  errors: [404, 409, 503],
} as const satisfies Partial<AdminRoute>;

export const operationRoutes = defineRoutes({
  createOperation: {
    method: 'POST',
    path: 'bindings/{name}/dlt/operations',
    right: 'redrive',
    summary: 'Plans a redrive and starts it. With `dryRun`, only plans it.',
    changes: true,
    params: { name: bindingName },
    query,
    body: newOperation,
    answers: { 202: { description: 'Accepted.', body: operation, hasLocation: true } },
    errors: [404, 409, 503],
  },
  listOperations: {
    method: 'GET',
    path: 'bindings/{name}/dlt/operations',
    right: 'read',
    summary: 'Lists all redrives that the ledger knows.',
    changes: false,
    params: { name: bindingName },
    query,
    answers: { 200: { description: 'The latest first.', body: operations } },
    errors: [404, 409, 503],
  },
  getOperation: {
    ...ofOperation,
    method: 'GET',
    path: 'bindings/{name}/dlt/operations/{id}',
    right: 'read',
    summary: 'Shows how far a redrive is, on whatever node it runs.',
    changes: false,
    answers: { 200: { description: 'The operation.', body: operation } },
  },
  followOperation: {
    ...ofOperation,
    method: 'GET',
    path: 'bindings/{name}/dlt/operations/{id}/events',
    right: 'read',
    summary: 'Sends the operation as server-sent events, until it ends.',
    changes: false,
    answers: {
      200: { description: 'An event for each change.', body: operation, isStream: true },
    },
  },
  runOperation: {
    ...ofOperation,
    method: 'POST',
    path: 'bindings/{name}/dlt/operations/{id}/run',
    right: 'redrive',
    summary: 'Runs a plan, or resumes it after a crash.',
    changes: true,
    body: runBody,
    isBodyOptional: true,
    answers: { 202: { description: 'Accepted.', body: operation, hasLocation: true } },
  },
  approveOperation: {
    ...ofOperation,
    method: 'POST',
    path: 'bindings/{name}/dlt/operations/{id}/approve',
    right: 'redrive',
    summary: 'Lets the rest of an operation follow its canary.',
    changes: true,
    body: noteBody,
    isBodyOptional: true,
    answers: { 200: { description: 'The operation.', body: operation } },
  },
  cancelOperation: {
    ...ofOperation,
    method: 'DELETE',
    path: 'bindings/{name}/dlt/operations/{id}',
    right: 'redrive',
    summary: 'Cancels a redrive on all nodes. What was replayed stays replayed.',
    changes: true,
    answers: { 200: { description: 'The operation.', body: operation } },
  },
});
