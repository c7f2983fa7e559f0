import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPublicApi } from '../../tools/public-api.mjs';

const root = join(__dirname, '../..');
const sources = join(root, 'libs/core/src');
const page = readFileSync(join(root, 'docs/reference/specification-names.md'), 'utf8');

const rows = [...page.matchAll(/^\| ([A-Za-z_]+) \| `([^`]+)`(?:, as (\w+))? \|$/gm)];

const exported = [...readPublicApi(root)]
  .filter(([entryPoint]) => entryPoint.startsWith('@nest-event-bus/core'))
  .flatMap(([, names]) => names.map((line) => line.split(' ').at(-1)));

/** The names of the specification, in its order. */
const NAMES = `
  EventBusException InvalidContainerStateException BindingAlreadyExistsException
  BindingNotFoundException ConfigurationValidationException BatchProcessingException
  DltPublishException
  ListenerType ContainerState DltStrategy BatchFailureStrategy OrderingMode ExceptionRouting
  ExceptionRoutingDecision
  EventBusProperties TopicBindingProperties RetryProperties RetryTierProperties
  CircuitBreakerProperties DltProperties ConfigurationValidator
  SingleRecordListenerAdapter BatchRecordListenerAdapter RetryTierListenerAdapter
  DeserializationFailureHandler PollIntervalSafetyValve
  ResilienceDecorator RetryConfigFactory CircuitBreakerConfigFactory CircuitBreakerLifecycleBridge
  RetryBudgetCalculator
  PartitionOffsetManager EventBusRebalanceListener BatchOffsetCommitStrategy
  DltPublisher DltRecord TierFailureRecord DltHeaderEnricher RetryHeaderEnricher DltReplayService
  DltStatsService
  RecordHandler BatchRecordHandler DltAlertHandler DltRecordHandler ExceptionClassifier
  ContainerFactory ContainerRegistry ContainerRegistration LifecycleManager
  EventBusMetrics EventBusHealthIndicator MdcContextPropagator
  EventBusAdmin EventBusAdminController
  EventBusModule EVENTBUS_DEFAULTS
`;

/** The page says where each specified name is. */
describe('The map of specified names', () => {
  it.each(NAMES.trim().split(/\s+/))('contains the name %s exactly once', (name) => {
    expect(rows.filter(([, found]) => found === name)).toHaveLength(1);
  });

  it.each(rows.map(([, name, file, alias]) => [name, file, alias]))(
    'locates %s in %s',
    (name, file, alias) => {
      const path = join(sources, file ?? '');
      expect(existsSync(path)).toBe(true);
      const declaration = new RegExp(`(class|interface|type|const|function) ${alias ?? name}\\b`);
      expect(readFileSync(path, 'utf8')).toMatch(declaration);
    },
  );

  it.each(rows.map(([, name, , alias]) => alias ?? name))(
    'names %s, which an entry point exports',
    (name) => {
      expect(exported).toContain(name);
    },
  );
});
