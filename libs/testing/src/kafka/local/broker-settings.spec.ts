import { kafkaRecipe } from '../kafka-server-options.js';
import { brokerSettings, testSettings, toProperties } from './broker-settings.js';

describe('brokerSettings', () => {
  it('configures one broker', () => {
    expect(testSettings(kafkaRecipe({}))).toEqual({
      'auto.create.topics.enable': 'false',
      'offsets.topic.replication.factor': '1',
      'transaction.state.log.replication.factor': '1',
      'transaction.state.log.min.isr': '1',
      'share.coordinator.state.topic.replication.factor': '1',
      'share.coordinator.state.topic.min.isr': '1',
      'default.replication.factor': '1',
      'min.insync.replicas': '1',
      'broker.session.timeout.ms': '2000',
      'broker.heartbeat.interval.ms': '500',
      'replica.lag.time.max.ms': '3000',
      'group.initial.rebalance.delay.ms': '0',
      'group.min.session.timeout.ms': '500',
      'group.consumer.min.session.timeout.ms': '1000',
      'group.consumer.session.timeout.ms': '1000',
      'group.consumer.min.heartbeat.interval.ms': '300',
      'group.consumer.heartbeat.interval.ms': '300',
    });
  });

  it('requires two in-sync replicas on three brokers', () => {
    expect(testSettings(kafkaRecipe({ brokers: 3 }))).toMatchObject({
      'offsets.topic.replication.factor': '3',
      'transaction.state.log.replication.factor': '3',
      'transaction.state.log.min.isr': '2',
      'share.coordinator.state.topic.replication.factor': '3',
      'share.coordinator.state.topic.min.isr': '2',
      'default.replication.factor': '3',
      'min.insync.replicas': '2',
    });
  });

  it('keeps the stock group settings on request', () => {
    const names = Object.keys(testSettings(kafkaRecipe({ stockGroupSettings: true })));
    expect(names.filter((name) => name.startsWith('group.'))).toEqual([]);
    expect(names).toContain('broker.session.timeout.ms');
  });

  it('lets settings of the recipe take precedence', () => {
    const settings = { 'min.insync.replicas': '3', 'message.max.bytes': '1000' };
    expect(testSettings(kafkaRecipe({ brokers: 3, settings }))).toMatchObject(settings);
  });

  it('advertises the proxy instead of the port behind it', () => {
    const ports = { plain: 1, controller: 2, proxied: { broker: 3, proxy: 4 } };
    const layout = {
      id: 0,
      ports,
      controllers: [2, 5, 8],
      dataFolder: '/data',
      certificateFolder: '/',
    };
    expect(brokerSettings(layout, kafkaRecipe({ brokers: 3, proxied: true }))).toMatchObject({
      'node.id': '0',
      'controller.quorum.voters': '0@127.0.0.1:2,1@127.0.0.1:5,2@127.0.0.1:8',
      listeners: 'PLAINTEXT://127.0.0.1:1,PROXIED://127.0.0.1:3,CONTROLLER://127.0.0.1:2',
      'advertised.listeners': 'PLAINTEXT://127.0.0.1:1,PROXIED://127.0.0.1:4',
    });
  });

  it('escapes backslashes for Java', () => {
    expect(toProperties({ a: 'b', regex: '\\d' })).toBe('a=b\nregex=\\\\d\n');
  });
});
