export {
  describeWithCluster,
  describeWithJava,
  describeWithKafka,
  type SharedKafka,
} from './describe-with-kafka.js';
export { describeWithRabbit } from './describe-with-rabbit.js';
export { describeWithRegistry } from './describe-with-registry.js';
export { describeWithService, isThere } from './describe-with-service.js';
