/** What the rest of the driver knows of the network. Nothing outside this folder imports kafkajs. */
export * from './admin-requests.js';
export { type ApiRequest, kafkajsRequest, ownRequest } from './api-request.js';
export type { BearerToken } from './oauth-bearer.js';
export {
  brokerCodes,
  describeCode,
  errorOfCode,
  reactionTo,
  type BrokerCode,
  type Place,
  type Reaction,
} from './broker-codes.js';
export { byTopic } from './by-topic.js';
export { ClusterFeatures } from './cluster-features.js';
export { Cluster, CONTROL_LANE, type ClusterOptions, type Target } from './cluster.js';
export * from './consumer-describe-request.js';
export * from './consumer-heartbeat-request.js';
export * from './fetch-request.js';
export * from './group-admin-requests.js';
export * from './group-requests.js';
export * from './join-request.js';
export { Metadata } from './metadata.js';
export { metadataRequest, type PartitionMetadata, type TopicMetadata } from './metadata-request.js';
export { requireKafkajsVersion } from './kafkajs-version.js';
export * from './offset-requests.js';
export * from './produce-request.js';
export * from './producer-id-request.js';
export { transactionFlowOf, type TransactionFlow } from './transaction-flow.js';
export * from './transaction-requests.js';
